package gwclient_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/gateway"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a gateway over memory whose connections a test can break.
type rig struct {
	t      *testing.T
	log    *memlog.Log
	server *httptest.Server
	conns  *breakable
	fold   *fold.Agent
	seq    uint64
}

func newRig(t *testing.T, limits gateway.Limits) *rig {
	t.Helper()
	r := &rig{t: t, log: memlog.New(4), fold: fold.New("s", "main")}
	g := gateway.New(gateway.Config{Log: r.log, State: memstate.New(), TopologyID: "t", Limits: limits})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	r.server = httptest.NewUnstartedServer(g.Handler())
	r.conns = &breakable{Listener: r.server.Listener}
	r.server.Listener = r.conns
	r.server.Start()
	t.Cleanup(func() {
		cancel()
		r.conns.breakAll()
		r.server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

// breakable is a listener whose connections can be cut, upgraded ones too.
type breakable struct {
	net.Listener
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func (b *breakable) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err == nil {
		b.mu.Lock()
		b.conns = append(b.conns, c)
		b.mu.Unlock()
	}
	return c, err
}

func (b *breakable) breakAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		_ = c.Close() // may be closed
	}
	b.conns = nil
}

// publish stores one event and folds it here too.
func (r *rig) publish(kind, payload string) {
	r.t.Helper()
	e := events.Event{Type: kind, Payload: []byte(payload), Session: "s", Agent: "main", Timestamp: "2026-01-01T00:00:00Z", SchemaVersion: 1}
	data := events.AppendEvent(nil, &e)
	if _, err := r.log.Append(r.t.Context(), "s", "main", data, ""); err != nil {
		r.t.Fatal(err)
	}
	r.seq++
	r.fold.Step(fold.Record{Seq: r.seq, Data: data})
}

// seen holds what a watch told.
type seen struct {
	t  *testing.T
	mu sync.Mutex // guards what follows

	tree      *reducer.Transcript
	seq       uint64
	baselines []gwclient.Why
	lost      int
	changed   chan struct{}
}

func newSeen(t *testing.T) *seen {
	return &seen{t: t, tree: reducer.NewTranscript("main"), changed: make(chan struct{}, 1)}
}

func (s *seen) tell(f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *seen) Baseline(agent string, snap *reducer.Snapshot, seq uint64, why gwclient.Why) {
	s.tell(func() {
		s.baselines = append(s.baselines, why)
		s.tree.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: agent, Snapshot: snap}})
		s.seq = seq
	})
}

func (s *seen) Batch(_ string, b protocol.Batch) {
	s.tell(func() {
		if b.Seq <= s.seq || b.PrevSeq > s.seq {
			s.t.Errorf("batch %d behind %d came at %d", b.Seq, b.PrevSeq, s.seq)
		}
		s.seq = b.Seq
		if res := s.tree.Apply(b.Ops); res.Gap != nil {
			s.t.Errorf("batch %d: %+v", b.Seq, res.Gap)
		}
	})
}

func (s *seen) Connected(err error) {
	s.tell(func() {
		if err != nil {
			s.lost++
		}
	})
}

// until waits for what was told.
func (s *seen) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		done := ok()
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-s.changed:
		case <-deadline:
			s.t.Fatalf("waited in vain: %s; at seq %d, baselines %v, lost %d times", what, s.seq, s.baselines, s.lost)
		}
	}
}

// watch runs until the test ends.
func (r *rig) watch(w *gwclient.Watch) *seen {
	r.t.Helper()
	client, err := gwclient.New(r.server.URL, "")
	if err != nil {
		r.t.Fatal(err)
	}
	s := newSeen(r.t)
	w.Client, w.Session, w.Agent, w.Handler = client, "s", "main", s
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
		client.Close()
	})
	return s
}

// TestWatchAcrossBreaks: whenever a connection breaks, the watch goes on behind
// what it told, each batch once and in order.
func TestWatchAcrossBreaks(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits gateway.Limits
		grade  grade.Grade
	}{
		{"replayed", gateway.Limits{}, grade.Delta},
		{"too much for a replay, so asked for", gateway.Limits{ReplayBatches: 5, RingBytes: 2000}, grade.Delta},
		{"at grade block", gateway.Limits{Watermark: 20 * time.Millisecond}, grade.Block},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.limits)
			s := r.watch(&gwclient.Watch{Grade: c.grade, Since: map[string]uint64{"main": 0}, Turns: 3})
			for round := range 5 {
				r.publish("turn.started", `{"prompt":"go"}`)
				for i := range 30 {
					r.publish("assistant.delta", fmt.Sprintf(`{"delta":"word %d "}`, i))
					if i == 15 {
						r.conns.breakAll()
					}
				}
				r.publish("turn.ended", `{"reason":"completed"}`)
				s.until(fmt.Sprintf("round %d", round), func() bool { return s.seq == r.seq })
			}
			if len(s.baselines) > 0 || s.lost == 0 {
				t.Errorf("baselines %v, connection lost %d times", s.baselines, s.lost)
			}
			want := string(r.fold.Snapshot(-1).AppendJSON(nil))
			if got := string(s.tree.Snapshot(-1).AppendJSON(nil)); got != want {
				t.Errorf("told\n%s\nthere is\n%s", got, want)
			}
		})
	}
}

func TestWatchBaseline(t *testing.T) {
	r := newRig(t, gateway.Limits{})
	for range 5 {
		r.publish("turn.started", `{"prompt":"go"}`)
		r.publish("turn.ended", `{"reason":"completed"}`)
	}
	s := r.watch(&gwclient.Watch{Grade: grade.Delta, Turns: 2})
	s.until("the baseline", func() bool { return s.seq == r.seq })
	turns := 0
	for range s.tree.Snapshot(-1).Turns() {
		turns++
	}
	if turns != 2 || len(s.baselines) != 1 || s.baselines[0] != gwclient.First {
		t.Errorf("%d turns, baselines %v", turns, s.baselines)
	}
}

// A session that does not exist yet is waited for.
func TestWatchBeforeSession(t *testing.T) {
	r := newRig(t, gateway.Limits{})
	s := r.watch(&gwclient.Watch{Grade: grade.Delta, Turns: 3})
	s.until("nothing to see", func() bool { return true })
	r.publish("turn.started", `{"prompt":"go"}`)
	s.until("the first event", func() bool { return s.seq == 1 })
}

func TestWatchRefused(t *testing.T) {
	r := newRig(t, gateway.Limits{})
	client, err := gwclient.New(r.server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	w := &gwclient.Watch{Client: client, Session: "../x", Agent: "main", Grade: grade.Delta, Handler: newSeen(t)}
	if err := w.Run(t.Context()); err == nil {
		t.Error("a session id that is none was watched")
	}
}

func TestNew(t *testing.T) {
	for _, base := range []string{"", "localhost:7777", "ftp://x", "http://", "://"} {
		if _, err := gwclient.New(base, ""); err == nil {
			t.Errorf("%q was taken", base)
		}
	}
}
