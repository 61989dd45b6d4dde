package gateway

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog/jslog"
	service "github.com/stenohq/steno/internal/natsnode/query"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/statestore/kvstate"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/resume"
)

// On a real server resume state and memory are the same over NATS and HTTP,
// and those of the whole log.
func TestDerivedOnNATS(t *testing.T) {
	node := natstest.StartNode(t)
	log, err := jslog.New(node.JS(), jslog.Config{Slots: node.Topology().Slots, Streams: node.Topology().Streams})
	if err != nil {
		t.Fatal(err)
	}
	state, err := kvstate.New(node.Conn())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(r *rig) { r.events, r.store = log, state })
	answers, err := service.Serve(t.Context(), node.Conn(), r.g.Queries(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := answers.Stop(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(what, question string) string {
		t.Helper()
		m, err := node.Conn().Request(events.QuerySubject("s", "main", what), []byte(question), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return string(m.Data)
	}
	if got := ask("resume", ""); len(got) == 0 || got[0] != '{' {
		t.Errorf("an agent without a log is answered with %q", got)
	}
	tell(r, "s", "main", 90)
	r.save("s", "main", 60)
	for range 2 {
		r.wantDerived("s", "main")
		for what, question := range map[string]string{"memory": "", "resume": "", "resume?history=all&run_id=r1": `{"run_id":"r1","history":"all"}`} {
			_, want := r.get("/v1/sessions/s/" + what)
			if got := ask(what[:6], question); got != string(want) {
				t.Errorf("%s over NATS\n%.1000s\nover HTTP\n%.1000s", what, got, want)
			}
		}
		r.publish("s", "main", "action.decided", `{"run_id":"r2","toolCallId":"edit","decision":"done"}`)
	}
	st := r.foldTo("s", "main", 1<<30).Resume(resume.ReadOptions{})
	if st.ToolCounts.Uncertain == 0 || len(st.Uncertain()) == 0 {
		t.Error("the story leaves nothing uncertain, or nothing but what was decided")
	}
}
