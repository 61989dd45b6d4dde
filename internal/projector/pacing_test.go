package projector_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore"
)

func TestWhenAHeadIsDue(t *testing.T) {
	for _, test := range []struct {
		name     string
		run      func(w *world) // after one turn was started and saved
		min, max time.Duration
	}{
		{"a delta", func(w *world) {
			w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
		}, 2 * time.Second, 2100 * time.Millisecond},
		{"end of the turn", func(w *world) {
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		}, 0, 100 * time.Millisecond},
		{"start of a tool", func(w *world) {
			w.publish("s", "main", "tool.call.started", `{"toolCallId":"c","name":"Bash","args":{}}`)
		}, 0, 100 * time.Millisecond},
		{"somebody is asked", func(w *world) {
			w.publish("s", "main", "interaction.request", `{"id":"i","kind":"question","request":{}}`)
		}, 0, 100 * time.Millisecond},
		{"1,000 events", func(w *world) {
			for range 1000 {
				w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
			}
		}, 0, 200 * time.Millisecond},
		{"little after a large head", func(w *world) {
			w.publish("s", "main", "assistant.message", `{"text":"`+strings.Repeat("x", 500_000)+`"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			time.Sleep(100 * time.Millisecond)
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		}, 29 * time.Second, 31 * time.Second},
		{"enough after a large head", func(w *world) {
			w.publish("s", "main", "assistant.message", `{"text":"`+strings.Repeat("x", 500_000)+`"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			time.Sleep(100 * time.Millisecond)
			w.publish("s", "main", "turn.started", `{"prompt":"`+strings.Repeat("y", 950_000)+`"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		}, 0, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
				w.publish("s", "main", "turn.step.started", `{}`)
				time.Sleep(2200 * time.Millisecond)
				if w.seq("s", "main") != 2 {
					t.Fatal("the first head is not there")
				}
				test.run(w)
				begin := time.Now()
				want := offline(t, w.log, "s", "main").Seq()
				for w.seq("s", "main") != want && time.Since(begin) < time.Minute {
					time.Sleep(max(10*time.Millisecond, test.min/100)) // each look decodes the head
				}
				if d := time.Since(begin); d < test.min || d > test.max {
					t.Errorf("saved after %v, want %v to %v", d, test.min, test.max)
				}
				p.end(t)
			})
		})
	}
}

// bytesWritten counts the bytes of heads, memories and resume states that are
// written.
func (w *world) bytesWritten() *atomic.Int64 {
	var n atomic.Int64
	w.store.Observe(func(c statestore.Commit) {
		w.watch(c)
		for _, wr := range c.Writes {
			if statestore.IsDocument(wr.Key) {
				n.Add(int64(len(wr.Value)))
			}
		}
	})
	return &n
}

// The state written is in proportion to the events, whatever the session is
// like.
func TestStateWritten(t *testing.T) {
	pad := strings.Repeat("x", 2000)
	for name, run := range map[string]func(w *world){
		"200 tools in one turn": func(w *world) {
			w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
			for i := range 200 {
				w.publish("s", "main", "tool.call.started", fmt.Sprintf(`{"toolCallId":"c%d","name":"Bash","args":{"a":%q}}`, i, pad))
				time.Sleep(100 * time.Millisecond)
				w.publish("s", "main", "tool.result", fmt.Sprintf(`{"toolCallId":"c%d","output":%q}`, i, pad+pad))
				time.Sleep(300 * time.Millisecond)
			}
		},
		"a streamed frame of 4 MB": func(w *world) {
			w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
			for range 2000 {
				w.publish("s", "main", "assistant.delta", fmt.Sprintf(`{"delta":%q}`, pad))
				time.Sleep(20 * time.Millisecond)
			}
		},
		"much that is recorded as facts": func(w *world) {
			for i := range 400 {
				w.publish("s", "main", "message", fmt.Sprintf(`{"role":"assistant","content":%q,"metadata":{"tool_calls":[{"id":"c%d","name":"Bash","arguments":"{}"}]}}`, pad, i))
				w.publish("s", "main", "tool_lifecycle", fmt.Sprintf(`{"tool_name":"Bash","tool_call_id":"c%d","status":"started","args":{"a":%q}}`, i, pad))
				w.publish("s", "main", "tool_lifecycle", fmt.Sprintf(`{"tool_name":"Bash","tool_call_id":"c%d","status":"completed","result":%q}`, i, pad))
				time.Sleep(200 * time.Millisecond)
			}
		},
		"one turn a compaction": func(w *world) {
			for i := range 400 {
				w.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":%q}`, pad))
				w.publish("s", "main", "assistant.message", fmt.Sprintf(`{"text":%q}`, pad))
				w.publish("s", "main", "compaction.completed", fmt.Sprintf(`{"summary":"%d","keptUserMessageCount":0}`, i))
				w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
				time.Sleep(200 * time.Millisecond)
			}
		},
		"many short turns": func(w *world) {
			for range 400 {
				w.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":%q}`, pad))
				w.publish("s", "main", "assistant.message", fmt.Sprintf(`{"text":%q}`, pad))
				w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
				time.Sleep(200 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				n := w.bytesWritten()
				p := w.start("a", projector.Limits{HeadForce: time.Hour})
				run(w)
				got := n.Load() // without what a stop saves
				p.end(t)
				recs, err := w.log.Range(t.Context(), "s", "main", 0, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				size := 0
				for _, r := range recs {
					size += len(r.Data)
				}
				if size < 1<<20 {
					t.Fatalf("only %d bytes of events", size)
				}
				if got > int64(3*size) || got == 0 {
					t.Errorf("%d bytes of state for %d bytes of events", got, size)
				} else {
					t.Logf("%.2f bytes of state for a byte of events", float64(got)/float64(size))
				}
				w.sound()
				same(t, w.log, w.store, map[string][]string{"s": {"main"}})
			})
		})
	}
}

// A head that fits into no commit is kept as its position, and as itself again
// once it is smaller.
func TestTooLargeHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		text := strings.Repeat("x", 900_000)
		for range 10 {
			w.publish("s", "main", "assistant.delta", `{"delta":"`+text+`"}`)
			w.publish("s", "main", "thinking.delta", `{"delta":"x"}`)
		}
		time.Sleep(40 * time.Second)
		last := w.publish("s", "main", "assistant.delta", `{"delta":"y"}`)
		time.Sleep(40 * time.Second)
		if f, e := w.head("s", "main"); f != nil || !strings.Contains(string(e.Value), `"position":{"seq":22,`) {
			t.Errorf("the head is %.100q", e.Value)
		}
		for _, prefix := range []string{statestore.PrefixMemory, statestore.PrefixResume} {
			if _, err := w.store.Get(t.Context(), statestore.AgentKey(prefix, 0, "s", "main")); !errors.Is(err, statestore.ErrNotFound) {
				t.Errorf("beside the position there is %s: %v", prefix, err)
			}
		}
		if got := saved(t, w.store, 0).StreamSeq; got != last {
			t.Errorf("checkpoint %d, want %d", got, last)
		}
		w.sound()
		// Later steps close the large one.
		for range 60 {
			w.publish("s", "main", "turn.step.started", `{}`)
			w.publish("s", "main", "turn.step.completed", `{}`)
		}
		time.Sleep(40 * time.Second)
		same(t, w.log, w.store, map[string][]string{"s": {"main"}})
		p.end(t)
	})
}
