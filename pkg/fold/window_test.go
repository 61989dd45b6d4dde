package fold_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// TestWindows: a reader that began with a window of the newest turns never
// holds anything that a reader of the whole does not hold in the same form: no
// late operation makes a ghost of what it has not loaded.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := fold.New("s-1", "main", fold.TreeOnly())
		whole := reducer.NewTranscript("main")
		var window *reducer.Transcript
		n := rapid.IntRange(2, 60).Draw(rt, "events")
		at, tail := rapid.IntRange(1, n-1).Draw(rt, "from"), rapid.IntRange(1, 3).Draw(rt, "turns")
		for i := range n {
			if i == at {
				window = reducer.NewTranscript("main")
				window.Apply([]reducer.Op{{Kind: reducer.OpReset, Snapshot: a.Snapshot(tail)}})
			}
			line := drawEvent(rt, false)
			b := a.Step(fold.Record{Seq: uint64(i + 1), StoredAt: epoch, Data: []byte(line)})
			whole.Apply(b.Ops)
			if window == nil {
				continue
			}
			if gap := window.Apply(b.Ops).Gap; gap != nil {
				rt.Fatalf("record %d: gap %+v", i+1, *gap)
			}
			if !hasTurn(window.Snapshot(-1)) {
				return // without a turn a window has no floor
			}
			checkWindow(rt, window.Snapshot(-1), whole.Snapshot(-1))
		}
	})
}

func hasTurn(s *reducer.Snapshot) bool {
	for range s.Turns() {
		return true
	}
	return false
}

// checkWindow compares every item of a window with the whole.
func checkWindow(t tester, window, whole *reducer.Snapshot) {
	t.Helper()
	all := map[string]string{}
	for it := range whole.Items() {
		all[it.ID()] = string(it.AppendJSON(nil))
	}
	for it := range window.Items() {
		if got := string(it.AppendJSON(nil)); all[it.ID()] != got {
			t.Fatalf("%s in the window\n%s\nin the whole\n%s", it.ID(), got, or(all[it.ID()], "absent"))
		}
	}
}

// A snapshot is of the moment it was taken, also when it was taken twice.
func TestSnapshotsStay(t *testing.T) {
	w := newWorld(t).add(ev("turn.started", `{"prompt":"a"}`), ev("assistant.delta", `{"delta":"one"}`))
	first, again, tail := w.live.Snapshot(-1), w.live.Snapshot(-1), w.live.Snapshot(1)
	before := snapJSON(first)
	if snapJSON(again) != before || snapJSON(tail) != before {
		t.Errorf("again %s, the tail %s, want %s", snapJSON(again), snapJSON(tail), before)
	}
	w.add(ev("assistant.delta", `{"delta":" two"}`), ev("turn.started", `{"prompt":"b"}`), ev("context.undo", `{"count":1}`), ev("hook.result", `{}`))
	for i, s := range []*reducer.Snapshot{first, again, tail} {
		if got := snapJSON(s); got != before {
			t.Errorf("snapshot %d became %s", i, got)
		}
	}
	w.want("items/0/steps/0/frames/0/text", "one two", "items/#", "3")
}
