package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
)

func sender(t testing.TB, n *natstest.Node) *agent.Sender {
	t.Helper()
	c, err := agent.Dial(n.URL(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sender(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(s.Close(ctx), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ready(session, name, run string, n int) *events.Event {
	return &events.Event{
		Type: "x.y", Payload: fmt.Appendf(nil, `{"i":%d}`, n), Session: events.SessionID(session), Agent: events.AgentID(name),
		ID: fmt.Sprintf("%s:%d", run, n), RunID: run, N: uint64(n), Timestamp: "2026-01-02T03:04:05Z",
	}
}

// Several runs of several agents, over a restart: each run begins only when
// the former one is stored, so none is late.
func TestSenderKeepsRunsApart(t *testing.T) {
	n := natstest.StartNode(t)
	s := sender(t, n)
	agents := []string{"main", "sub.1", "sub.2"}
	for run := range 10 {
		for i := 1; i <= 100; i++ {
			for _, a := range agents {
				if err := s.Publish(t.Context(), ready("imp.1", a, fmt.Sprintf("run%d", run), i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if run == 5 {
			n.Restart()
		}
	}
	if err := s.Flush(limited(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		list := admitted(t, stored(t, n, "imp.1", a))
		if len(list) != 1000 {
			t.Fatalf("agent %s: %d events, want 1000", a, len(list))
		}
		for i, ev := range list {
			if ev.RunID != fmt.Sprintf("run%d", i/100) || ev.N != uint64(i%100+1) || ev.Timestamp != "2026-01-02T03:04:05Z" {
				t.Fatalf("agent %s event %d: %+v", a, i, ev)
			}
		}
	}
}

func TestSenderOfManyAgents(t *testing.T) {
	n := natstest.StartNode(t)
	s := sender(t, n)
	const agents = 200
	for i := range 400 {
		if err := s.Publish(t.Context(), ready("s", fmt.Sprintf("a%d", i%agents), "r", i/agents+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 77, 199} {
		if list := admitted(t, stored(t, n, "s", fmt.Sprintf("a%d", i))); len(list) != 2 {
			t.Errorf("agent %d has %d events, want 2", i, len(list))
		}
	}
}

func TestSenderWithoutOrdinals(t *testing.T) {
	n := natstest.StartNode(t)
	s := sender(t, n)
	for i, ev := range []events.Event{
		{Type: "a", Payload: []byte(`{}`), Session: "s"},
		{Type: "b", Payload: []byte(`{}`), Session: "s", ID: "mine"},
		{Type: "b", Payload: []byte(`{}`), Session: "s", ID: "mine"},
		{Type: "c", Payload: []byte(`{}`), Session: events.SessionID(strings.Repeat("s", 128)), Agent: events.AgentID(strings.Repeat("a", 128)), ID: "long"},
	} {
		if err := s.Publish(t.Context(), &ev); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	if err := s.Flush(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	msgs := stored(t, n, "s", "main")
	if len(msgs) != 2 {
		t.Fatalf("%d stored, want 2", len(msgs))
	}
	list := admitted(t, msgs)
	if list[0].ID == "" || msgs[0].Header.Get(nats.MsgIdHdr) != "s/main/"+list[0].ID || msgs[1].Header.Get(nats.MsgIdHdr) != "s/main/mine" {
		t.Errorf("ids %q, headers %v %v", list[0].ID, msgs[0].Header, msgs[1].Header)
	}
	long := stored(t, n, strings.Repeat("s", 128), strings.Repeat("a", 128))
	if len(long) != 1 || len(long[0].Header.Get(nats.MsgIdHdr)) != 64 {
		t.Errorf("long ids: %d stored", len(long))
	}
}

func TestSenderRefuses(t *testing.T) {
	n := natstest.StartNode(t)
	s := sender(t, n)
	for name, ev := range map[string]*events.Event{
		"session":       {Type: "a", Payload: []byte(`{}`), Session: "a/b"},
		"agent":         {Type: "a", Payload: []byte(`{}`), Session: "s", Agent: "*"},
		"no run":        {Type: "a", Payload: []byte(`{}`), Session: "s", N: 3},
		"casual broken": {Type: "a", Payload: []byte(`{`), Session: "s"},
	} {
		if err := s.Publish(t.Context(), ev); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
	large := ready("s", "main", "r", 1)
	large.Payload = []byte(`{"a":"` + strings.Repeat("x", events.MaxSize) + `"}`)
	if err := s.Publish(t.Context(), large); !errors.Is(err, agent.ErrSkipped) {
		t.Errorf("too large with n: %v", err)
	}
	if err := s.Flush(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	list := admitted(t, stored(t, n, "s", "main"))
	if len(list) != 1 || list[0].Type != events.TypeSkipped || list[0].ID != "r:1" || list[0].N != 1 {
		t.Errorf("stored %+v", list)
	}
}

// The logs of a sender share one bound, and Close lets go of who waits.
func TestSenderIsBoundedAsAWhole(t *testing.T) {
	n := natstest.StartNode(t)
	n.Stop()
	c, err := agent.Dial(n.URL(), quiet, agent.OutboxBytes(32<<10))
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sender(t.Context())
	publish := func(ctx context.Context, i int) error {
		ev := ready("s", fmt.Sprintf("a%d", i), "r", 1)
		ev.Payload = []byte(`{"a":"` + strings.Repeat("x", 10<<10) + `"}`)
		return s.Publish(ctx, ev)
	}
	for i := range 3 {
		if err := publish(limited(t, 10*time.Second), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := publish(limited(t, 10*time.Millisecond), 3); !errors.Is(err, agent.ErrFull) {
		t.Errorf("a fourth log: %v, want ErrFull", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- publish(t.Context(), 4) }()
	if err := s.Close(limited(t, 10*time.Millisecond)); err == nil || !strings.Contains(err.Error(), "1 events of s/a0 are not stored") {
		t.Errorf("close: %v", err)
	}
	if err := <-waiting; !errors.Is(err, agent.ErrClosed) {
		t.Errorf("publish that waited: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	n.Start()
}

func TestRunPosition(t *testing.T) {
	n := natstest.StartNode(t)
	serve(t, n, answers{current: "r0"})
	s := sender(t, n)
	p, err := s.Run(limited(t, 30*time.Second), "s", "main", "r1")
	if err != nil || p.Next != 1 || p.Current != "r0" {
		t.Errorf("position %+v %v", p, err)
	}
}

func TestRunWithoutAGateway(t *testing.T) {
	n := natstest.StartNode(t)
	s := sender(t, n)
	_, err := s.Run(limited(t, 50*time.Millisecond), "s", "main", "r1")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no responders") {
		t.Errorf("without a gateway: %v", err)
	}
}
