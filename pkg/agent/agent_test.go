package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// node is a server of natstest, in the process or beside it.
type node interface {
	URL() string
	JS() jetstream.JetStream
}

var quiet = agent.Logger(slog.New(slog.DiscardHandler))

func limited(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// connect opens a publisher of session s on the node, over its socket.
func connect(t testing.TB, n node, opts ...agent.Option) *agent.Publisher {
	t.Helper()
	all := append([]agent.Option{agent.Session("s"), quiet, agent.FirstContact(0)}, opts...)
	p, err := agent.Connect(t.Context(), n.URL(), all...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stored reads an agent log as it is stored.
func stored(t testing.TB, n node, session, name string) []*nats.Msg {
	t.Helper()
	s, err := n.JS().Stream(t.Context(), "STENO_EVENTS_0")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	subject := events.StoredSubject(events.SessionID(session).Slot(16), events.SessionID(session), events.AgentID(name))
	var msgs []*nats.Msg
	for seq := max(info.State.FirstSeq, 1); seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject == subject {
			msgs = append(msgs, &nats.Msg{Data: m.Data, Header: m.Header})
		}
	}
	return msgs
}

// admitted is what of a log enters the tree. Nothing a publisher does may lead
// to a notice.
func admitted(t testing.TB, msgs []*nats.Msg) []events.Event {
	t.Helper()
	var state admit.State
	var list []events.Event
	for i, m := range msgs {
		var ev events.Event
		if err := events.Decode(m.Data, &ev); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		d := state.Admit(uint64(i+1), &ev)
		if len(d.Notices) > 0 || d.Late || d.Conflict {
			t.Fatalf("message %d (%s n=%d): %+v", i, ev.Type, ev.N, d)
		}
		if d.Outcome == admit.Admitted {
			list = append(list, ev)
		}
	}
	return list
}

func delta(i int) events.Payload { return events.AssistantDelta{Delta: fmt.Sprint(i)} }

// wantDeltas checks agent.started and the deltas 0 to n-1, each once, in order.
func wantDeltas(t *testing.T, list []events.Event, n int) {
	t.Helper()
	if len(list) != n+1 || list[0].Type != events.TypeAgentStarted {
		t.Fatalf("%d events, want agent.started and %d deltas", len(list), n)
	}
	for i, ev := range list[1:] {
		if string(ev.Payload) != fmt.Sprintf(`{"delta":"%d"}`, i) || ev.N != uint64(i+2) {
			t.Fatalf("event %d: n=%d %s", i, ev.N, ev.Payload)
		}
	}
}

func TestEmitStoresInOrder(t *testing.T) {
	n := natstest.StartNode(t)
	p := connect(t, n, agent.Label("cwd", "/src"), agent.Agent("main"))
	for i := range 5000 {
		if err := p.Emit(t.Context(), delta(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	msgs := stored(t, n, "s", "main")
	if len(msgs) != 5001 {
		t.Errorf("%d stored on a good network, want 5001", len(msgs))
	}
	list := admitted(t, msgs)
	wantDeltas(t, list, 5000)
	first := list[0]
	labels, err := first.LabelMap()
	if err != nil || labels["source"] != "sdk" || labels["cwd"] != "/src" || labels["host"] == "" {
		t.Errorf("labels %v %v", labels, err)
	}
	if id, err := uuid.Parse(first.RunID); err != nil || id.Version() != 7 || first.RunID != p.Run() {
		t.Errorf("run id %q", first.RunID)
	}
	if id, err := uuid.Parse(list[1].ID); err != nil || id.Version() != 7 || list[1].ID == list[2].ID {
		t.Errorf("event ids %q %q", list[1].ID, list[2].ID)
	}
	if _, ok := first.Time(); !ok || first.Session != "s" || first.Agent != "main" {
		t.Errorf("envelope %+v", first)
	}
	if msgs[0].Header.Get(nats.MsgIdHdr) != "" {
		t.Error("an event with n carries a message id")
	}
}

func TestEmitFromManyGoroutines(t *testing.T) {
	n := natstest.StartNode(t)
	p := connect(t, n)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				if err := p.Emit(t.Context(), delta(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	for i, ev := range admitted(t, stored(t, n, "s", "main")) {
		if ev.N != uint64(i+1) {
			t.Fatalf("event %d has n %d", i, ev.N)
		}
	}
}

// The server goes away and comes back while events are emitted, several times.
func TestRestartsOfTheServer(t *testing.T) {
	n := natstest.StartNode(t)
	p := connect(t, n)
	const total = 6000
	done := make(chan error, 1)
	half := make(chan struct{})
	go func() {
		for i := range total {
			if i == total/3 {
				close(half)
			}
			if err := p.Emit(t.Context(), delta(i)); err != nil {
				done <- err
				return
			}
			if i%100 == 0 {
				if err := p.Flush(t.Context()); err != nil {
					done <- err
					return
				}
			}
		}
		done <- nil
	}()
	<-half
	for range 3 {
		n.Restart()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := p.Close(limited(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	wantDeltas(t, admitted(t, stored(t, n, "s", "main")), total)
}

// The server is killed hard, and stopped beyond the acknowledgement timeout,
// in the middle of a stream of events. Nothing is lost or admitted twice, and
// what Flush said to be stored before a kill is stored.
func TestKilledAndStalledServer(t *testing.T) {
	n := natstest.StartProcess(t)
	p := connect(t, n)
	emitted := 0
	emit := func(count int) {
		for range count {
			if err := p.Emit(limited(t, time.Minute), delta(emitted)); err != nil {
				t.Fatal(err)
			}
			emitted++
		}
	}
	for round := range 3 {
		emit(500)
		if err := p.Flush(limited(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		emit(3000) // on their way, or waiting
		if round == 1 {
			n.Pause()
			emit(500)
			if err := p.Flush(limited(t, 7*time.Second)); err == nil || !strings.Contains(err.Error(), "no acknowledgement within 5s") {
				t.Errorf("flush to a stalled server: %v", err)
			}
			n.Resume()
		}
		n.Kill()
		emit(500)
		n.Start()
		if got := len(admitted(t, stored(t, n, "s", "main"))); got < round*4000+501 {
			t.Fatalf("round %d: %d admitted, Flush said %d were stored", round, got, round*4000+501)
		}
	}
	if err := p.Close(limited(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	wantDeltas(t, admitted(t, stored(t, n, "s", "main")), emitted)
}

func TestConnectBeforeTheServer(t *testing.T) {
	n := natstest.StartNode(t)
	n.Stop()
	p := connect(t, n)
	for i := range 100 {
		if err := p.Emit(limited(t, time.Second), delta(i)); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Flush(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "101 events of s/main") {
		t.Errorf("flush without a server: %v", err)
	}
	n.Start()
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	wantDeltas(t, admitted(t, stored(t, n, "s", "main")), 100)
}

func TestCloseTellsWhatIsLost(t *testing.T) {
	n := natstest.StartNode(t)
	n.Stop()
	p := connect(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 events of s/main are not stored") {
		t.Errorf("close: %v", err)
	}
	if err := p.Emit(t.Context(), delta(0)); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("emit after close: %v", err)
	}
	n.Start()
}

func TestFullOutbox(t *testing.T) {
	n := natstest.StartNode(t)
	n.Stop()
	p := connect(t, n, agent.OutboxBytes(64<<10))
	big := events.AssistantDelta{Delta: strings.Repeat("x", 10<<10)}
	var err error
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err = p.Emit(ctx, big)
		cancel()
		if err != nil {
			break
		}
	}
	if !errors.Is(err, agent.ErrFull) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("full outbox: %v", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- p.Emit(limited(t, 60*time.Second), big) }()
	n.Start()
	if err := <-waiting; err != nil {
		t.Errorf("emit when there is room again: %v", err)
	}
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	for i, ev := range admitted(t, stored(t, n, "s", "main")) {
		if ev.N != uint64(i+1) {
			t.Fatalf("event %d has n %d: the refused one left a hole", i, ev.N)
		}
	}
}

// A full stream is not a reason to give up; what is refused for good is.
func TestServerRefusals(t *testing.T) {
	n := natstest.StartNode(t)
	change := func(bytes int64, msg int32) {
		s, err := n.JS().Stream(t.Context(), "STENO_EVENTS_0")
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		cfg.MaxBytes, cfg.MaxMsgSize = bytes, msg
		if _, err := n.JS().UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	change(3000, 2000)
	p := connect(t, n)
	for i := range 20 {
		payload := delta(i)
		if i == 5 {
			payload = events.AssistantDelta{Delta: strings.Repeat("x", 3000)}
		}
		if err := p.Emit(t.Context(), payload); err != nil {
			t.Fatal(err)
		}
	}
	err := p.Flush(limited(t, 500*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Errorf("flush into a full stream: %v", err)
	}
	change(1<<30, 2000)
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	list := admitted(t, stored(t, n, "s", "main"))
	if len(list) != 21 {
		t.Fatalf("%d events, want 21", len(list))
	}
	if ev := list[6]; ev.Type != events.TypeSkipped || ev.N != 7 || !strings.Contains(string(ev.Payload), `"n":7,"event_type":"assistant.delta"`) {
		t.Errorf("in the place of the refused event: %s n=%d %s", ev.Type, ev.N, ev.Payload)
	}
}

func TestEventsNobodyWouldRead(t *testing.T) {
	n := natstest.StartNode(t)
	p := connect(t, n)
	for name, ev := range map[string]events.Event{
		"too large":   {Type: "x", Payload: []byte(`{"a":"` + strings.Repeat("x", events.MaxSize) + `"}`)},
		"no object":   {Type: "x", Payload: []byte(`[1]`)},
		"broken":      {Type: "x", Payload: []byte(`{"a":`)},
		"no type":     {Payload: []byte(`{}`)},
		"time":        {Type: "x", Payload: []byte(`{}`), Timestamp: "yesterday"},
		"long type":   {Type: strings.Repeat("x", 300), Payload: []byte(`{}`)},
		"bad labels":  {Type: "x", Payload: []byte(`{}`), Labels: []byte(`{"a":1}`)},
		"bad UTF-8":   {Type: "x", Payload: []byte("{\"a\":\"\xff\"}")},
		"deep nested": {Type: "x", Payload: []byte(`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`)},
	} {
		if err := p.EmitEvent(t.Context(), &ev); !errors.Is(err, agent.ErrSkipped) {
			t.Errorf("%s: %v, want ErrSkipped", name, err)
		}
	}
	if err := p.Emit(t.Context(), delta(0)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	list := admitted(t, stored(t, n, "s", "main"))
	if len(list) != 11 {
		t.Fatalf("%d events, want 11", len(list))
	}
	for _, ev := range list[1:10] {
		if ev.Type != events.TypeSkipped {
			t.Errorf("stored %s", ev.Type)
		}
	}
}

func TestEnd(t *testing.T) {
	boom := errors.New("boom")
	for name, row := range map[string]struct {
		body   func() error
		reason string
		panics bool
	}{
		"completed": {func() error { return nil }, `{"reason":"completed"}`, false},
		"failed":    {func() error { return boom }, `{"reason":"failed","error":"boom"}`, false},
		"cancelled": {func() error { return fmt.Errorf("stop: %w", context.Canceled) }, `{"reason":"cancelled","error":"stop: context canceled"}`, false},
		"panic":     {func() error { panic("ouch") }, `{"reason":"failed","error":"panic: ouch"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := natstest.StartNode(t)
			run := func() (err error) {
				p := connect(t, n)
				defer p.End(&err)
				if err := p.Emit(t.Context(), events.TurnStarted{}); err != nil {
					return err
				}
				return row.body()
			}
			func() {
				defer func() {
					if r := recover(); (r != nil) != row.panics {
						t.Errorf("panic %v", r)
					}
				}()
				_ = run()
			}()
			list := admitted(t, stored(t, n, "s", "main"))
			if last := list[len(list)-1]; last.Type != events.TypeTurnEnded || string(last.Payload) != row.reason {
				t.Errorf("ends with %s %s", last.Type, last.Payload)
			}
		})
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	n := natstest.StartNode(t)
	for _, id := range []string{"", "..", "a/b", "a b", "x*", "x>", strings.Repeat("a", 129)} {
		if p, err := agent.Connect(t.Context(), n.URL(), agent.Session(events.SessionID(id)), quiet); err == nil {
			_ = p.Close(t.Context())
			t.Errorf("session %q accepted", id)
		}
		if id == "" {
			continue
		}
		if p, err := agent.Connect(t.Context(), n.URL(), agent.Session("s"), agent.Agent(events.AgentID(id)), quiet); err == nil {
			_ = p.Close(t.Context())
			t.Errorf("agent %q accepted", id)
		}
	}
}
