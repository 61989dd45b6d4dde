package kimilegacy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/internal/importer/kimilegacy"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

const (
	contextFile = "kimi-legacy/fx-large-100msgs.context.jsonl"
	wireFile    = "kimi-legacy/fx-large-100msgs.wire.jsonl"
)

func corpus(t *testing.T, file string) []byte {
	t.Helper()
	s := suite(file)
	data, err := os.ReadFile(s.Files(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestContext reads a context.jsonl that lies alone: it has no times, and
// neither have its events.
func TestContext(t *testing.T) {
	data := corpus(t, contextFile)
	dir := filepath.Join(t.TempDir(), "session-1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "context.jsonl")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	s := suite()
	src := s.Locate(t, path)
	if src.Session != "session-1" || src.Agent != events.MainAgent {
		t.Fatalf("%+v", src)
	}
	list, report := s.Decode(src, data)
	importertest.CheckEvents(t, list)
	if !report.Clean() || len(list) < 100 {
		t.Errorf("%d events, %+v", len(list), report)
	}
	for _, e := range list {
		if e.Timestamp != "" {
			t.Fatalf("time %s of event %d", e.Timestamp, e.N)
		}
	}
	got := countTree(importertest.Fold(t, list, events.MainAgent))
	if want := countContext(data); got != want || want.Turns != 3 {
		t.Errorf("the tree has %+v, the file %+v", got, want)
	}
	cut, _ := s.Decode(src, data[:len(data)/2])
	if !bytes.HasPrefix(importertest.Listing(list), importertest.Listing(cut)) || len(cut) == 0 {
		t.Error("the events of the first half are no prefix")
	}
}

// TestTwins: what the wire tells is in the context as well.
func TestTwins(t *testing.T) {
	s := suite()
	calls := func(data []byte) map[string]string {
		all := map[string]string{}
		list, _ := s.Decode(importer.Source{Session: "s"}, data)
		for turn := range importertest.Fold(t, list, events.MainAgent).Turns() {
			for _, step := range turn.Steps {
				for _, f := range step.Frames {
					if f.Kind == reducer.FrameTool {
						all[f.ToolCallID] = f.Name + string(f.Input)
					}
				}
			}
		}
		return all
	}
	wire, context := calls(corpus(t, wireFile)), calls(corpus(t, contextFile))
	if len(wire) != 28 {
		t.Errorf("%d calls in the wire", len(wire))
	}
	same := 0
	for id, call := range wire {
		switch other := context[id]; {
		case other == call:
			same++
		case !strings.Contains(other, "[truncated]"): // the sample's long arguments were cut
			t.Errorf("%s is %s in the wire and %s in the context", id, call, other)
		}
	}
	if same < 24 {
		t.Errorf("only %d calls are the same", same)
	}
}

// TestLocate: a context beside its wire is left out of a directory, and
// refused by name.
func TestLocate(t *testing.T) {
	root := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	wire := `{"type":"metadata","protocol_version":"1.8"}` + "\n" + `{"timestamp":1.5,"message":{"type":"TurnBegin","payload":{"user_input":"hi"}}}` + "\n"
	context := `{"role":"_checkpoint","id":0}` + "\n" + `{"role":"user","content":"hi"}` + "\n"
	write("a/wire.jsonl", wire)
	twin := write("a/context.jsonl", context)
	write("b/context.jsonl", context)
	write("x.wire.jsonl", wire)
	write("x.context.jsonl", context)
	write("a/subagents/ac1/wire.jsonl", wire)
	p := &importer.Planner{Formats: []importer.Format{kimilegacy.Format{}}}
	jobs, failures, err := p.Plan(t.Context(), []string{root})
	if err != nil || len(failures) > 0 {
		t.Fatalf("%v %v", failures, err)
	}
	var got []string
	for _, j := range jobs {
		got = append(got, string(j.Published())+"/"+string(j.Source.Agent))
	}
	if want := "a/ac1 a/main b/main x/main"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	_, failures, _ = (&importer.Planner{Formats: p.Formats}).Plan(t.Context(), []string{twin})
	if len(failures) != 1 || !errors.Is(failures[0].Err, importer.ErrTwin) {
		t.Errorf("by name: %v", failures)
	}
}

type count struct{ Turns, Steps, Calls, Results, Errors int }

// countWire counts by the rules of the format alone.
func countWire(data []byte) (c count) {
	for raw := range bytes.Lines(data) {
		var l struct {
			Message struct {
				Type    string
				Payload struct {
					ReturnValue struct {
						IsError bool `json:"is_error"`
					} `json:"return_value"`
				}
			}
		}
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		switch l.Message.Type {
		case "TurnBegin":
			c.Turns++
		case "StepBegin":
			c.Steps++
		case "ToolCall":
			c.Calls++
		case "ToolResult":
			c.Results++
			if l.Message.Payload.ReturnValue.IsError {
				c.Errors++
			}
		}
	}
	return c
}

func countContext(data []byte) (c count) {
	for raw := range bytes.Lines(data) {
		var l struct {
			Role      string
			ToolCalls []struct{} `json:"tool_calls"`
		}
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		switch l.Role {
		case "user":
			c.Turns++
		case "assistant":
			c.Steps++
			c.Calls += len(l.ToolCalls)
		case "tool":
			c.Results++
		}
	}
	return c
}

func countTree(s *reducer.Snapshot) (c count) {
	for turn := range s.Turns() {
		c.Turns++
		for _, step := range turn.Steps {
			c.Steps++
			for _, f := range step.Frames {
				if f.Kind != reducer.FrameTool {
					continue
				}
				c.Calls++
				if f.State != reducer.ToolRunning {
					c.Results++
				}
				if f.State == reducer.ToolError {
					c.Errors++
				}
			}
		}
	}
	return c
}

func TestCounts(t *testing.T) {
	s := wires()
	for _, path := range s.Files(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := s.Decode(s.Locate(t, path), data)
		if got, want := countTree(importertest.Fold(t, list, events.MainAgent)), countWire(data); got != want || want.Turns == 0 {
			t.Errorf("%s: the tree has %+v, the file %+v", s.Name(path), got, want)
		}
	}
}

func msg(kind, payload string) string {
	return `{"timestamp":1774273363.5,"message":{"type":"` + kind + `","payload":` + payload + `}}` + "\n"
}

func call(id, args string) string {
	return msg("ToolCall", `{"type":"function","id":"`+id+`","function":{"name":"Shell","arguments":`+args+`},"extras":null}`)
}

func part(text string) string { return msg("ToolCallPart", `{"arguments_part":"`+text+`"}`) }

func answered(id, value string) string {
	return msg("ToolResult", `{"tool_call_id":"`+id+`","return_value":`+value+`}`)
}

func TestShapes(t *testing.T) {
	begin := msg("TurnBegin", `{"user_input":"hi"}`) + msg("StepBegin", `{"n":1}`)
	end := msg("TurnEnd", `{}`)
	for _, c := range []struct {
		name  string
		lines string
		want  []string // in this order
		not   string
	}{
		{
			"arguments in parts, with another result between",
			begin + call("a", `"{}"`) + call("b", `"{\"x\":"`) + answered("a", `{"output":"one"}`) + part("1") + part("}") + answered("b", `{"output":"two"}`) + end,
			[]string{`done Shell a in "{}"`, `done Shell b in "{\"x\":1}" out "\"two\""`},
			"running",
		},
		{
			"arguments that never become whole", begin + call("a", `"{\"x\":"`) + answered("a", `{"is_error":true,"output":"","message":"bad"}`),
			[]string{`error Shell a in "\"{\\\"x\\\":\"" out "\"bad\""`},
			"running Shell",
		},
		{"no arguments", begin + call("a", `""`) + answered("a", `{"output":"x"}`), []string{`done Shell a in "{}"`}, "running Shell"},
		{
			"pieces of a text are one", begin + msg("ContentPart", `{"type":"think","think":"a"}`) + msg("ContentPart", `{"type":"text","text":"Hel"}`) + msg("ContentPart", `{"type":"text","text":"lo"}`) + end,
			[]string{"t0 completed", `thinks: "a"`, `assistant []: "Hello"`},
			"t1",
		},
		{
			"an interrupted turn", begin + call("a", `"{}"`) + msg("StepInterrupted", `{}`) + msg("TurnBegin", `{"user_input":[{"type":"text","text":"again"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}}]}`) + msg("StepBegin", `{"n":1}`),
			[]string{"t0 cancelled", `t0.1 interrupted`, "error Shell a", "t1 running", "[t1.att1]", `> "again"`, "attachment t1.att1 image/png - {3 true}"},
			"AAEC",
		},
		{
			"a turn without its end is over when another begins", begin + end + begin + begin,
			[]string{"t0 completed", "t1 cancelled", "t2 running"},
			"",
		},
		{
			"steering, hooks and notices", begin + msg("SteerInput", `{"user_input":"faster"}`) + msg("HookResolved", `{"event":"Stop","action":"allow"}`) + msg("HookResolved", `{"event":"Stop","action":"block","reason":"no"}`) + msg("Notification", `{"title":"Done","body":"task","source_id":"k1"}`) + msg("CompactionBegin", `{}`) + msg("CompactionEnd", `{}`),
			[]string{`user []: "faster"`, `user []: "Done\ntask"`, "-- hook", `\"block\"`, "-- compaction", "started", "-- compaction", "completed"},
			"allow",
		},
		{
			"questions", begin + call("a", `"{}"`) + msg("QuestionRequest", `{"id":"q1","tool_call_id":"a","questions":[]}`) + msg("QuestionResponse", `{"request_id":"q1","answers":{"a":"b"}}`) +
				msg("ApprovalRequest", `{"id":"p1","tool_call_id":"a","sender":"Shell"}`) + msg("ApprovalResponse", `{"request_id":"p1","response":"reject","feedback":"no"}`) + msg("ApprovalRequest", `{"id":"p2","tool_call_id":"a"}`),
			[]string{"interaction q1 question answered call=a", "interaction p1 approval rejected call=a", "interaction p2 approval pending"},
			"",
		},
		{
			"plan mode", begin + msg("StatusUpdate", `{"plan_mode":false,"context_tokens":5}`) + msg("StatusUpdate", `{"plan_mode":true,"context_tokens":null}`),
			[]string{`\"plan\":{}`, `\"contextTokens\":5`},
			"",
		},
		{"a result before its call", begin + answered("a", `{"output":"x"}`) + call("a", `"{}"`) + end, []string{`done Shell a in "{}" out "\"x\""`}, ""},
	} {
		list, report := suite().Decode(importer.Source{Session: "s"}, []byte(c.lines))
		importertest.CheckEvents(t, list)
		tree := importertest.Tree(importertest.Fold(t, list, events.MainAgent))
		rest := tree
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: no %q behind what came before, in\n%s", c.name, want, tree)
				break
			}
			rest = after
		}
		if c.not != "" && strings.Contains(tree, c.not) || strings.Contains(tree, "notice") {
			t.Errorf("%s: %q in\n%s", c.name, c.not, tree)
		}
		if report.Skipped > 0 || len(report.Held) > 0 {
			t.Errorf("%s: %+v", c.name, report)
		}
	}
}

// TestSubagents: nested events are another agent's log, at any depth.
func TestSubagents(t *testing.T) {
	nested := func(call, agent, kind, payload string) string {
		return `{"parent_tool_call_id":"` + call + `","agent_id":"` + agent + `","subagent_type":"coder","event":{"type":"` + kind + `","payload":` + payload + `}}`
	}
	lines := msg("TurnBegin", `{"user_input":"hi"}`) + msg("StepBegin", `{"n":1}`) +
		msg("ToolCall", `{"id":"c1","function":{"name":"Agent","arguments":"{\"description\":\"look\"}"}}`) +
		msg("SubagentEvent", nested("c1", "ac1", "TurnBegin", `{"user_input":"find"}`)) +
		msg("SubagentEvent", nested("c1", "ac1", "StepBegin", `{"n":1}`)) +
		msg("SubagentEvent", nested("c1", "ac1", "ContentPart", `{"type":"text","text":"found"}`)) +
		msg("SubagentEvent", nested("c1", "ac1", "SubagentEvent", `{"task_tool_call_id":"d/1","event":{"type":"TurnBegin","payload":{"user_input":"deep"}}}`)) +
		msg("SubagentEvent", nested("c1", "ac1", "TurnEnd", `{}`)) +
		answered("c1", `{"output":"the answer"}`) +
		msg("SubagentEvent", `{"event":{"type":"TurnBegin","payload":{}}}`)
	list, report := suite().Decode(importer.Source{Session: "s"}, []byte(lines))
	importertest.CheckEvents(t, list)
	if report.Skipped != 1 {
		t.Errorf("skipped %+v", report.SkippedList)
	}
	for agent, want := range map[events.AgentID][]string{
		"main":    {"done Agent c1", "{ac1 child}", `task ac1 subagent completed`, `agent=ac1`, `"the answer"`},
		"ac1":     {"t0 completed", `> "find"`, `"found"`},
		"sub-d-1": {"t0 running", `> "deep"`},
	} {
		tree := importertest.Tree(importertest.Fold(t, list, agent))
		for _, w := range want {
			if !strings.Contains(tree, w) {
				t.Errorf("%s: no %q in\n%s", agent, w, tree)
			}
		}
	}
	starts := map[events.AgentID]string{}
	for _, e := range list {
		if e.Type == events.TypeAgentStarted {
			starts[e.Agent] = string(e.Payload)
		}
	}
	if starts["ac1"] != `{"type":"sub","parentAgentId":"main","parentToolCallId":"c1","label":"look"}` || !strings.Contains(starts["sub-d-1"], `"parentAgentId":"ac1","parentToolCallId":"d/1"`) {
		t.Errorf("starts %v", starts)
	}
}

func TestDetect(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"metadata","protocol_version":"1.10"}`:               true,
		`{"type":"metadata","protocol_version":"1.5","created_at":1}`: false,
		`{"timestamp":1.5,"message":{"type":"TurnBegin"}}`:            true,
		`{"role":"_checkpoint","id":0}`:                               true,
		`{"role":"user","content":"x"}`:                               false,
		`{"timestamp":"2026","type":"event_msg","payload":{}}`:        false,
	} {
		if got := (kimilegacy.Format{}).Detect([][]byte{[]byte(raw)}); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
