package fold_test

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

// TestGrades: whatever grade a reader has, it ends with what the fold keeps,
// as that grade shows it. At block a text that still grows is behind; the last
// event flushes.
func TestGrades(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := fold.New("s-1", "main", fold.TreeOnly())
		readers := map[grade.Grade]*reducer.Transcript{}
		for g := grade.Turn; g <= grade.Delta; g++ {
			readers[g] = reducer.NewTranscript("main")
		}
		lines := []string{}
		for range rapid.IntRange(1, 50).Draw(rt, "events") {
			lines = append(lines, drawEvent(rt, false))
		}
		for i, line := range append(lines, ev("agent.disposed", `{}`)) {
			b := a.Step(fold.Record{Seq: uint64(i + 1), StoredAt: epoch, Data: []byte(line)})
			for g, reader := range readers {
				if gap := reader.Apply(grade.Filter(b.Ops, g)).Gap; gap != nil {
					rt.Fatalf("at %s: gap %+v", g, *gap)
				}
			}
		}
		for g, reader := range readers {
			checkKept(rt, grade.Redact(a.Snapshot(-1), g), grade.Redact(reader.Snapshot(-1), g))
		}
	})
}

// TestJoinedDeltas: joining neighbouring deltas at the publisher gives the
// same tree.
func TestJoinedDeltas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		alone, joined := newWorld(t), newWorld(t)
		alone.t, joined.t = rt, rt
		alone.split, joined.split = false, false
		for range rapid.IntRange(1, 12).Draw(rt, "stretches") {
			typ := rapid.SampledFrom([]string{"assistant.delta", "thinking.delta"}).Draw(rt, "type")
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bc ", `\ud83d`, `\ude00`, "é", `\n`, "日"}), 1, 6).Draw(rt, "parts")
			for _, part := range parts {
				alone.add(ev(typ, `{"delta":"`+part+`"}`, `"timestamp":"2026-01-01T00:00:00Z"`))
			}
			joined.add(ev(typ, `{"delta":"`+strings.Join(parts, "")+`"}`, `"timestamp":"2026-01-01T00:00:00Z"`))
			if rapid.Bool().Draw(rt, "break") {
				step := ev("turn.step.started", `{}`, `"timestamp":"2026-01-01T00:00:00Z"`)
				alone.add(step)
				joined.add(step)
			}
		}
		if a, b := snapJSON(alone.live.Snapshot(-1)), snapJSON(joined.live.Snapshot(-1)); a != b {
			rt.Fatalf("one by one\n%s\njoined\n%s", a, b)
		}
	})
}

// TestFamilies: the same story told live and as facts gives the same tree.
func TestFamilies(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		live, facts := newWorld(t), newWorld(t)
		live.t, facts.t = rt, rt
		live.split, facts.split = false, false
		at := `"timestamp":"2026-01-01T00:00:00Z"`
		calls := 0
		for range rapid.IntRange(1, 4).Draw(rt, "turns") {
			prompt := quoted(rapid.SampledFrom([]string{"do it", "", "é"}).Draw(rt, "prompt"))
			live.add(ev("turn.started", `{"prompt":`+prompt+`}`, at))
			facts.add(ev("message", `{"role":"user","content":`+prompt+`}`, at))
			for range rapid.IntRange(1, 3).Draw(rt, "steps") {
				text, reasoning := quoted(rapid.SampledFrom([]string{"", "text", "more"}).Draw(rt, "text")), quoted(rapid.SampledFrom([]string{"", "why"}).Draw(rt, "reasoning"))
				live.add(ev("turn.step.started", `{}`, at), ev("thinking.message", `{"text":`+reasoning+`}`, at), ev("assistant.message", `{"text":`+text+`}`, at))
				var list, results []string
				for range rapid.IntRange(0, 2).Draw(rt, "calls") {
					calls++
					id := quoted("c" + strconv.Itoa(calls))
					list = append(list, `{"id":`+id+`,"name":"X","arguments":"{\"n\":1}"}`)
					live.add(ev("tool.call.started", `{"toolCallId":`+id+`,"name":"X","args":{"n":1}}`, at))
					results = append(results, id)
				}
				facts.add(ev("message", `{"role":"assistant","content":`+text+`,"metadata":{"reasoning":`+reasoning+`,"tool_calls":[`+strings.Join(list, ",")+`]}}`, at))
				for _, id := range results {
					live.add(ev("tool.result", `{"toolCallId":`+id+`,"output":"out"}`, at))
					facts.add(ev("tool_lifecycle", `{"tool_call_id":`+id+`,"tool_name":"X","status":"started"}`, at), ev("tool_lifecycle", `{"tool_call_id":`+id+`,"status":"completed","result":"out"}`, at),
						ev("message", `{"role":"tool","content":"OUT","metadata":{"tool_call_id":`+id+`}}`, at))
				}
			}
			live.add(ev("turn.ended", `{"reason":"completed"}`, at))
			facts.add(ev("terminal", `{"reason":"completed"}`, at))
		}
		if a, b := snapJSON(live.live.Snapshot(-1)), snapJSON(facts.live.Snapshot(-1)); a != b {
			rt.Fatalf("live\n%s\nfacts\n%s", a, b)
		}
	})
}
