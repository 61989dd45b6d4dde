package codex_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// count is what a person would count in a rollout.
type count struct {
	Turns, Steps, Calls, Running, Errors, Texts, Thoughts int
	Completed, Compactions                                int
	In, Out, Cached                                       float64
}

// line is a record as far as counting needs it.
type line struct {
	Type    string `json:"type"`
	Payload struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		ID      string `json:"id"`
		CallID  string `json:"call_id"`
		Exit    int    `json:"exit_code"`
		Fail    any    `json:"error"`
		Text    string `json:"message"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
		Info *struct {
			Total json.RawMessage `json:"total_token_usage"`
			Last  struct {
				In     float64 `json:"input_tokens"`
				Cached float64 `json:"cached_input_tokens"`
				Out    float64 `json:"output_tokens"`
			} `json:"last_token_usage"`
		} `json:"info"`
	} `json:"payload"`
}

// counter counts by the rules of the format alone: it shares no code with the
// importer.
type counter struct {
	count
	task, prompted, inStep, uncounted bool
	total                             string
	compacted                         bool
	open                              map[string]bool // calls of the turn without an output
	cut                               map[string]bool // calls that their turn's end cut off
	early                             map[string]bool // outputs that stand before their call
	failed                            map[string]bool // programs that ended with an error
	items                             map[string]bool // ids of calls that are items
	ends                              map[string]bool // ids of calls that only events name
	prompts                           string          // what user items say
}

func countFile(data []byte) count {
	c := counter{open: map[string]bool{}, cut: map[string]bool{}, early: map[string]bool{}, failed: map[string]bool{}, items: map[string]bool{}, ends: map[string]bool{}}
	var lines []line
	for raw := range bytes.Lines(data) {
		var probe struct{ Type string }
		if json.Unmarshal(raw, &probe) != nil {
			continue
		}
		var l line
		_ = json.Unmarshal(raw, &l) // fields of other types stay empty
		lines = append(lines, l)
		if strings.HasSuffix(l.Payload.Type, "_end") && l.Payload.Exit != 0 {
			c.failed[l.Payload.CallID] = true
		}
		if p := l.Payload; l.Type == "response_item" {
			c.items[p.CallID], c.items[p.ID] = true, true
			for _, part := range p.Content {
				if p.Role == "user" {
					c.prompts += part.Text + "\n"
				}
			}
		}
	}
	for _, l := range lines {
		c.add(l)
	}
	c.Calls += len(c.ends)
	c.Running = len(c.open)
	return c.count
}

func (c *counter) add(l line) {
	p := l.Payload
	switch l.Type + " " + p.Type {
	case "event_msg task_started":
		if !c.prompted {
			c.turn()
		}
		c.task, c.prompted = true, false
	case "event_msg task_complete", "event_msg turn_aborted":
		if p.Type == "task_complete" && p.Fail == nil {
			c.Completed++
		}
		c.end()
		c.task = false
	case "event_msg user_message":
		if !strings.Contains(c.prompts, p.Text) {
			c.prompt()
		}
	case "response_item agent_message":
		c.prompt()
	case "response_item message":
		c.message(l)
	case "response_item reasoning":
		c.content()
		c.Thoughts += len(p.Summary)
	case "response_item function_call", "response_item custom_tool_call", "response_item local_shell_call", "response_item tool_search_call":
		c.content()
		c.Calls++
		if !c.early[p.CallID] {
			c.open[p.CallID] = true
		}
	case "response_item web_search_call", "response_item image_generation_call":
		c.content()
		c.Calls++
	case "response_item function_call_output", "response_item custom_tool_call_output", "response_item tool_search_output":
		c.output(p.CallID)
	case "event_msg exec_command_end", "event_msg patch_apply_end", "event_msg mcp_tool_call_end":
		if !c.items[p.CallID] {
			c.ends[p.CallID] = true
		}
	case "event_msg token_count":
		c.tokens(l)
	case "compacted ":
		c.Compactions++
		c.compacted = true
	case "event_msg context_compacted":
		if !c.compacted {
			c.Compactions++
		}
		c.compacted = false
	}
}

// output answers a call, even one that was cut off.
func (c *counter) output(id string) {
	switch {
	case c.cut[id]:
		c.Errors--
		delete(c.cut, id)
	case !c.open[id]:
		c.early[id] = true
	}
	if c.failed[id] {
		c.Errors++
	}
	delete(c.open, id)
}

// turn begins a turn; what the former one left open is an error.
func (c *counter) turn() {
	c.end()
	c.Turns++
	c.uncounted = false
}

func (c *counter) end() {
	c.Errors += len(c.open)
	for id := range c.open {
		c.cut[id] = true
	}
	clear(c.open)
	c.inStep = false
}

// prompt is something said to the agent: outside of a task a turn.
func (c *counter) prompt() {
	if !c.task {
		c.turn()
		c.prompted = true
	}
}

func (c *counter) content() {
	c.prompted = false
	if !c.inStep {
		c.Steps++
	}
	c.inStep, c.uncounted = true, true
}

func (c *counter) message(l line) {
	for _, part := range l.Payload.Content {
		context := part.Text == "" || strings.HasPrefix(part.Text, "<") || strings.HasPrefix(part.Text, "# AGENTS.md")
		switch {
		case l.Payload.Role == "assistant" && part.Text != "":
			c.content()
			c.Texts++
		case l.Payload.Role == "user" && !context:
			c.prompt()
		}
	}
}

func (c *counter) tokens(l line) {
	info := l.Payload.Info
	if info == nil || string(info.Total) == c.total {
		return
	}
	c.total = string(info.Total)
	if !c.uncounted && info.Last.In > 0 {
		c.Steps++
	}
	c.inStep, c.uncounted = false, false
	c.In += info.Last.In - info.Last.Cached
	c.Cached += info.Last.Cached
	c.Out += info.Last.Out
}

// total is the cumulative usage, which the importer does not read: it checks
// the sum of the steps.
type total struct {
	In  float64 `json:"input_tokens"`
	Out float64 `json:"output_tokens"`
}

// lastTotal is the largest one: the file ends with it.
func lastTotal(data []byte) total {
	var most total
	for raw := range bytes.Lines(data) {
		var l line
		var t total
		_ = json.Unmarshal(raw, &l)
		if l.Payload.Info != nil && json.Unmarshal(l.Payload.Info.Total, &t) == nil && t.In > most.In {
			most = t
		}
	}
	return most
}

// countTree counts in the transcript that the events fold into.
func countTree(t *testing.T, list []*events.Event) count {
	t.Helper()
	var c count
	for item := range folded(t, list).Items() {
		if item.Marker != nil && item.Marker.Marker == "compaction" {
			c.Compactions++
		}
		if item.Turn == nil {
			continue
		}
		c.Turns++
		if item.Turn.State == reducer.TurnCompleted {
			c.Completed++
		}
		for _, s := range item.Turn.Steps {
			c.Steps++
			if s.Usage != nil {
				c.In += s.Usage.InputOther + s.Usage.InputCacheCreation
				c.Cached += s.Usage.InputCacheRead
				c.Out += s.Usage.Output
			}
			for _, f := range s.Frames {
				c.frame(f)
			}
		}
	}
	return c
}

func (c *count) frame(f *reducer.Frame) {
	switch f.Kind {
	case reducer.FrameText:
		if f.Role == reducer.RoleAssistant {
			c.Texts++
		}
	case reducer.FrameThinking:
		c.Thoughts++
	case reducer.FrameNotice:
	case reducer.FrameTool:
		c.Calls++
		switch f.State {
		case reducer.ToolRunning:
			c.Running++
		case reducer.ToolError:
			c.Errors++
		case reducer.ToolDone:
		}
	}
}

// TestCounts compares the two on real sessions.
func TestCounts(t *testing.T) {
	suite().Files(t)
	for _, c := range []struct {
		name string
		want func(count) bool
	}{
		{"six-open-calls-session", func(c count) bool {
			return c.Turns == 5 && c.Completed == 4 && c.Calls == 33 && c.Running == 6 && c.Errors == 1 && c.Texts == 13
		}},
		{"fx-agent-sessions-small", func(c count) bool { return c.Turns == 4 && c.Calls == 10 && c.Compactions == 7 && c.In == 12757 }},
		{"open-call-session", func(c count) bool { return c.Turns == 1 && c.Calls == 18 && c.Running == 1 && c.Errors == 4 }},
		{"short-session", func(c count) bool { return c.Turns == 1 && c.Completed == 1 && c.Calls == 1 && c.Texts == 2 }},
		{"fx-simonw-sample", func(c count) bool { return c == count{Turns: 1} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(corpus, "codex", c.name+".jsonl")
			data := readFile(t, path)
			want := countFile(data)
			if !c.want(want) {
				t.Fatalf("the count itself is off: %+v", want)
			}
			list, _ := decodeAll(suite().Locate(t, path), data)
			if total := lastTotal(data); total.In != want.In+want.Cached || total.Out != want.Out {
				t.Errorf("the file's own total is %+v, the sum of the calls %v in, %v out", total, want.In+want.Cached, want.Out)
			}
			if got := countTree(t, list); got != want {
				t.Errorf("the tree has\n%+v\nthe file has\n%+v", got, want)
			}
		})
	}
}
