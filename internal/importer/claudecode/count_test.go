package claudecode_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// count is what a person would count in a conversation.
type count struct {
	Turns, Steps, Calls, Results, Errors, Texts, Thinking int
	Failed, Compactions, APIErrors                        int
	usage
}

type usage struct {
	In    float64 `json:"input_tokens"`
	Out   float64 `json:"output_tokens"`
	Read  float64 `json:"cache_read_input_tokens"`
	Write float64 `json:"cache_creation_input_tokens"`
}

// countFile counts in the file by the rules of the format alone: it shares no
// code with the importer, and looks only at the main conversation.
func countFile(t *testing.T, data []byte) (c count, last usage) {
	t.Helper()
	type part struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		ID       string `json:"id"`
		Call     string `json:"tool_use_id"`
		Error    bool   `json:"is_error"`
	}
	type line struct {
		Type, Subtype, PromptID         string
		UUID                            string `json:"uuid"`
		IsMeta, IsSidechain             bool
		IsCompactSummary, IsVisibleOnly bool
		IsAPIErrorMessage               bool `json:"isApiErrorMessage"`
		Message                         struct {
			ID      string          `json:"id"`
			Model   string          `json:"model"`
			Usage   usage           `json:"usage"`
			Content json.RawMessage `json:"content"`
		}
	}
	messages := map[string]usage{}
	prompts := map[string]bool{}
	for raw := range bytes.Lines(data) {
		var l line
		if !bytes.HasSuffix(raw, []byte("\n")) || json.Unmarshal(raw, &l) != nil || l.IsSidechain {
			continue
		}
		var parts []part
		var text string
		if json.Unmarshal(l.Message.Content, &text) == nil {
			parts = []part{{Type: "text", Text: text}}
		} else {
			_ = json.Unmarshal(l.Message.Content, &parts)
		}
		results := 0
		for _, p := range parts {
			if p.Type == "tool_result" {
				results++
				c.Results++
				if p.Error {
					c.Errors++
				}
			}
		}
		switch {
		case l.Type == "system" && l.Subtype == "compact_boundary":
			c.Compactions++
		case l.Type == "user" && results == 0 && !l.IsMeta && !l.IsCompactSummary && !l.IsVisibleOnly && !strings.HasPrefix(text, "[Request interrupted"):
			if l.PromptID == "" || !prompts[l.PromptID] {
				c.Turns++
			}
			prompts[l.PromptID] = true
		case l.Type == "assistant" && l.Message.Model == "<synthetic>":
			c.Steps++ // the call that failed
			c.Failed++
			c.APIErrors++
		case l.Type == "assistant":
			last = l.Message.Usage
			messages[l.Message.ID] = last
			for _, p := range parts {
				switch {
				case p.Type == "tool_use":
					c.Calls++
				case p.Type == "text" && p.Text != "":
					c.Texts++
				case p.Type == "thinking" && p.Thinking != "":
					c.Thinking++
				}
			}
		}
	}
	c.Steps += len(messages)
	for _, u := range messages {
		c.In += u.In
		c.Out += u.Out
		c.Read += u.Read
		c.Write += u.Write
	}
	return c, last
}

// countTree counts in the transcript that the events fold into.
func countTree(t *testing.T, list []*events.Event) count {
	t.Helper()
	agent := fold.New(list[0].Session, events.MainAgent)
	tree := reducer.NewTranscript(string(events.MainAgent))
	seq := uint64(0)
	for _, e := range list {
		if e.Agent != events.MainAgent {
			continue
		}
		seq++
		batch := agent.Step(fold.Record{Kind: fold.Event, Seq: seq, StreamSeq: seq, Data: events.AppendEvent(nil, e)})
		if res := tree.Apply(batch.Ops); res.Gap != nil {
			t.Fatalf("event %d (%s): gap %+v", seq, e.Type, res.Gap)
		}
	}
	var c count
	for item := range tree.Snapshot(-1).Items() {
		switch {
		case item.Marker != nil:
			payload := string(item.Marker.Payload)
			switch {
			case item.Marker.Marker == "compaction":
				c.Compactions++
			case item.Marker.Marker == "notice" && strings.Contains(payload, `"error"`):
				c.APIErrors++
			case item.Marker.Marker == "notice":
				t.Errorf("the fold complains: %s", payload)
			}
		case item.Turn != nil:
			c.Turns++
			if item.Turn.State == reducer.TurnFailed {
				c.Failed++
			}
			for _, s := range item.Turn.Steps {
				countStep(&c, s)
			}
		}
	}
	return c
}

func countStep(c *count, s *reducer.Step) {
	c.Steps++
	if s.Usage != nil {
		c.In += s.Usage.InputOther
		c.Out += s.Usage.Output
		c.Read += s.Usage.InputCacheRead
		c.Write += s.Usage.InputCacheCreation
	}
	for _, f := range s.Frames {
		switch f.Kind {
		case reducer.FrameText:
			c.Texts++
		case reducer.FrameThinking:
			c.Thinking++
		case reducer.FrameNotice:
		case reducer.FrameTool:
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

// TestCounts compares the two on real sessions. Where a file ends inside a
// step, nobody knows yet that the step is over: its usage is not in the tree.
func TestCounts(t *testing.T) {
	corpusFiles(t)
	for _, c := range []struct {
		name string
		open bool // it ends inside a step
		want func(count) bool
	}{
		{"weather-app-session", false, func(c count) bool {
			return c.Turns == 9 && c.Steps == 154 && c.Calls == 146 && c.Compactions == 1 && c.APIErrors == 1 && c.Errors == 4
		}},
		{"scripts-session", true, func(c count) bool { return c.Turns == 12 && c.Calls == 67 && c.Compactions == 1 }},
		{"tool-errors-session", true, func(c count) bool { return c.Calls == 7 && c.Errors > 0 }},
		{"hook-progress-session", true, func(c count) bool { return c.Turns == 1 && c.Calls == 3 }},
		{"open-call-session", true, func(c count) bool { return c.Calls == 2 && c.Results == 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(corpus, "claude-code", c.name+".jsonl")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, last := countFile(t, data)
			if !c.want(want) {
				t.Fatalf("the count itself is off: %+v", want)
			}
			if c.open {
				want.In -= last.In
				want.Out -= last.Out
				want.Read -= last.Read
				want.Write -= last.Write
			}
			list, _ := decodeAll(locate(t, path), data)
			if got := countTree(t, list); got != want {
				t.Errorf("the tree has\n%+v\nthe file has\n%+v", got, want)
			}
		})
	}
}
