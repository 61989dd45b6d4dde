package events_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// payloads has each type twice: as little as it needs, and with every field.
var payloads = []events.Payload{
	events.AgentStarted{},
	events.AgentDisposed{},
	events.TurnStarted{},
	events.TurnEnded{Reason: "completed"},
	events.StepStarted{},
	events.StepCompleted{},
	events.StepInterrupted{Reason: "aborted"},
	events.StepRetrying{},
	events.AssistantDelta{Delta: "<b> & \"q\"\n\xed\xa0\xbd"},
	events.ThinkingDelta{Delta: "hm"},
	events.AssistantMessage{Text: ""},
	events.ThinkingMessage{Text: "hm"},
	events.UserMessage{Text: "hi"},
	events.ToolCallDelta{ToolCallID: "c"},
	events.ToolCallStarted{ToolCallID: "c", Name: "Read", Args: map[string]any{"b": 1, "a": json.RawMessage("1e400")}},
	events.ToolCallExecuting{ToolCallID: "c"},
	events.ToolProgress{ToolCallID: "c", Update: events.ProgressUpdate{Kind: "stdout"}},
	events.ToolResult{ToolCallID: "c"},
	events.TodoUpdated{Items: []events.TodoItem{}},
	events.TaskStarted{},
	events.TaskTerminated{},
	events.TaskNotified{},
	events.ShellStarted{CommandID: "c"},
	events.ShellOutput{CommandID: "c"},
	events.ShellCompleted{CommandID: "c"},
	events.SubagentSpawned{SubagentID: "a"},
	events.SubagentStarted{SubagentID: "a"},
	events.SubagentCompleted{SubagentID: "a"},
	events.SubagentFailed{SubagentID: "a"},
	events.SubagentSuspended{SubagentID: "a"},
	events.GoalUpdated{},
	events.AgentStatusUpdated{},
	events.AgentActivityUpdated{},
	events.PlanModeEnter{},
	events.PlanModeExit{},
	events.PlanModeCancel{},
	events.SwarmModeEnter{},
	events.SwarmModeExit{},
	events.TowerModeEnter{},
	events.TowerModeExit{},
	events.PlanRevision{},
	events.PromptSubmitted{},
	events.PromptCompleted{},
	events.PromptAborted{},
	events.PromptSteered{},
	events.InteractionRequest{},
	events.InteractionResolved{},
	events.ActionDecided{},
	events.CompactionStarted{},
	events.CompactionBlocked{},
	events.CompactionCancelled{},
	events.CompactionCompleted{},
	events.HookResult{},
	events.SkillActivated{},
	events.PluginCommandActivated{},
	events.CronFired{},
	events.ContextSpliced{},
	events.ContextUndo{Count: 1},
	events.ContextClear{},
	events.Error{Message: "m"},
	events.Warning{Message: "m"},
	events.Skipped{N: 7, Type: "x", Reason: "too large"},
	events.Message{Role: "user", Content: "hi"},
	events.StateTransition{},
	events.ToolLifecycle{},
	events.Checkpoint{},
	events.Terminal{Reason: "completed"},
}

// TestPayloadsGolden fixes the encoding of every payload, empty and full.
func TestPayloadsGolden(t *testing.T) {
	var got strings.Builder
	for _, p := range payloads {
		for _, p := range []events.Payload{p, full(p)} {
			data, err := events.AppendPayload(nil, p)
			if err != nil || !scan.Valid(data) || scan.KindOf(data) != scan.Object {
				t.Errorf("%s: %s %v", p.EventType(), data, err)
			}
			got.WriteString(p.EventType() + " " + string(data) + "\n")
		}
	}
	const path = "testdata/payloads.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d of %s differs (run with -update when meant):\n%s", i+1, path, gotLines[min(i, len(gotLines)-1)])
		}
	}
}

// full returns a copy of p with every field set.
func full(p events.Payload) events.Payload {
	v := reflect.New(reflect.TypeOf(p)).Elem()
	fill(v)
	return v.Interface().(events.Payload)
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf(json.RawMessage(`{"big":12345678901234567890}`)))
	default:
		panic("no value for " + v.Kind().String())
	}
}

// TestPayloadsComplete compares the structs with the type constants.
func TestPayloadsComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			missing[strings.Trim(lit.Value, `"`)] = true
		}
		return true
	})
	for _, p := range payloads {
		if !missing[p.EventType()] {
			t.Errorf("%s has no constant, or two structs", p.EventType())
		}
		delete(missing, p.EventType())
	}
	for name := range missing {
		t.Errorf("%s has no struct", name)
	}
}

func TestCustomPayload(t *testing.T) {
	got, err := events.AppendPayload([]byte("x"), events.Custom{Type: "foreign.a", JSON: []byte(`{"n": 1e400}`)})
	if err != nil || string(got) != `x{"n": 1e400}` {
		t.Errorf("got %s %v", got, err)
	}
	for _, bad := range []string{``, `[]`, `{`, `{}x`} {
		if _, err := events.AppendPayload(nil, events.Custom{Type: "foreign.a", JSON: []byte(bad)}); err == nil || !strings.Contains(err.Error(), "foreign.a") {
			t.Errorf("payload %q: %v", bad, err)
		}
	}
	if _, err := events.AppendPayload(nil, events.ToolResult{Output: func() {}}); err == nil || !strings.Contains(err.Error(), "tool.result") {
		t.Errorf("a function as output: %v", err)
	}
}

// TestDeltaKeepsHalves follows an emoji that is split over two deltas.
func TestDeltaKeepsHalves(t *testing.T) {
	var joined string
	for _, half := range []string{"\xed\xa0\xbd", "\xed\xb8\x80"} {
		data, err := events.AppendPayload(nil, events.AssistantDelta{Delta: half})
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := scan.Get(data, "delta")
		text, ok := scan.Unquote(raw)
		if !ok || text != half {
			t.Errorf("delta %q comes back as %q", half, text)
		}
		joined += strings.Trim(string(raw), `"`)
	}
	if got, _ := scan.Unquote([]byte(`"` + joined + `"`)); got != "😀" {
		t.Errorf("joined they are %q", got)
	}
}
