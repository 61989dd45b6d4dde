package fold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// TestCorpusFacts folds the recorded sessions that are in our own plain-loop
// form as they are: every line is understood, every call settles or is
// interrupted, and a reader follows.
func TestCorpusFacts(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/corpus/mycodeagent/*.jsonl")
	if len(files) == 0 {
		t.Skip("the corpus is not here")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
			var first events.Event
			if err := events.Decode([]byte(lines[0]), &first); err != nil {
				t.Fatal(err)
			}
			a, reader := fold.New(first.Session, "main"), reducer.NewTranscript("main")
			users, answers, calls := 0, 0, map[string]bool{}
			for i, line := range lines {
				var ev events.Event
				if events.Decode([]byte(line), &ev) == nil && ev.Type == "message" {
					p := string(ev.Payload)
					gate := strings.Contains(p, `"completion_gate"`)
					if strings.Contains(p, `"role":"user"`) || strings.Contains(p, `"role": "user"`) {
						if !gate {
							users++
						}
					}
					if strings.Contains(p, `"role":"assistant"`) || strings.Contains(p, `"role": "assistant"`) {
						answers++
					}
				}
				b := a.Step(fold.Record{Seq: uint64(i + 1), StoredAt: epoch, Data: []byte(line)})
				if b.Unknown != "" {
					t.Errorf("line %d: unknown type %s", i+1, b.Unknown)
				}
				if gap := reader.Apply(b.Ops).Gap; gap != nil {
					t.Fatalf("line %d: gap %+v", i+1, *gap)
				}
			}
			checkKept(t, a.Snapshot(-1), reader.Snapshot(-1))
			turns, steps := 0, 0
			for it := range reader.Snapshot(-1).Items() {
				if it.Marker != nil && it.Marker.Marker == "notice" {
					t.Logf("notice: %s", it.Marker.Payload)
				}
				if it.Turn == nil {
					continue
				}
				turns++
				steps += len(it.Turn.Steps)
				for _, s := range it.Turn.Steps {
					for _, f := range s.Frames {
						if f.Kind == reducer.FrameTool {
							calls[string(f.State)] = true
						}
					}
				}
			}
			if turns != users || steps != answers {
				t.Errorf("%d turns of %d user messages, %d steps of %d assistant messages", turns, users, steps, answers)
			}
			t.Logf("%d lines, %d turns, %d steps, tool states %v", len(lines), turns, steps, calls)
		})
	}
}
