package reducer

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// TestFoldSizes: what is counted while text streams is what measuring finds.
func TestFoldSizes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := NewFold("main", nil)
		texts := rapid.SliceOfN(rapid.String(), 1, 6).Draw(rt, "texts")
		for i, text := range texts {
			quoted := scan.AppendQuote(nil, text)
			if rapid.Bool().Draw(rt, "half") {
				quoted = append(quoted[:len(quoted)-1], `\ud83d"`...)
			}
			typ, field := "assistant.delta", "delta"
			switch rapid.IntRange(0, 5).Draw(rt, "type") {
			case 0:
				typ = "thinking.delta"
			case 1:
				typ, field = "tool.call.delta", `toolCallId":"c","argumentsPart`
			case 2:
				typ = "shell.output"
			}
			payload := `{"` + field + `":` + string(quoted) + `}`
			if typ == "shell.output" {
				payload = `{"commandId":"k","update":{"kind":"stdout","text":` + string(quoted) + `}}`
			}
			f.Begin(uint64(i+1), 0)
			f.Event(&events.Event{Type: typ, Payload: []byte(payload)})
			f.End()
			checkSizes(rt, f)
		}
		f.Begin(99, 0)
		f.Event(&events.Event{Type: "turn.ended", Payload: []byte(`{"reason":"completed"}`)})
		f.End()
		checkSizes(rt, f)
	})
}

func checkSizes(t *rapid.T, f *Fold) {
	total := 0
	for item := f.first; item != nil; item = item.next {
		total += item.size
		if item.turn == nil {
			continue
		}
		total += item.turn.size
		for _, s := range item.turn.steps {
			total += s.size
			for _, fr := range s.frames {
				h := fr.now()
				if n := len(h.AppendJSON(nil)); n != fr.size {
					t.Fatalf("frame %s counts as %d bytes and has %d: %s", h.FrameID, fr.size, n, h.AppendJSON(nil))
				}
				total += fr.size
			}
		}
	}
	for e := f.tasks.first; e != nil; e = e.next {
		h := e.nowTask()
		if n := len(h.AppendJSON(nil)); n != e.size {
			t.Fatalf("task %s counts as %d bytes and has %d", e.id, e.size, n)
		}
		total += e.size
	}
	if total != f.Kept() {
		t.Fatalf("%d bytes are kept, counted are %d", total, f.Kept())
	}
}
