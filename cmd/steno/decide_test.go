package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stenohq/steno/cmd/internal/term"
	"github.com/stenohq/steno/pkg/resume"
)

func TestParseDecisions(t *testing.T) {
	for arg, want := range map[string]decision{
		"c1=done":         {"c1", "done"},
		"run/c1=failed":   {"run/c1", "failed"},
		"a=b=retry":       {"a=b", "retry"},
		"c1":              {},
		"=done":           {},
		"c1=":             {},
		"c1=DONE":         {},
		"c1=done, really": {},
	} {
		got, err := parseDecisions([]string{arg})
		if (err != nil) != (want == decision{}) || err == nil && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: %v, %v", arg, got, err)
		}
	}
}

func TestUncertain(t *testing.T) {
	st := &resume.State{SessionID: "s", AgentID: "main", ToolCalls: []resume.ToolCall{
		{RunID: "r1", ToolCallID: "c", Class: resume.ClassUncertain},
		{RunID: "r2", ToolCallID: "c", Class: resume.ClassUncertain},
		{RunID: "r1", ToolCallID: "once", Class: resume.ClassCompleted},
		{RunID: "r2", ToolCallID: "once", Class: resume.ClassUncertain},
		{RunID: "r2", ToolCallID: "over", Class: resume.ClassFailed},
	}}
	for name, want := range map[string]string{
		"r1/c": "r1", "r2/c": "r2", "once": "r2", "c": "RUN/CALL", "over": "it is failed", "r1/once": "it is completed", "none": "no call",
	} {
		c, err := uncertain(st, name)
		if err == nil && c.RunID != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: run %q, %v; want %s", name, c.RunID, err, want)
		}
	}
}

// Nothing that a log holds reaches the terminal as a control character or
// begins a line.
func TestPrintResumeOfHostileText(t *testing.T) {
	const bad = "\x1b]0;x\a\r\n\u2028\u202eforged"
	quoted, err := json.Marshal(bad)
	if err != nil {
		t.Fatal(err)
	}
	call := func(c resume.Class) resume.ToolCall {
		return resume.ToolCall{RunID: bad, ToolCallID: bad, ToolName: bad, Class: c, Args: json.RawMessage(quoted), SettledBy: bad}
	}
	st := &resume.State{
		SessionID: bad, AgentID: bad, RunID: bad, Open: true,
		ToolCalls: []resume.ToolCall{call(resume.ClassUncertain), call(resume.ClassPending), call(resume.ClassCompleted)},
		Children:  []resume.Child{{AgentID: bad, State: bad, ChildState: bad}},
		OpenTurn:  &resume.OpenTurn{Prompt: bad},
		History: []resume.Message{
			{Role: bad, Content: json.RawMessage(quoted)},
			{Role: "user", Content: json.RawMessage(`[{"type":"text"}]`)},
			{Role: "assistant", Content: json.RawMessage(`""`), Metadata: json.RawMessage(`{"tool_calls":[{"name":` + string(quoted) + `},{"name":"Bash"}]}`)},
		},
		LoopState: resume.LoopState{Transition: resume.Transition{Reason: bad}},
	}
	var out bytes.Buffer
	if err := printResume(&out, term.Style{}, st); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\a\r\u2028\u202e") || strings.Contains(out.String(), "\nforged") {
		t.Errorf("%q", out.String())
	}
	if !strings.HasPrefix(out.String(), "Uncertain") || strings.Count(out.String(), "forged") < 13 || !strings.Contains(out.String(), ", Bash)") {
		t.Errorf("something is missing in\n%s", &out)
	}
}
