package fold_test

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// drawBurst draws a stretch of a long log: many turns, steps, markers or big
// values, so that things close.
func drawBurst(t *rapid.T) []string {
	n := rapid.IntRange(1, 40).Draw(t, "burst")
	big := strings.Repeat("x", rapid.SampledFrom([]int{0, 10, 10, 100, 100, 1000, 1000, 1000, 1000, 1000, 700_000}).Draw(t, "size"))
	if len(big) > 1000 {
		n = min(n, 6)
	}
	origin := rapid.SampledFrom([]string{"", `,"origin":{"kind":"hook"}`}).Draw(t, "origin")
	var one []string
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		one = []string{ev("turn.started", `{"prompt":"`+big+`"`+origin+`}`), ev("turn.ended", `{"reason":"completed"}`)}
	case 1:
		one = []string{ev("turn.step.started", `{}`), ev("assistant.delta", `{"delta":"`+big+`"}`), ev("turn.step.completed", `{"usage":{"output":1}}`)}
	case 2:
		one = []string{ev("hook.result", `{"v":"`+big+`"}`)}
	case 3:
		one = []string{ev("tool.call.started", `{"toolCallId":"b#","name":"X","args":{}}`), ev("tool.result", `{"toolCallId":"b#","output":"`+big+`"}`)}
	case 4:
		one = []string{ev("turn.started", `{}`), ev("tool.call.started", `{"toolCallId":"h#","name":"X","args":{},"taskId":"th#"}`), ev("turn.ended", `{"reason":"completed"}`)}
	case 5:
		one = []string{ev("task.started", `{"info":{"taskId":"t#","kind":"process"}}`), ev("shell.output", `{"commandId":"t#","taskId":"t#","update":{"kind":"stdout","text":"`+big+`"}}`), ev("task.terminated", `{"info":{"taskId":"t#","status":"completed"}}`)}
	default:
		one = []string{ev("tool.result", `{"toolCallId":"h#","output":1}`), ev("interaction.request", `{"id":"i#","kind":"question"}`), ev("interaction.resolved", `{"id":"i#","response":1}`)}
	}
	base := rapid.IntRange(0, 30).Draw(t, "base")
	var list []string
	for i := range n {
		for _, line := range one {
			list = append(list, strings.ReplaceAll(line, "#", strconv.Itoa(base+i)))
		}
	}
	return list
}

// TestRandomLongLogs folds logs in which things close. What the sink got and
// what the fold keeps must together be what a reader has who never dropped
// anything, and no checkpoint may matter.
func TestRandomLongLogs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sink := newCollector()
		live := fold.New("s-1", "main", fold.TreeOnly(), fold.WithSink(sink))
		other := fold.New("s-1", "main", fold.TreeOnly())
		reader, late := reducer.NewTranscript("main"), reducer.NewTranscript("main")
		n := rapid.IntRange(1, 14).Draw(rt, "stretches")
		reset := rapid.IntRange(0, n-1).Draw(rt, "reset at")
		seq := uint64(0)
		for i := range n {
			if i == reset {
				late.Apply([]reducer.Op{{Kind: reducer.OpReset, Snapshot: live.Snapshot(-1)}})
			}
			lines := []string{drawEvent(rt, false)}
			if rapid.IntRange(0, 3).Draw(rt, "long") > 0 {
				lines = drawBurst(rt)
			}
			for _, line := range lines {
				seq++
				rec := fold.Record{Seq: seq, StreamSeq: seq, StoredAt: epoch + int64(seq), Data: []byte(line)}
				ops := live.Step(rec).Ops
				if a, b := opsJSON(ops), opsJSON(other.Step(rec).Ops); a != b {
					rt.Fatalf("record %d %.200s: from a checkpoint\n%.2000s\nwithout\n%.2000s", seq, line, b, a)
				}
				if len(ops) > 0 && strings.Contains(opsJSON(ops), "could not be folded") {
					rt.Fatalf("record %d: the fold panicked on %.300s", seq, line)
				}
				if gap := reader.Apply(ops).Gap; gap != nil {
					rt.Fatalf("record %d: gap %+v", seq, *gap)
				}
				if i >= reset && late.Apply(ops).Gap != nil {
					rt.Fatalf("record %d: gap after a reset", seq)
				}
			}
			checkBound(rt, live.Snapshot(-1))
			state := live.Encode()
			if string(other.Encode().Head) != string(state.Head) {
				rt.Fatalf("record %d: the states differ", seq)
			}
			var err error
			if other, err = fold.Decode("s-1", "main", state, fold.TreeOnly()); err != nil {
				rt.Fatal(err)
			}
		}
		kept := live.Snapshot(-1)
		checkKept(rt, kept, reader.Snapshot(-1))
		if n > reset {
			checkKept(rt, kept, late.Snapshot(-1))
		}
		checkSink(rt, sink, kept, reader.Snapshot(-1))
	})
}

// checkSink compares the turns that closed, and those that are kept, with what
// the reader has.
func checkSink(t tester, sink *collector, kept, have *reducer.Snapshot) {
	t.Helper()
	all := map[string]string{}
	put := func(turn *reducer.Turn) {
		c := *turn
		c.Steps = append(append([]*reducer.Step(nil), sink.steps[turn.Ordinal]...), turn.Steps...)
		c.HasMoreSteps = false
		slicesSort(c.Steps)
		all[c.TurnID] = string(c.AppendJSON(nil))
	}
	for _, turn := range sink.turns {
		put(turn)
	}
	for turn := range kept.Turns() {
		put(turn)
	}
	n := 0
	for turn := range have.Turns() {
		n++
		c := *turn
		c.HasMoreSteps = false
		if got := all[c.TurnID]; len(sink.gone) == 0 && got != string(c.AppendJSON(nil)) {
			t.Fatalf("turn %s: sink and fold have\n%.3000s\nthe reader has\n%.3000s", c.TurnID, got, c.AppendJSON(nil))
		}
	}
	if len(sink.gone) == 0 && n != len(all) {
		t.Fatalf("sink and fold have %d turns, the reader has %d", len(all), n)
	}
}

func slicesSort(steps []*reducer.Step) {
	for i := range steps {
		for j := i; j > 0 && steps[j].Ordinal < steps[j-1].Ordinal; j-- {
			steps[j], steps[j-1] = steps[j-1], steps[j]
		}
	}
}

// checkBound: above 4 MiB nothing is kept that could be closed, and of ended
// turns no more than there should be.
func checkBound(t tester, s *reducer.Snapshot) {
	t.Helper()
	free := true // nothing runs that could hold a turn
	for task := range s.Tasks() {
		free = free && task.State != "running"
	}
	for range s.Pending() {
		free = false
	}
	size := len(snapJSON(s))
	var newest *reducer.Turn
	closable := 0
	for turn := range s.Turns() {
		if newest != nil && newest.State != reducer.TurnRunning && !runsTool(newest) {
			closable++
		}
		newest = turn
	}
	if free && closable > 0 && size > keptLimit+1<<16 || free && closable >= 20 {
		t.Fatalf("%d bytes and %d turns are kept that could be closed", size, closable)
	}
}

func runsTool(turn *reducer.Turn) bool {
	for _, s := range turn.Steps {
		for _, f := range s.Frames {
			if f.State == reducer.ToolRunning {
				return true
			}
		}
	}
	return false
}
