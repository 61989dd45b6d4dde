package resume_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// FuzzDecode: no bytes make Decode or what follows panic, and what decodes
// encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	opt := resume.Options{Session: facttest.Session, Agent: facttest.Agent}
	f.Add(facttest.New(fatal{f}).Message("user", "a", "").Calls("c Read").Tool("c Read", "requested", "failed").Fold().Encode().Resume)
	f.Add(facttest.New(fatal{f}).Emit(events.TurnStarted{Prompt: new("go")}, started("c", "Bash"), approval("i", "c")).Fold().Encode().Resume)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := resume.Decode(opt, data)
		if err != nil {
			return
		}
		if again := r.Append(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x comes back as %x", data, again)
		}
		_ = r.State(resume.ReadOptions{}).AppendJSON(nil)
	})
}

type fatal struct{ *testing.F }

// FuzzLog reads a script of events, two bytes each, and checks at every place
// that the model's messages are valid, that a continued state is the same, and
// that the memory keeps its bounds.
func FuzzLog(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add([]byte("0a1b2c3d4e5f6g7h8i9j"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 120 {
			return
		}
		l := facttest.New(t)
		for i := 0; i+1 < len(script); i += 2 {
			play(l, script[i], script[i+1])
		}
		part := fold.New(facttest.Session, facttest.Agent)
		for i := range l.Data {
			facttest.Continue(part, l.Data[i:i+1])
			again, err := fold.Decode(facttest.Session, facttest.Agent, part.Encode())
			if err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			part = again
		}
		whole := l.Fold()
		got, want := part.Encode(), whole.Encode()
		if !bytes.Equal(got.Resume, want.Resume) || !bytes.Equal(got.Memory, want.Memory) {
			t.Fatal("a continued state differs")
		}
		s := whole.Resume(resume.ReadOptions{})
		if s.LeftOut > 0 {
			t.Fatalf("%d events made the fold panic", s.LeftOut)
		}
		checkValid(t, s.History)
		checkValid(t, s.Model)
		checkJSON(t, s.AppendJSON(nil))
		if n := len(whole.Memory().AppendJSON(nil)); n > memory.MaxJSON {
			t.Fatalf("the memory has %d bytes", n)
		}
	})
}

// play appends one of many events; the second byte chooses its details.
func play(l *facttest.Log, what, how byte) {
	call := fmt.Sprint("c", how%4)
	names := [...]string{"Read", "Edit", "TodoWrite"}
	name := names[int(how/4)%len(names)]
	turn, stepNo := int(how%5), int(how%3)+1
	statuses := [...]string{"requested", "started", "completed", "failed"}
	list := [...]func(){
		func() { l.Emit(events.TurnStarted{Prompt: new("go")}) },
		func() { l.Emit(events.TurnStarted{TurnID: &turn}) },
		func() {
			l.Emit(events.TurnEnded{Reason: [...]string{"completed", "failed", "cancelled", "odd"}[how%4]})
		},
		func() { l.Emit(events.StepStarted{}) },
		func() { l.Emit(events.StepStarted{TurnID: &turn, Step: &stepNo}) },
		func() { l.Emit(events.StepCompleted{TurnID: &turn, Step: &stepNo}) },
		func() { l.Emit(events.StepCompleted{}) },
		func() { l.Emit(events.StepRetrying{}) },
		func() { l.Emit(events.AssistantDelta{Delta: "x"}) },
		func() { l.Emit(events.AssistantDelta{TurnID: &turn, Step: &stepNo, Delta: "y"}) },
		func() { l.Emit(events.ThinkingDelta{Delta: "\xed\xa0\xbd"}) },
		func() { l.Emit(events.AssistantMessage{Text: "whole"}) },
		func() { l.Emit(events.UserMessage{Text: "steer"}) },
		func() { l.Emit(events.ToolCallDelta{ToolCallID: call, Name: name, ArgumentsPart: `{"a`}) },
		func() { l.Emit(started(call, name)) },
		func() { l.Emit(events.ToolCallExecuting{ToolCallID: call}) },
		func() { l.Emit(events.ToolResult{ToolCallID: call, Output: how, IsError: how%2 == 0}) },
		func() { l.Emit(approval("i"+call, call)) },
		func() { l.Emit(answer("i"+call, [...]string{"approved", "rejected", "odd"}[how%3])) },
		func() {
			l.Emit(events.ActionDecided{RunID: "run-1", ToolCallID: call, Decision: [...]string{"done", "failed", "retry"}[how%3]})
		},
		func() { l.Message("user", "ask", "") },
		func() { l.Message("assistant", "say", `{"action_type":"final"}`) },
		func() { l.Calls(call+" "+name, "d "+name) },
		func() { l.Tool(call+" "+name, statuses[how%4]) },
		func() { l.Message("tool", "seen", fmt.Sprintf(`{"tool_call_id":%q,"recovered":%v}`, call, how%2 == 0)) },
		func() { l.Raw("checkpoint", fmt.Sprintf(`{"checkpoint_id":%q,"retain_start_idx":%d}`, call, how%8)) },
		func() { l.Emit(events.CompactionCompleted{Summary: "s", KeptUserMessageCount: new(int(how % 3))}) },
		func() { l.Emit(events.Terminal{Reason: "completed"}) },
		func() { l.Run(fmt.Sprint("run-", how%3)) },
		func() { l.Emit(events.ContextUndo{Count: int(how%3) + 1}) },
		func() { l.Emit(events.ContextClear{}) },
		func() { l.Emit(events.AgentDisposed{}) },
		func() { l.Raw("message", `{"role":`+fmt.Sprint(how)+`,"content":{},"metadata":[]}`) },
		func() { l.Emit(events.TodoUpdated{Items: []events.TodoItem{{Title: "t", Status: "pending"}}}) },
		func() { l.Emit(events.SubagentSpawned{SubagentID: call}, events.SubagentCompleted{SubagentID: call}) },
	}
	list[int(what)%len(list)]()
}
