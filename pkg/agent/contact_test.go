package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stenohq/steno/internal/natsnode/query"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
)

// answers is a gateway that knows one current run.
type answers struct{ current string }

func (a answers) Runs(context.Context, events.SessionID, events.AgentID, string) ([]byte, error) {
	return fmt.Appendf(nil, `{"next":1,"last_event_id":"","current":%q}`, a.current), nil
}

func serve(t *testing.T, n *natstest.Node, q query.Queries) {
	t.Helper()
	s, err := query.Serve(t.Context(), n.Conn(), q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
}

// With a clock behind that of the current run's machine, the publisher takes a
// run id after it, also for what was emitted before it knew.
func TestSlowClock(t *testing.T) {
	n := natstest.StartNode(t)
	later := uuid.Must(uuid.NewV7())
	later[0]++ // years ahead
	serve(t, n, answers{current: later.String()})
	p := connect(t, n, agent.FirstContact(10*time.Second))
	for i := range 10 {
		if err := p.Emit(t.Context(), delta(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	list := admitted(t, stored(t, n, "s", "main"))
	wantDeltas(t, list, 10)
	for _, ev := range list {
		if ev.RunID != p.Run() || ev.RunID <= later.String() {
			t.Fatalf("run id %s, current %s", ev.RunID, later)
		}
	}
}

func TestFirstContactWithoutAGateway(t *testing.T) {
	n := natstest.StartNode(t)
	p := connect(t, n, agent.FirstContact(50*time.Millisecond))
	if err := p.Close(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	wantDeltas(t, admitted(t, stored(t, n, "s", "main")), 0)
}
