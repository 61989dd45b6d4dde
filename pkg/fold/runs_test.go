package fold_test

import (
	"strconv"
	"testing"

	"github.com/stenohq/steno/pkg/reducer"
)

// Call ids repeat across runs: what names a run is about the call of that run.
func TestCallIDsRepeatAcrossRuns(t *testing.T) {
	run := func(r string) string { return `"run_id":"` + r + `"` }
	call := `{"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"c","name":"Edit","arguments":{}}]}}`
	both := func() *world {
		return newWorld(t).add(
			ev("message", `{"role":"user","content":"a"}`, run("r1")), ev("message", call, run("r1")),
			ev("message", `{"role":"user","content":"b"}`, run("r2")), ev("message", call, run("r2")))
	}
	first, second := "items/t0/steps/t0.1/frames/0", "items/t1/steps/t1.1/frames/0"
	decide := func(run string) string {
		return ev("action.decided", `{"toolCallId":"c","decision":"done","by":"ann"`+run+`}`)
	}
	t.Run("a decision about the older one", func(t *testing.T) {
		both().add(decide(`,"run_id":"r1"`)).want(first+"/state", "done", second+"/state", "running")
	})
	t.Run("a decision about the newer one", func(t *testing.T) {
		both().add(decide(`,"run_id":"r2"`)).want(first+"/error", "interrupted", second+"/state", "done")
	})
	t.Run("a decision that names no run", func(t *testing.T) {
		both().add(decide("")).want(first+"/error", "interrupted", second+"/state", "done")
	})
	t.Run("a decision about a run that is not here", func(t *testing.T) {
		both().add(decide(`,"run_id":"r0"`)).want(first+"/error", "interrupted", second+"/state", "running", "items/notice/payload/level", "info")
	})
	t.Run("a lifecycle that was not announced", func(t *testing.T) {
		newWorld(t).add(
			ev("message", `{"role":"user","content":"a"}`, run("r1")),
			ev("tool_lifecycle", `{"tool_call_id":"c","tool_name":"Read","status":"completed","result":"A"}`, run("r1")),
			ev("message", `{"role":"user","content":"b"}`, run("r2")),
			ev("tool_lifecycle", `{"tool_call_id":"c","tool_name":"Edit","status":"started"}`, run("r2")),
			ev("tool_lifecycle", `{"tool_call_id":"c","tool_name":"Edit","status":"completed","result":"B"}`, run("r2")),
		).want(first+"/output", "A", first+"/name", "Read", second+"/output", "B", second+"/name", "Edit")
	})
	t.Run("a lifecycle of a call that its run left unsettled", func(t *testing.T) {
		newWorld(t).add(
			ev("message", `{"role":"user","content":"a"}`, run("r1")), ev("message", call, run("r1")),
			ev("tool_lifecycle", `{"tool_call_id":"c","status":"completed","result":"late"}`, run("r2")),
		).want(first+"/output", "late", "items/#", "1")
	})
	t.Run("more runs than are remembered", func(t *testing.T) {
		w := both()
		w.split = false
		for i := range 300 {
			w.add(ev("agent.status.updated", `{}`, run("later-"+strconv.Itoa(i))))
		}
		w.split = true
		w.add(decide(`,"run_id":"r1"`)).want(first+"/error", "interrupted")
	})
}

// The source of a session is that of its first agent.started.
func TestSourceOfTheFirst(t *testing.T) {
	w := newWorld(t).add(ev("agent.started", `{}`, `"labels":{"source":"import:codex","title":"a"}`), ev("agent.started", `{}`, `"labels":{"title":"b"}`))
	again := w.reopen(w.live.Encode()).Info()
	if info := w.live.Info(); info.Source != "import:codex" || info.Title != "b" || again.Source != info.Source {
		t.Errorf("source %q, title %q, reopened %q", info.Source, info.Title, again.Source)
	}
	w = newWorld(t).add(ev("agent.started", `{}`), ev("agent.started", `{}`, `"labels":{"source":"hook"}`))
	if info := w.live.Info(); info.Source != "sdk" {
		t.Errorf("source %q, want sdk", info.Source)
	}
}

// A pending interaction that goes with its turn is told to readers who never
// saw the tool frame it is anchored to.
func TestUndoCancelsWhatWaits(t *testing.T) {
	for _, undo := range []string{ev("context.undo", `{"count":1}`), ev("context.clear", `{}`)} {
		w := newWorld(t).add(
			ev("turn.started", `{"prompt":"x"}`), ev("tool.call.started", `{"toolCallId":"c","name":"Bash","args":{}}`),
			ev("interaction.request", `{"id":"i","kind":"approval","toolCallId":"c"}`),
			ev("interaction.request", `{"id":"q","kind":"question"}`), undo)
		w.want("interactions/i", "", "interactions/q/state", "pending")
		below := reducer.NewTranscript("main")
		for _, b := range w.batches {
			for i := range b.Ops {
				if op := b.Ops[i]; op.Kind != reducer.OpStepUpsert && op.Kind != reducer.OpFrameUpsert && op.Kind != reducer.OpAppend {
					below.Apply([]reducer.Op{op})
				}
			}
		}
		if got := lookup(t, snapJSON(below.Snapshot(-1)), "interactions/i/state"); got != "cancelled" {
			t.Errorf("a reader of turns has the interaction %s", got)
		}
		if got := w.live.Info().Pending; got != 1 {
			t.Errorf("%d pending, want 1", got)
		}
	}
}

// A reader with a window that gets batches again, from any place before its
// baseline, has the same items afterwards.
func TestOverlapMakesNoGhosts(t *testing.T) {
	w := newWorld(t)
	w.split = false
	for i := range 30 {
		n := strconv.Itoa(i)
		w.add(ev("turn.started", `{"prompt":"x"}`), ev("assistant.message", `{"text":"`+n+`"}`), ev("turn.ended", `{"reason":"completed"}`),
			ev("hook.result", `{"i":`+n+`}`), ev("shell.started", `{"commandId":"k`+n+`"}`))
	}
	for _, turns := range []int{1, 3, 10} {
		base := w.live.Snapshot(turns)
		for from := range w.batches {
			reader := reducer.NewTranscript("main")
			reader.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: "main", Snapshot: base}})
			for _, b := range w.batches[from:] {
				reader.Apply(b.Ops)
			}
			got, want := lookup(t, snapJSON(reader.Snapshot(-1)), "items"), lookup(t, snapJSON(base), "items")
			if got != want {
				t.Fatalf("%d turns, batches from %d again:\n%s\nwant\n%s", turns, from, got, want)
			}
		}
	}
}
