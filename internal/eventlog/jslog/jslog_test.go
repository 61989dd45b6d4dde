package jslog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/eventlog/logtest"
	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/events"
)

func TestMain(m *testing.M) { natstest.Main(m) }

type node interface{ Topology() topology.Topology }

func newLog(t testing.TB, n node, js jetstream.JetStream, change ...func(*jslog.Config)) *jslog.Log {
	t.Helper()
	cfg := jslog.Config{Slots: n.Topology().Slots, Streams: n.Topology().Streams}
	for _, c := range change {
		c(&cfg)
	}
	l, err := jslog.New(js, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConformance(t *testing.T) {
	var node *natstest.Node // of the log at hand
	start := func(t *testing.T, opts ...natstest.Option) eventlog.Log {
		node = natstest.StartNode(t, append(opts, natstest.NoListen())...)
		return newLog(t, node, node.JS())
	}
	logtest.Run(t, logtest.Harness{
		New:        func(t *testing.T) eventlog.Log { return start(t) },
		NewLimited: func(t *testing.T) eventlog.Log { return start(t, natstest.EventBytes(1<<20)) },
		Put: func(t *testing.T, _ eventlog.Log, r eventlog.Record) {
			h := nats.Header{eventlog.HeaderStoredAt: {r.StoredAt.Format(time.RFC3339Nano)}}
			if r.Lost {
				h[eventlog.HeaderLost] = []string{"torn"}
			}
			msg := &nats.Msg{Subject: events.PublishSubject(r.Session, r.Agent), Data: r.Data, Header: h}
			if _, err := node.JS().PublishMsg(t.Context(), msg); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// A tail goes on over restarts of the server, without loss or repetition.
func TestTailSurvivesRestarts(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	l := newLog(t, n, n.JS())
	tail, err := l.Tail(t.Context(), events.SessionID("s").Slot(16), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tail.Close() }()
	r := reader{t: t, tail: tail}
	for i := range 3 {
		r.put(l, 100)
		r.read(100)
		if i == 1 {
			r.put(l, 50) // on their way when the server goes
		}
		n.Restart()
	}
	r.put(l, 100)
	r.read(r.stored - r.seen)
}

// The same over hard kills of the server, which also stands still for longer
// than a heartbeat may stay out.
func TestTailSurvivesKills(t *testing.T) {
	n := natstest.StartProcess(t)
	fast := func(c *jslog.Config) { c.Heartbeat, c.Watchdog = 500*time.Millisecond, time.Second }
	l := newLog(t, n, n.JS(), fast)
	tail, err := l.Tail(t.Context(), events.SessionID("s").Slot(16), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tail.Close() }()
	r := reader{t: t, tail: tail}
	for range 2 {
		r.put(l, 200)
		r.read(100)
		n.Kill()
		n.Start()
		r.put(l, 100)
		r.read(r.stored - r.seen)
		n.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if recs, err := tail.Next(ctx, nil, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a server that stands still gave %d records, %v", len(recs), err)
		}
		cancel()
		n.Resume()
	}
	r.put(l, 100)
	r.read(r.stored - r.seen)
}

type reader struct {
	t            *testing.T
	tail         eventlog.Tail
	stored, seen int
}

func (r *reader) put(l eventlog.Log, n int) {
	r.t.Helper()
	for range n {
		data := []byte(fmt.Sprint(r.stored))
		_, err := l.Append(r.t.Context(), "s", "main", data, string(data))
		for errors.Is(err, eventlog.ErrAmbiguous) {
			_, err = l.Append(r.t.Context(), "s", "main", data, string(data))
		}
		if err != nil {
			r.t.Fatal(err)
		}
		r.stored++
	}
}

func (r *reader) read(n int) {
	r.t.Helper()
	for end := r.seen + n; r.seen < end; {
		recs, err := r.tail.Next(r.t.Context(), nil, 64)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, rec := range recs {
			if string(rec.Data) != fmt.Sprint(r.seen) {
				r.t.Fatalf("read %q, want %d", rec.Data, r.seen)
			}
			r.seen++
		}
	}
}

// Each row takes the tail's consumer away in another way, with all but one of
// the ways to notice out of reach.
func TestTailReplacesItsConsumer(t *testing.T) {
	never := func(c *jslog.Config) { c.Heartbeat, c.Watchdog = 25*time.Second, time.Hour }
	watchdog := func(c *jslog.Config) { c.Heartbeat, c.Watchdog = 25*time.Second, time.Second }
	for name, row := range map[string]struct {
		config func(*jslog.Config)
		harm   func(t *testing.T, n *natstest.Node, nc *nats.Conn)
	}{
		"deleted": {never, func(t *testing.T, n *natstest.Node, _ *nats.Conn) {
			eachConsumer(t, n, func(s jetstream.Stream, name string) error { return s.DeleteConsumer(t.Context(), name) })
		}},
		"paused": {watchdog, func(t *testing.T, n *natstest.Node, _ *nats.Conn) {
			eachConsumer(t, n, func(s jetstream.Stream, name string) error {
				_, err := s.PauseConsumer(t.Context(), name, time.Now().Add(time.Hour))
				return err
			})
		}},
		"connection lost": {never, func(t *testing.T, _ *natstest.Node, nc *nats.Conn) {
			if err := nc.ForceReconnect(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n := natstest.StartNode(t, natstest.NoListen())
			nc := n.Connect()
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			tail, err := newLog(t, n, js, row.config).Tail(t.Context(), events.SessionID("s").Slot(16), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tail.Close() }()
			writer := newLog(t, n, n.JS())
			r := reader{t: t, tail: tail}
			r.put(writer, 10)
			r.read(10)
			row.harm(t, n, nc)
			r.put(writer, 10)
			r.read(10)
		})
	}
}

func eachConsumer(t *testing.T, n *natstest.Node, do func(jetstream.Stream, string) error) {
	t.Helper()
	s, err := n.JS().Stream(t.Context(), "STENO_EVENTS_0")
	if err != nil {
		t.Fatal(err)
	}
	names := s.ConsumerNames(t.Context())
	count := 0
	for name := range names.Name() {
		if err := do(s, name); err != nil {
			t.Fatal(err)
		}
		count++
	}
	if err := names.Err(); err != nil || count == 0 {
		t.Fatalf("%d consumers, %v", count, err)
	}
}

func TestTailTellsAReplacedStream(t *testing.T) {
	for name, again := range map[string]bool{"deleted": false, "made anew": true} {
		t.Run(name, func(t *testing.T) {
			n := natstest.StartNode(t, natstest.NoListen())
			l := newLog(t, n, n.JS())
			tail, err := l.Tail(t.Context(), events.SessionID("s").Slot(16), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tail.Close() }()
			if err := n.JS().DeleteStream(t.Context(), "STENO_EVENTS_0"); err != nil {
				t.Fatal(err)
			}
			if again {
				if _, err := topology.Ensure(t.Context(), n.JS(), topology.Embedded()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := tail.Next(ctx, nil, 1); !errors.Is(err, eventlog.ErrReplaced) {
				t.Errorf("got %v, want ErrReplaced", err)
			}
		})
	}
}

// What no agent of the slot can have written is passed over.
func TestForeignSubjectsAreNoRecords(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	var said bytes.Buffer
	l := newLog(t, n, n.JS(), func(c *jslog.Config) { c.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	slot := events.SessionID("s").Slot(16)
	other := (slot + 1) % 16
	for _, subject := range []string{
		fmt.Sprintf("steno.ev.%d.s", slot), fmt.Sprintf("steno.ev.%d.s.a.b", slot), fmt.Sprintf("steno.ev.%d.a$b.main", slot),
		fmt.Sprintf("steno.ev.%d.=2E.main", slot), fmt.Sprintf("steno.ev.%d.s.main", other), // not its slot
	} {
		if _, err := n.JS().Publish(t.Context(), subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	neighbour := events.SessionID("")
	for i := 0; neighbour == "" || neighbour.Slot(16) != other; i++ {
		neighbour = events.SessionID(fmt.Sprint(i))
	}
	for _, s := range []events.SessionID{"s", neighbour} {
		tail, err := l.Tail(t.Context(), s.Slot(16), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tail.Close() }()
		if _, err := l.Append(t.Context(), s, "main", []byte("real"), ""); err != nil {
			t.Fatal(err)
		}
		recs, err := tail.Next(t.Context(), nil, 10)
		if err != nil || len(recs) != 1 || recs[0].Session != s || string(recs[0].Data) != "real" {
			t.Errorf("slot of %s: %+v %v", s, recs, err)
		}
	}
	agents, err := l.Agents(t.Context(), "s")
	if err != nil || len(agents) != 1 || agents[0] != "main" {
		t.Errorf("agents %v %v", agents, err)
	}
	if n := strings.Count(said.String(), "is left out"); n != 4 { // the 1st, 2nd and 4th of one slot, the 1st of the other
		t.Errorf("told %d times:\n%s", n, &said)
	}
}

func TestErrorsWithoutAServer(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	l := newLog(t, n, n.JS())
	if err := n.JS().DeleteStream(t.Context(), "STENO_EVENTS_0"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), "s", "main", []byte("x"), ""); !errors.Is(err, eventlog.ErrAmbiguous) {
		t.Errorf("append without a stream: %v", err)
	}
	if _, err := l.Range(t.Context(), "s", "main", 0, 1); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Errorf("range without a stream: %v", err)
	}
}
