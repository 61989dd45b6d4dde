package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

func (a answers) Resume(context.Context, events.SessionID, events.AgentID, string, bool) ([]byte, error) {
	return nil, errors.New("knows runs only")
}

func (a answers) Memory(context.Context, events.SessionID, events.AgentID) ([]byte, error) {
	return nil, errors.New("knows runs only")
}

// folding is a gateway that folds the log from its start, after it has failed
// once.
type folding struct {
	answers
	t      *testing.T
	n      *natstest.Node
	failed atomic.Bool
}

func (g *folding) fold(s events.SessionID, a events.AgentID) (*fold.Agent, error) {
	if g.failed.CompareAndSwap(false, true) {
		return nil, errors.New("not yet")
	}
	agent := fold.New(s, a)
	for i, m := range stored(g.t, g.n, string(s), string(a)) {
		agent.Step(fold.Record{Seq: uint64(i + 1), StreamSeq: uint64(i + 1), Data: m.Data})
	}
	return agent, nil
}

func (g *folding) Resume(_ context.Context, s events.SessionID, a events.AgentID, _ string, _ bool) ([]byte, error) {
	agent, err := g.fold(s, a) //nolint:contextcheck // the test's own
	if err != nil {
		return nil, err
	}
	return agent.Resume(resume.ReadOptions{Epoch: "e"}).AppendJSON(nil), nil
}

func (g *folding) Memory(_ context.Context, s events.SessionID, a events.AgentID) ([]byte, error) {
	agent, err := g.fold(s, a) //nolint:contextcheck // the test's own
	if err != nil {
		return nil, err
	}
	return agent.Memory().AppendJSON(nil), nil
}

// What was emitted is in the state, also when its answer comes in several
// parts and only at the second attempt.
func TestResume(t *testing.T) {
	n := natstest.StartNode(t)
	serve(t, n, &folding{t: t, n: n})
	p := connect(t, n)
	long := strings.Repeat("x", 400_000)
	for _, payload := range []events.Payload{
		events.TurnStarted{Prompt: &long},
		events.ToolCallStarted{ToolCallID: "c1", Name: "Bash", Args: map[string]any{"command": "rm"}},
	} {
		if err := p.Emit(t.Context(), payload); err != nil {
			t.Fatal(err)
		}
	}
	st, err := p.Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.LastSeq != 3 || st.RunID != p.Run() || st.Epoch != "e" || len(st.Uncertain()) != 1 {
		t.Errorf("state at %d of run %s with %d uncertain calls", st.LastSeq, st.RunID, len(st.Uncertain()))
	}
	if size := len(st.AppendJSON(nil)); size < 512<<10 {
		t.Errorf("the answer has %d bytes, and came in one part", size)
	}
	m, err := p.Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.LastSeq != 3 || m.CurrentGoal == nil || !strings.Contains(memory.Render(m, 5000), "Uncertain tool action detected for Bash (c1).") {
		t.Errorf("memory\n%s", memory.Render(m, 1000))
	}
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestResumeWithoutAnAnswer(t *testing.T) {
	n := natstest.StartNode(t)
	c := agent.NewConn(n.Conn())
	if _, err := c.Resume(limited(t, time.Second), "s", "main"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a gateway: %v", err)
	}
	serve(t, n, answers{})
	if _, err := c.Resume(limited(t, time.Second), "s", "main"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "knows runs only") {
		t.Errorf("refused: %v", err)
	}
	for _, id := range []string{"", "a b", "x.>", "*"} {
		if _, err := c.Memory(limited(t, time.Second), events.SessionID(id), "main"); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("session %q is asked about: %v", id, err)
		}
		if _, err := c.Memory(limited(t, time.Second), "s", events.AgentID(id)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("agent %q is asked about: %v", id, err)
		}
	}
}
