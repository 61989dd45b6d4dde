package fold_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/reducer"
)

func TestUndo(t *testing.T) {
	turns := func() *world {
		w := newWorld(t).add(ev("hook.result", `{"first":1}`))
		for _, origin := range []string{"user", "user", "hook", "user"} {
			w.add(ev("turn.started", `{"prompt":"p","origin":{"kind":"`+origin+`"}}`), ev("hook.result", `{"in":1}`))
		}
		return w
	}
	w := turns().add(ev("context.undo", `{"count":2}`))
	if got := w.ops(1); !strings.Contains(strings.Join(got, ""), `{"op":"items.remove","ids":["t1","m5","t2","m7","t3","m9"]}`) {
		t.Errorf("operations %v", got)
	}
	w.want("items/#", "4", "items/0/markerId", "m1", "items/1/turnId", "t0", "items/2/markerId", "m3", "items/3/marker", "undo", "items/3/payload", `{"count":2}`)
	if got := w.live.Info().Turns; got != 1 {
		t.Errorf("%d turns", got)
	}
	// Turn ids are never used again.
	w.add(ev("turn.started", `{"turnId":2,"prompt":"again"}`)).want("items/t4/prompt", "again")
	turns().add(ev("context.undo", `{"count":3}`)).want("items/#", "2", "items/0/markerId", "m1")
	turns().add(ev("context.undo", `{"count":9}`)).want("items/#", "1", "items/0/marker", "undo")
	turns().add(ev("context.undo", `{"count":0}`)).want("items/#", "9")
	turns().add(ev("context.undo", `{"count":0.5}`)).want("items/#", "10", "items/notice/payload/field", "count")
	turns().add(ev("context.clear", `{}`)).want("items/#", "1", "items/0/marker", "clear", "hasMoreOlder", "false")
	// An undo that names nothing leaves its marker.
	newWorld(t).add(ev("context.undo", `{"count":1}`)).want("items/#", "1", "items/0/marker", "undo")
}

// An undo takes interactions anchored to what it removes, and ends what runs.
func TestUndoOpen(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{"prompt":"p"}`), ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`),
		ev("interaction.request", `{"id":"i","kind":"approval","toolCallId":"c"}`), ev("interaction.request", `{"id":"j","kind":"question"}`),
		ev("task.started", `{"info":{"taskId":"k","kind":"process","toolCallId":"c"}}`), ev("assistant.delta", `{"delta":"x"}`),
		ev("context.undo", `{"count":1}`),
	).want("items/#", "1", "interactions/i", "", "interactions/j/state", "pending", "tasks/k/state", "running")
	if i := w.live.Info(); i.Pending != 1 || i.Open || i.RunningTool != 0 || i.Turns != 0 {
		t.Errorf("%+v", i)
	}
	w.add(ev("tool.result", `{"toolCallId":"c","output":1}`))
	if w.kinds() != "" {
		t.Errorf("a removed call got %s", w.kinds())
	}
	w.add(ev("task.terminated", `{"info":{"taskId":"k","status":"completed"}}`), ev("assistant.delta", `{"delta":"y"}`)).
		want("items/t1/steps/t1.1/frames/0/text", "y", "tasks/k/state", "completed")
}

// An undo of more than 1,000 ids is told by a reset.
func TestUndoLarge(t *testing.T) {
	b := newBig(t)
	b.add("turn.started", `{"turnId":0,"prompt":"first"}`).add("turn.started", `{"prompt":"second"}`)
	for i := range 990 {
		b.add("hook.result", `{"i":`+strconv.Itoa(i)+`}`)
	}
	for i := range 15 {
		b.add("turn.started", `{"prompt":"`+strconv.Itoa(i)+`"}`)
	}
	b.add("context.undo", `{"count":16}`)
	if got := b.last.Ops[len(b.last.Ops)-2].Kind; got != reducer.OpReset {
		t.Errorf("told by %s", got)
	}
	b.want("items/#", "2", "items/0/turnId", "t0", "hasMoreOlder", "false")
	b.check()
}

// Turns of users and of others that have closed are counted rightly.
func TestUndoClosed(t *testing.T) {
	for _, c := range []struct{ count, gone int }{{10, 40}, {11, 38}, {12, 36}, {20, 20}, {29, 2}, {30, 0}, {31, 0}} {
		b := newBig(t)
		for i := range 60 { // user turns are the even ones
			origin := "user"
			if i%2 == 1 {
				origin = "hook"
			}
			b.add("turn.started", `{"prompt":"p","origin":{"kind":"`+origin+`"}}`).add("turn.ended", `{"reason":"completed"}`)
		}
		b.add("context.undo", `{"count":`+strconv.Itoa(c.count)+`}`)
		if got := b.a.Info().Turns; got != c.gone {
			t.Errorf("undo %d leaves %d turns, want %d", c.count, got, c.gone)
		}
		if c.count > 10 && (len(b.sink.gone) != 1 || b.sink.gone[0] != c.gone) {
			t.Errorf("undo %d: gone %v", c.count, b.sink.gone)
		}
		b.check()
	}
}

// A held turn among closed ones is counted where it stands.
func TestUndoHeldAmongClosed(t *testing.T) {
	for count, left := range map[int]int{20: 40, 30: 30, 31: 29, 50: 10, 59: 1, 60: 0} {
		b := newBig(t)
		for i := range 60 {
			b.add("turn.started", `{"prompt":"p"}`)
			if i == 29 || i == 10 {
				b.add("tool.call.started", `{"toolCallId":"c`+strconv.Itoa(i)+`","name":"X","args":{},"taskId":"k`+strconv.Itoa(i)+`"}`)
			}
			b.add("turn.ended", `{"reason":"completed"}`)
		}
		b.want("items/#", "22", "items/0/turnId", "t10", "items/1/turnId", "t29")
		b.add("context.undo", `{"count":`+strconv.Itoa(count)+`}`)
		if got := b.a.Info().Turns; got != left {
			t.Errorf("undo %d leaves %d turns, want %d", count, got, left)
		}
		b.check()
	}
}
