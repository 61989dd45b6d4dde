package projector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/fold"
)

// Heads that cannot be continued are made again from the log: at once for an
// agent that goes on, in the background for all others.
func TestRefold(t *testing.T) {
	for _, test := range []struct {
		name string
		head []byte
	}{
		{"another fold version", nil},
		{"position only", []byte(`{"position":{"seq":3,"stream_seq":3}}`)},
		{"absent although there are earlier messages", []byte{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				sessions := map[string][]string{"quiet": {"main"}, "busy": {"main", "sub"}}
				for s, agents := range sessions {
					for _, a := range agents {
						w.publish(s, a, "turn.started", `{"prompt":"x"}`)
						w.publish(s, a, "assistant.message", `{"text":"hello"}`)
						w.publish(s, a, "turn.ended", `{"reason":"completed"}`)
					}
				}
				time.Sleep(5 * time.Second)
				p.end(t)
				for s, agents := range sessions {
					for _, a := range agents {
						_, e := w.head(s, a)
						value := test.head
						switch {
						case test.head == nil: // format, then version
							value = bytes.Clone(e.Value)
							value[1] = 99
						case len(test.head) == 0:
							value = nil
						}
						if _, err := w.store.Put(t.Context(), statestore.Write{Key: e.Key, Value: value, Expect: e.Rev}); err != nil {
							t.Fatal(err)
						}
					}
				}
				if test.head == nil {
					w.setFold(0)
				} else {
					delete(sessions, "quiet") // nobody looks for these
				}
				p = w.start("b", projector.Limits{})
				time.Sleep(time.Second)
				for _, a := range sessions["busy"] {
					w.publish("busy", a, "turn.started", `{"prompt":"y"}`)
				}
				time.Sleep(40 * time.Second)
				same(t, w.log, w.store, sessions)
				if got := saved(t, w.store, 0).Fold; got != fold.Version {
					t.Errorf("the slot's heads count as of fold version %d", got)
				}
				if r := w.row("busy"); r.Agents != 2 || r.Turns != 4 {
					t.Errorf("row %+v", r)
				}
				p.end(t)
			})
		})
	}
}

// setFold makes a checkpoint tell of another fold version.
func (w *world) setFold(version int) {
	w.t.Helper()
	key := statestore.CheckpointKey(statestore.RoleProjector, 0)
	e, err := w.store.Get(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(e.Value, &doc); err != nil {
		w.t.Fatal(err)
	}
	doc["fold"] = version
	value, err := json.Marshal(doc)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: key, Value: value, Expect: e.Rev}); err != nil {
		w.t.Fatal(err)
	}
}

// A head that somebody else changed is loaded again.
func TestForeignHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		time.Sleep(3 * time.Second)
		_, e := w.head("s", "main")
		if _, err := w.store.Put(t.Context(), statestore.Write{Key: e.Key, Value: e.Value, Expect: e.Rev}); err != nil {
			t.Fatal(err)
		}
		w.log.SetRangeLag(2) // loading takes a while
		for range 50 {
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.publish("s", "other", "turn.started", `{"prompt":"y"}`)
			time.Sleep(100 * time.Millisecond)
		}
		w.log.SetRangeLag(math.MaxUint64)
		time.Sleep(40 * time.Second)
		w.sound()
		same(t, w.log, w.store, map[string][]string{"s": {"main", "other"}})
		p.end(t)
	})
}

// A refold from a replica that lags goes on until it has what is known to
// exist.
func TestRefoldFromLaggingReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		for range 5 {
			w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		}
		time.Sleep(3 * time.Second)
		p.end(t)
		_, e := w.head("s", "main")
		if _, err := w.store.Put(t.Context(), statestore.Write{Key: e.Key, Value: []byte("?"), Expect: e.Rev}); err != nil {
			t.Fatal(err)
		}
		w.log.SetRangeLag(3)
		p = w.start("b", projector.Limits{})
		for range 400 {
			w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
			time.Sleep(20 * time.Millisecond)
		}
		w.log.SetRangeLag(math.MaxUint64)
		time.Sleep(40 * time.Second)
		w.sound()
		same(t, w.log, w.store, map[string][]string{"s": {"main"}})
		p.end(t)
	})
}

// What a checkpoint does not fit stops the slot and is said.
func TestStreamDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"trimmed without a record", func(w *world) {
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.log.Trim(3)
		}, "messages are missing"},
		{"trimmed with a record", func(w *world) {
			if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: "trim.STENO_EVENTS_0", Value: []byte("{}")}); err != nil {
				w.t.Fatal(err)
			}
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.log.Trim(3)
		}, ""},
		{"trimmed below the checkpoint", func(w *world) { w.log.Trim(1) }, ""},
		{"shorter than the checkpoint", func(w *world) {
			key := statestore.CheckpointKey(statestore.RoleProjector, 0)
			e, err := w.store.Get(w.t.Context(), key)
			if err != nil {
				w.t.Fatal(err)
			}
			value := strings.Replace(string(e.Value), `"stream_seq":2`, `"stream_seq":99`, 1)
			if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: key, Value: []byte(value), Expect: e.Rev}); err != nil {
				w.t.Fatal(err)
			}
		}, "the stream has lost messages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
				w.publish("s", "main", "turn.step.started", `{}`)
				time.Sleep(3 * time.Second)
				p.end(t)
				test.change(w)
				p = w.start("b", projector.Limits{})
				time.Sleep(3 * time.Second)
				if err := p.Ready(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("ready: %v, want %q", err, test.want)
				}
				p.end(t)
			})
		})
	}
}

// A stream made anew is projected from its start, while the projector runs and
// when it starts.
func TestStreamMadeAnew(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprint("running ", running), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				for range 5 {
					w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
					w.publish("gone", "main", "turn.started", `{"prompt":"x"}`)
				}
				time.Sleep(3 * time.Second)
				if !running {
					p.end(t)
				}
				w.log.Replace()
				clear(w.n)
				w.publish("s", "main", "turn.started", `{"prompt":"new"}`)
				if !running {
					p = w.start("a", projector.Limits{})
				}
				time.Sleep(20 * time.Second)
				same(t, w.log, w.store, map[string][]string{"s": {"main"}})
				if f, _ := w.head("gone", "main"); f != nil {
					t.Error("a head of the old stream is still there")
				}
				if err := p.Ready(); err != nil {
					t.Error(err)
				}
				p.end(t)
			})
		})
	}
}

// A state whose documents do not belong together, or of which one is missing,
// is made again from the log.
func TestRefoldOfAnInconsistentState(t *testing.T) {
	for name, change := range map[string]func(w *world, earlier statestore.Entry, key string){
		"missing": func(w *world, _ statestore.Entry, key string) { w.put(key, nil) },
		"and all but the head missing": func(w *world, _ statestore.Entry, _ string) {
			w.put(statestore.AgentKey(statestore.PrefixMemory, 0, "s", "main"), nil)
			w.put(statestore.AgentKey(statestore.PrefixResume, 0, "s", "main"), nil)
		},
		"damaged": func(w *world, _ statestore.Entry, key string) { w.put(key, []byte{99, 1, 2}) },
		"earlier": func(w *world, earlier statestore.Entry, key string) { w.put(key, earlier.Value) },
	} {
		for _, prefix := range []string{statestore.PrefixMemory, statestore.PrefixResume} {
			if name == "earlier" && prefix == statestore.PrefixMemory {
				continue // only ever written together with a resume state, which tells
			}
			t.Run(prefix+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, 1)
					p := w.start("a", projector.Limits{})
					key := statestore.AgentKey(prefix, 0, "s", "main")
					w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
					time.Sleep(3 * time.Second)
					earlier, err := w.store.Get(t.Context(), key)
					if err != nil {
						t.Fatal(err)
					}
					w.publish("s", "main", "tool.call.started", `{"toolCallId":"c","name":"Bash","args":{}}`)
					time.Sleep(3 * time.Second)
					p.end(t)
					change(w, earlier, key)
					p = w.start("b", projector.Limits{})
					time.Sleep(time.Second)
					w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
					time.Sleep(3 * time.Second)
					same(t, w.log, w.store, map[string][]string{"s": {"main"}})
					p.end(t)
				})
			})
		}
	}
}

// put writes a key from outside.
func (w *world) put(key string, value []byte) {
	w.t.Helper()
	e, err := w.store.Get(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: key, Value: value, Expect: e.Rev}); err != nil {
		w.t.Fatal(err)
	}
}
