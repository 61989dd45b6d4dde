package resume_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/resume"
)

func started(id, name string) events.ToolCallStarted {
	return events.ToolCallStarted{ToolCallID: id, Name: name, Args: json.RawMessage(`{"a": 1}`)}
}

func approval(id, call string) events.InteractionRequest {
	return events.InteractionRequest{ID: id, Kind: "approval", ToolCallID: call}
}

func answer(id, decision string) events.InteractionResolved {
	return events.InteractionResolved{ID: id, Response: map[string]string{"decision": decision}}
}

// TestCallClasses has one line for each rule of a call's lifecycle in the live
// family.
func TestCallClasses(t *testing.T) {
	const call = "c"
	for _, tc := range []struct {
		name string
		list []events.Payload
		want resume.Class
	}{
		{"streamed", []events.Payload{events.ToolCallDelta{ToolCallID: call, Name: "Bash", ArgumentsPart: "{"}}, resume.ClassPending},
		{"started", []events.Payload{started(call, "Bash")}, resume.ClassUncertain},
		{"result", []events.Payload{started(call, "Bash"), events.ToolResult{ToolCallID: call, Output: "x"}}, resume.ClassCompleted},
		{"error", []events.Payload{started(call, "Bash"), events.ToolResult{ToolCallID: call, Output: "x", IsError: true}}, resume.ClassFailed},
		{"synthetic", []events.Payload{started(call, "Bash"), events.ToolResult{ToolCallID: call, Synthetic: true}}, resume.ClassFailed},
		{
			"executing is used, but not for this call yet",
			[]events.Payload{started("b", "Bash"), events.ToolCallExecuting{ToolCallID: "b"}, started(call, "Bash")},
			resume.ClassPending,
		},
		{
			"executing",
			[]events.Payload{started("b", "Bash"), events.ToolCallExecuting{ToolCallID: "b"}, started(call, "Bash"), events.ToolCallExecuting{ToolCallID: call}},
			resume.ClassUncertain,
		},
		{
			"executing begins to be used after this call's start: never withdrawn",
			[]events.Payload{started(call, "Bash"), started("b", "Bash"), events.ToolCallExecuting{ToolCallID: "b"}},
			resume.ClassUncertain,
		},
		{
			"an approval is pending when it starts",
			[]events.Payload{events.ToolCallDelta{ToolCallID: call, Name: "Bash"}, approval("i", call), started(call, "Bash")},
			resume.ClassPending,
		},
		{
			"it is given",
			[]events.Payload{events.ToolCallDelta{ToolCallID: call, Name: "Bash"}, approval("i", call), started(call, "Bash"), answer("i", "approved")},
			resume.ClassUncertain,
		},
		{
			"one of two is given",
			[]events.Payload{
				events.ToolCallDelta{ToolCallID: call, Name: "Bash"}, approval("i", call), approval("j", call), started(call, "Bash"), answer("i", "approved"),
			},
			resume.ClassPending,
		},
		{"refused", []events.Payload{started(call, "Bash"), approval("i", call), answer("i", "rejected")}, resume.ClassFailed},
		{"cancelled", []events.Payload{started(call, "Bash"), approval("i", call), answer("i", "cancelled")}, resume.ClassFailed},
		{
			"a question refuses nothing",
			[]events.Payload{started(call, "Bash"), events.InteractionRequest{ID: "i", Kind: "question", ToolCallID: call}, events.InteractionResolved{ID: "i"}},
			resume.ClassUncertain,
		},
		{
			"a start that is delivered again does not undo a result",
			[]events.Payload{started(call, "Bash"), events.ToolResult{ToolCallID: call, Output: "x"}, started(call, "Bash")},
			resume.ClassCompleted,
		},
		{
			"completed after failed",
			[]events.Payload{started(call, "Bash"), events.ToolResult{ToolCallID: call, IsError: true}, events.ToolResult{ToolCallID: call, Output: "x"}},
			resume.ClassCompleted,
		},
		{"decided done", []events.Payload{started(call, "Bash"), events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "done"}}, resume.ClassCompleted},
		{"decided failed", []events.Payload{started(call, "Bash"), events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "failed"}}, resume.ClassFailed},
		{"decided retry", []events.Payload{started(call, "Bash"), events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "retry"}}, resume.ClassPending},
		{"decided for another run", []events.Payload{started(call, "Bash"), events.ActionDecided{RunID: "run-2", ToolCallID: call, Decision: "done"}}, resume.ClassUncertain},
		{
			"a decision does not change a fact",
			[]events.Payload{started(call, "Bash"), events.ToolResult{ToolCallID: call, Output: "x"}, events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "failed"}},
			resume.ClassCompleted,
		},
		{
			"a fact changes a decision",
			[]events.Payload{
				started(call, "Bash"),
				events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "done"},
				events.ToolResult{ToolCallID: call, Output: "x", IsError: true},
			},
			resume.ClassFailed,
		},
		{
			"a second decision",
			[]events.Payload{
				started(call, "Bash"),
				events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "done"},
				events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: "retry"},
			},
			resume.ClassPending,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := state(facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}).Emit(tc.list...))
			for _, c := range s.ToolCalls {
				if c.ToolCallID == call && c.Class != tc.want {
					t.Errorf("class %s, want %s", c.Class, tc.want)
				}
			}
			if !strings.Contains(calls(s), "/c ") {
				t.Errorf("the call is missing: %s", calls(s))
			}
		})
	}
}

func TestRefusedCall(t *testing.T) {
	s := state(facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, started("c", "Bash"), approval("i", "c"), answer("i", "rejected")))
	want(t, "history", shape(s.History), "user:go | assistant: | tool c:EXECUTION_REFUSED")
	if e := s.ToolCalls[0].Error; e == nil || e.Code != "EXECUTION_REFUSED" {
		t.Errorf("error is %+v", e)
	}
}

// TestCrashWhileWaiting: what a crash left unanswered is not refused.
func TestCrashWhileWaiting(t *testing.T) {
	l := facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")},
		events.ToolCallDelta{ToolCallID: "c", Name: "Bash"}, approval("i", "c"), started("c", "Bash"))
	if s := state(l); strings.Join(s.PendingInteractions, " ") != "i" {
		t.Errorf("pending: %v", s.PendingInteractions)
	}
	s := state(l.Run("run-2").Emit(events.TurnStarted{Prompt: new("again")}))
	want(t, "calls", calls(s), "run-1/c Bash pending")
	if len(s.PendingInteractions) != 0 {
		t.Errorf("pending: %v", s.PendingInteractions)
	}
}

func TestRetryTakesBack(t *testing.T) {
	s := state(facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, events.StepStarted{},
		events.AssistantDelta{Delta: "wrong"}, events.ToolCallDelta{ToolCallID: "x", Name: "Bash", ArgumentsPart: "{"},
		events.StepRetrying{}, events.AssistantDelta{Delta: "right"}, events.StepCompleted{}, events.TurnEnded{Reason: "completed"}))
	want(t, "history", shape(s.History), "user:go | assistant:right")
	want(t, "calls", calls(s), "")
}

// TestPlace: a message stands where its step's first content does.
func TestPlace(t *testing.T) {
	s := state(facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, events.StepStarted{}, events.AssistantDelta{Delta: "one "},
		events.UserMessage{Text: "steer"}, events.AssistantDelta{Delta: "two"}, events.StepCompleted{},
		events.StepStarted{}, events.AssistantDelta{Delta: "three"}))
	want(t, "history", shape(s.History), "user:go | assistant:one two | user:steer | assistant:three")
	if s.History[1].Seq != 3 || !s.Open {
		t.Errorf("seq %d, open %v", s.History[1].Seq, s.Open)
	}
}

// TestParallelResults come in the order of the calls.
func TestParallelResults(t *testing.T) {
	s := state(facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, started("a", "Read"), started("b", "Read"),
		events.ToolResult{ToolCallID: "b", Output: "B"}, events.ToolResult{ToolCallID: "a", Output: json.RawMessage(`{"x":1e400}`)}))
	want(t, "history", shape(s.History), `user:go | assistant: | tool a:{"x":1e400} | tool b:B`)
	want(t, "metadata", string(s.History[2].Metadata), `{"tool_call_id":"a","tool_name":"Read","is_error":false}`)
	want(t, "calls", string(s.History[1].Metadata), `{"tool_calls":[{"id":"a","name":"Read","arguments":"{\"a\":1}"},`+
		`{"id":"b","name":"Read","arguments":"{\"a\":1}"}],"action_type":"tool_call"}`)
}

// TestMixed: a runtime that streams deltas and writes message facts says each
// thing once.
func TestMixed(t *testing.T) {
	s := state(facttest.New(t).Message("user", "go", "").Emit(events.AssistantDelta{Delta: "hel"}, events.AssistantDelta{Delta: "lo"}).
		Message("assistant", "hello", `{"tool_calls":[{"id":"c","name":"Read","arguments":"{}"}]}`).
		Emit(started("c", "Read"), events.ToolResult{ToolCallID: "c", Output: "live"}).
		Message("tool", "fact", `{"tool_call_id":"c"}`).Emit(events.AssistantDelta{Delta: "bye"}).
		Message("assistant", "bye", `{"action_type":"final"}`).Emit(events.Terminal{Reason: "completed"}))
	want(t, "history", shape(s.History), "user:go | assistant:hello | tool c:fact | assistant:bye")
}

func TestOpenTurn(t *testing.T) {
	l := facttest.New(t).Emit(events.TurnStarted{Prompt: new("one")}, events.StepStarted{}, events.StepCompleted{}, events.TurnEnded{Reason: "completed"})
	if s := state(l); s.OpenTurn != nil || s.NextTurnID != 1 {
		t.Errorf("open turn %+v, next %d", s.OpenTurn, s.NextTurnID)
	}
	l.Emit(events.TurnStarted{Prompt: new("two")}, events.StepStarted{}, events.StepCompleted{}, events.StepStarted{})
	if s := state(l); s.OpenTurn == nil || *s.OpenTurn != (resume.OpenTurn{TurnID: 1, NextStep: 3, Prompt: "two"}) || s.NextTurnID != 2 {
		t.Errorf("open turn %+v, next %d", s.OpenTurn, s.NextTurnID)
	}
	l.Run("run-2").Emit(events.TurnStarted{TurnID: new(1)})
	if s := state(l); s.OpenTurn == nil || s.OpenTurn.TurnID != 1 || s.OpenTurn.Prompt != "two" {
		t.Errorf("reopened turn %+v", s.OpenTurn)
	}
}

func TestCompaction(t *testing.T) {
	l := facttest.New(t)
	for i := range 4 {
		l.Emit(events.TurnStarted{Prompt: new(fmt.Sprint("ask ", i))}, events.AssistantDelta{Delta: fmt.Sprint("say ", i)}, events.TurnEnded{Reason: "completed"})
	}
	l.Emit(events.CompactionCompleted{Summary: "s", ContextSummary: "the summary", KeptUserMessageCount: new(2)},
		events.TurnStarted{Prompt: new("ask 4")})
	s := state(l)
	want(t, "history", shape(s.History), "user:ask 2 | assistant:say 2 | user:ask 3 | assistant:say 3 | user:ask 4")
	want(t, "model", shape(s.Model), "summary:the summary | user:ask 2 | assistant:say 2 | user:ask 3 | assistant:say 3 | user:ask 4")
	want(t, "checkpoint", string(s.Checkpoint), `{"checkpoint_id":"e13","summary":"the summary"}`)
	if s.HistoryDropped != 4 {
		t.Errorf("dropped %d", s.HistoryDropped)
	}
}

// TestRetained: what a checkpoint fact keeps.
func TestRetained(t *testing.T) {
	for _, tc := range []struct{ name, payload, want string }{
		{"nothing said", `{}`, "a b c d"},
		{"index", `{"retain_start_idx":2}`, "c d"},
		{"event", `{"retain_from_event_id":"e2"}`, "b c d"},
		{"event wins", `{"retain_from_event_id":"e4","retain_start_idx":1}`, "d"},
		{"unknown event", `{"retain_from_event_id":"e99","retain_start_idx":3}`, "d"},
		{"behind the end", `{"retain_start_idx":9}`, ""},
	} {
		l := facttest.New(t).Message("user", "a", "").Message("assistant", "b", "").Message("user", "c", "").Message("assistant", "d", "")
		s := state(l.Raw("checkpoint", tc.payload))
		var got []string
		for _, m := range s.History {
			got = append(got, strings.Trim(string(m.Content), `"`))
		}
		want(t, tc.name, strings.Join(got, " "), tc.want)
	}
}

func TestRuntimeState(t *testing.T) {
	s := state(facttest.New(t).Raw("checkpoint", `{"checkpoint_id":"a","runtime_state":{"read_cache":{"x":1},"k":1}}`).
		Raw("checkpoint", `{"checkpoint_id":"b","runtime_state":{"k":12345678901234567890,"l":null}}`).
		Raw("checkpoint", `{"checkpoint_id":"c","runtime_state":[1]}`))
	data, err := json.Marshal(s.RuntimeState)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "runtime state", string(data), `{"k":12345678901234567890,"l":null,"read_cache":{"x":1}}`)
}

func TestTransition(t *testing.T) {
	for reason, known := range map[string]string{"tools_executed": "tools_executed", "made_up": "unrecoverable_error"} {
		s := state(facttest.New(t).Raw("state_transition", `{"to_state":"x","reason":"`+reason+`","details":{"n":1}}`))
		want(t, reason, s.LoopState.Transition.Reason+string(s.LoopState.Transition.Details), known+`{"n":1}`)
	}
}

func TestUndo(t *testing.T) {
	l := facttest.New(t)
	for i := range 3 {
		l.Emit(events.TurnStarted{Prompt: new(fmt.Sprint("ask ", i))}, events.AssistantDelta{Delta: fmt.Sprint("say ", i)}, events.TurnEnded{Reason: "completed"})
	}
	want(t, "before", shape(state(l).History), "user:ask 0 | assistant:say 0 | user:ask 1 | assistant:say 1 | user:ask 2 | assistant:say 2")
	l.Emit(events.ContextUndo{Count: 2}, events.TurnStarted{Prompt: new("new")})
	s := state(l)
	want(t, "after an undo", shape(s.History), "user:ask 0 | assistant:say 0 | user:new")
	if s.NextTurnID != 4 {
		t.Errorf("next turn is %d: numbers are never used again", s.NextTurnID)
	}
	want(t, "after a clear", shape(state(l.Emit(events.ContextClear{})).History), "")
}

// TestUndoOfClosedTurns: turns that left the tree are taken back too.
func TestUndoOfClosedTurns(t *testing.T) {
	l := facttest.New(t)
	for i := range 60 {
		l.Emit(events.TurnStarted{Prompt: new(fmt.Sprint(i))}, events.TurnEnded{Reason: "completed"})
	}
	l.Emit(events.ContextUndo{Count: 57})
	want(t, "history", shape(state(l).History), "user:0 | user:1 | user:2")
}

func TestChildren(t *testing.T) {
	s := state(facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, started("c", "Task"),
		events.SubagentSpawned{SubagentID: "sub-1", ParentToolCallID: "c"}, events.SubagentSpawned{SubagentID: "sub-2"},
		events.SubagentCompleted{SubagentID: "sub-1"}, events.SubagentFailed{SubagentID: "sub-2"}))
	want(t, "children", fmt.Sprint(s.Children), "[{sub-1 c completed } {sub-2  failed }]")
}

// TestSourceRuns: within an import, state goes by the source's own runs.
func TestSourceRuns(t *testing.T) {
	l := facttest.New(t).Calls("c Edit").Tool("c Edit", "requested", "started").Calls("c Read").Tool("c Read", "requested", "started", "completed")
	for i := range l.Data {
		source := "one"
		if i > 2 {
			source = "two"
		}
		l.Data[i] = []byte(strings.Replace(string(l.Data[i]), `"run_id":"run-1"`, `"run_id":"run-1","source_run":"`+source+`"`, 1))
	}
	s := state(l)
	want(t, "calls", calls(s), "one/c Edit uncertain, two/c Read completed")
	want(t, "run", s.RunID, "two")
}

// TestOlderRun: a late fact of an older run settles its call, and adds no
// message.
func TestOlderRun(t *testing.T) {
	l := facttest.New(t).Message("user", "a", "").Calls("c Edit").Tool("c Edit", "requested", "started").
		Run("run-2").Message("user", "b", "").
		Run("run-1").Tool("c Edit", "completed").Message("assistant", "late", "")
	s := state(l)
	want(t, "calls", calls(s), "run-1/c Edit completed")
	want(t, "history", shape(s.History), "user:a | assistant: | tool c:ok of c | user:b")
	want(t, "run", s.RunID, "run-2")
}

func TestPolicies(t *testing.T) {
	for tool, allowed := range map[string][3]bool{
		"Read": {true, true, true}, "GLOB": {true, true, true}, "webfetch": {true, true, true},
		"Edit": {false, false, false}, "Bash": {false, false, false}, "Write": {false, false, true},
		"MyTool": {false, true, true}, "": {false, false, true},
	} {
		for i, policy := range []resume.Policy{resume.Allow(), resume.Allow("mytool"), resume.SeedCompatible} {
			if got := policy(tool); got != allowed[i] {
				t.Errorf("policy %d for %q: %v", i, tool, got)
			}
		}
	}
}

// TestHistoryBound: the newest messages are kept.
func TestHistoryBound(t *testing.T) {
	l := facttest.New(t)
	for i := range 20 {
		l.Message("user", fmt.Sprint(i, strings.Repeat("x", 50_000)), "")
	}
	s := state(l)
	if n := len(s.History); n != 10 || s.HistoryDropped != 10 || !strings.HasPrefix(string(s.History[0].Content), `"10x`) {
		t.Errorf("%d messages, %d dropped", n, s.HistoryDropped)
	}
	l.Emit(events.AssistantDelta{Delta: strings.Repeat("y", 1_000_000)}, events.TurnEnded{Reason: "completed"}).Message("user", "after", "")
	want(t, "behind a message beyond the bound", shape(state(l).History), "user:after")
}

func TestBlobs(t *testing.T) {
	sha := strings.Repeat("0a", 32)
	l := facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, started("c", "Read"), events.ToolResult{ToolCallID: "c", Output: "begin"})
	l.Data[2] = []byte(strings.Replace(string(l.Data[2]), `"payload"`, `"blobs":[{"path":"/output","sha256":"`+sha+`","size":99}],"payload"`, 1))
	s := state(l)
	if b := s.History[2].Blobs; len(b) != 1 || b[0].Path != "/content" || b[0].SHA256 != sha {
		t.Errorf("blobs are %+v", b)
	}
	checkJSON(t, s.AppendJSON(nil))
}
