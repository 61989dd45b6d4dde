package kimi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/pkg/reducer"
)

// count is what a person would count in a log.
type count struct {
	Turns, Steps, Calls, Results, Errors, Texts, Thinking int
	In, Out, Read                                         float64
}

// countFile counts by the rules of the format alone: the prompts, the steps
// that begin, and what they hold.
func countFile(data []byte) (c count) {
	hidden := map[string]bool{"injection": true, "retry": true}
	for raw := range bytes.Lines(data) {
		var l struct {
			Type   string
			Origin struct{ Kind, Name string }
			Event  struct {
				Type, FinishReason string
				Part               struct{ Type, Text, Think string }
				Result             struct{ IsError bool }
				Usage              struct{ InputOther, Output, InputCacheRead float64 }
			}
		}
		if !bytes.HasSuffix(raw, []byte("\n")) || json.Unmarshal(raw, &l) != nil {
			continue
		}
		if l.Type == "turn.prompt" && !hidden[l.Origin.Kind] {
			c.Turns++
		}
		if l.Type != "context.append_loop_event" {
			continue
		}
		switch e := l.Event; e.Type {
		case "step.begin":
			c.Steps++
		case "tool.call":
			c.Calls++
		case "tool.result":
			c.Results++
			if e.Result.IsError {
				c.Errors++
			}
		case "content.part":
			if e.Part.Type == "text" && e.Part.Text != "" {
				c.Texts++
			}
			if e.Part.Type == "think" && e.Part.Think != "" {
				c.Thinking++
			}
		case "step.end":
			c.In += e.Usage.InputOther
			c.Out += e.Usage.Output
			c.Read += e.Usage.InputCacheRead
		}
	}
	return c
}

func countTree(s *reducer.Snapshot) (c count) {
	for turn := range s.Turns() {
		c.Turns++
		for _, step := range turn.Steps {
			c.Steps++
			if step.Usage != nil {
				c.In += step.Usage.InputOther
				c.Out += step.Usage.Output
				c.Read += step.Usage.InputCacheRead
			}
			for _, f := range step.Frames {
				switch {
				case f.Kind == reducer.FrameText && f.Role == reducer.RoleAssistant:
					c.Texts++
				case f.Kind == reducer.FrameThinking:
					c.Thinking++
				case f.Kind == reducer.FrameTool:
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
	}
	return c
}

func TestCounts(t *testing.T) {
	s := suite()
	counted := 0
	for _, path := range s.Files(t) {
		name := s.Name(path)
		switch {
		case strings.HasPrefix(name, "fx-vis-sample-compaction"): // messages, which this does not count
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := countFile(data)
		if name == "gen-0.38.0-legacy.tools.main" {
			want.Turns++ // steered while nothing ran
		}
		src := s.Locate(t, path)
		list, _ := s.Decode(src, data)
		if got := countTree(importertest.Fold(t, list, src.Agent)); got != want || want.Steps == 0 {
			t.Errorf("%s: the tree has\n%+v, the file\n%+v", name, got, want)
		}
		counted++
	}
	if counted < 14 {
		t.Errorf("counted only %d files", counted)
	}
}
