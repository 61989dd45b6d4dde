package protocol

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/opgen"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

func opsOf(t testing.TB, list ...string) []reducer.Op {
	t.Helper()
	ops, err := reducer.DecodeOps([]byte("[" + strings.Join(list, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

func appendTo(turn, frame string, offset int, text string) string {
	return fmt.Sprintf(`{"op":"append","target":{"type":"frame","turnId":%q,"stepId":"%s.1","frameId":%q},"offset":%d,"text":%q}`,
		turn, turn, frame, offset, text)
}

func text(turn, frame, text string) string {
	return fmt.Sprintf(`{"op":"frame.upsert","turnId":%q,"stepId":"%s.1","frame":{"kind":"text","frameId":%q,"role":"assistant","text":%q}}`,
		turn, turn, frame, text)
}

func marker(id, payload string) string {
	return `{"op":"marker.upsert","item":{"kind":"marker","markerId":"` + id + `","marker":"goal","payload":` + payload + `}}`
}

func tail(task string, offset int, text string) string {
	return fmt.Sprintf(`{"op":"append","target":{"type":"task","taskId":%q},"offset":%d,"text":%q}`, task, offset, text)
}

func task(id, output string) string {
	return fmt.Sprintf(`{"op":"task.upsert","task":{"taskId":%q,"kind":"shell","state":"running","detached":false,"outputTail":%q}}`, id, output)
}

// TestMerge has the lines W1 to W6 of the conformance list as they apply to
// merged transcript batches.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		id      string
		in      [][]string
		want    []string
		seq     uint64
		prevSeq uint64
	}{
		{
			id: "W1a adjacent appends become one", in: [][]string{{appendTo("t1", "f", 3, "ab")}, {appendTo("t1", "f", 5, "cd")}, {appendTo("t1", "f", 7, "e")}},
			want: []string{appendTo("t1", "f", 3, "abcde")},
		},
		{
			id: "W1a also with others between", in: [][]string{{appendTo("t1", "f", 3, "ab"), tail("k", 0, "x")}, {appendTo("t1", "f", 5, "cd"), tail("k", 1, "y")}},
			want: []string{appendTo("t1", "f", 3, "abcd"), tail("k", 0, "xy")},
		},
		{
			id: "W1b not across what acts on everything", in: [][]string{{appendTo("t1", "f", 3, "ab")}, {`{"op":"items.remove","ids":["x"]}`}, {appendTo("t1", "f", 5, "cd")}},
			want: []string{appendTo("t1", "f", 3, "ab"), `{"op":"items.remove","ids":["x"]}`, appendTo("t1", "f", 5, "cd")},
		},
		{
			id: "W2 text and thinking stay apart", in: [][]string{{appendTo("t1", "f", 0, "a")}, {appendTo("t1", "g", 0, "b")}},
			want: []string{appendTo("t1", "f", 0, "a"), appendTo("t1", "g", 0, "b")},
		},
		{
			id: "W3 another turn stays apart", in: [][]string{{appendTo("t1", "f", 0, "a")}, {appendTo("t2", "f", 1, "b")}},
			want: []string{appendTo("t1", "f", 0, "a"), appendTo("t2", "f", 1, "b")},
		},
		{
			id: "W3 an offset that does not follow stays apart", in: [][]string{{appendTo("t1", "f", 0, "a")}, {appendTo("t1", "f", 4, "b")}},
			want: []string{appendTo("t1", "f", 0, "a"), appendTo("t1", "f", 4, "b")},
		},
		{
			id: "W4 what is not text stays as it is", in: [][]string{{marker("m1", "1")}, {text("t1", "f", "x"), marker("m2", "2")}},
			want: []string{marker("m1", "1"), text("t1", "f", "x"), marker("m2", "2")},
		},
		{id: "W6 nothing", in: [][]string{}, want: []string{}},
		{id: "W6 one batch", in: [][]string{{appendTo("t1", "f", 3, "ab")}}, want: []string{appendTo("t1", "f", 3, "ab")}},
		{
			id: "a later upsert takes the first one's place", in: [][]string{{marker("m1", "1"), marker("m2", "2")}, {marker("m1", "3")}},
			want: []string{marker("m1", "3"), marker("m2", "2")},
		},
		{
			id: "an upsert makes up for appends", in: [][]string{{appendTo("t1", "f", 3, "ab"), marker("m", "1"), appendTo("t1", "f", 5, "cd")}, {text("t1", "f", "xyzabcd")}},
			want: []string{marker("m", "1"), text("t1", "f", "xyzabcd")},
		},
		{
			id: "an upsert, appends and the upsert at the end", in: [][]string{{text("t1", "f", ""), marker("m", "1"), appendTo("t1", "f", 0, "cd")}, {text("t1", "f", "cd")}},
			want: []string{text("t1", "f", "cd"), marker("m", "1")},
		},
		{
			id: "an append that makes a task", in: [][]string{{tail("k", 0, "a"), task("l", "")}, {task("k", "ab")}},
			want: []string{task("k", "ab"), task("l", "")},
		},
		{
			id: "a reset makes up for everything", in: [][]string{{marker("m1", "1")}, {`{"op":"reset","agentId":"a","snapshot":{"items":[]}}`, marker("m2", "2")}},
			want: []string{`{"op":"reset","agentId":"a","snapshot":{"items":[]}}`, marker("m2", "2")},
		},
	} {
		t.Run(c.id, func(t *testing.T) {
			var batches []Batch
			var before []string
			for i, list := range c.in {
				batches = append(batches, Batch{Seq: uint64(10 + 2*i), PrevSeq: uint64(8 + 2*i), Ops: opsOf(t, list...)})
				before = append(before, string(reducer.AppendOps(nil, batches[i].Ops)))
			}
			got := Merge(batches)
			if a, b := string(reducer.AppendOps(nil, got.Ops)), string(reducer.AppendOps(nil, opsOf(t, c.want...))); a != b {
				t.Fatalf("%s\nwant %s", a, b)
			}
			if n := len(batches); n > 0 && (got.Seq != batches[n-1].Seq || got.PrevSeq != batches[0].PrevSeq) {
				t.Fatalf("seq %d, prev_seq %d", got.Seq, got.PrevSeq)
			}
			for i := range batches {
				if string(reducer.AppendOps(nil, batches[i].Ops)) != before[i] {
					t.Fatalf("batch %d changed", i)
				}
			}
		})
	}
}

// TestMergeKeepsItsInput: the operations of a ring are shared by connections.
func TestMergeKeepsItsInput(t *testing.T) {
	t.Run("W5 input objects", func(t *testing.T) {
		list := []string{
			`{"op":"meta.merge","meta":{"agent":{"model":"a"}}}`, `{"op":"meta.merge","meta":{"agent":{"model":"b"}}}`,
			appendTo("t1", "f", 0, "a"), appendTo("t1", "f", 1, "b"), text("t1", "f", "ab"),
			`{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1,"state":"running","origin":{"kind":"user"},"hasMoreSteps":true}}`,
			`{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1,"state":"completed","origin":{"kind":"user"}}}`,
		}
		batches := []Batch{{Seq: 1, Ops: opsOf(t, list...)}}
		Merge(batches)
		if !reflect.DeepEqual(batches[0].Ops, opsOf(t, list...)) {
			t.Fatal("changed")
		}
	})
}

// TestMergeLeavesTheSameState merges batches of random logs, at each grade,
// from a random place on.
func TestMergeLeavesTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clean := rapid.Bool().Draw(t, "clean")
		ops := opgen.Log(draws{t}, 60, opgen.Options{Clean: clean, OwnOrdinals: true})
		if !clean {
			ops = withoutGaps(ops)
		}
		g := rapid.SampledFrom([]grade.Grade{grade.Turn, grade.Block, grade.Delta}).Draw(t, "grade")
		at := rapid.IntRange(0, len(ops)).Draw(t, "at")
		one, two := reducer.NewTranscript("main"), reducer.NewTranscript("main")
		one.Apply(grade.Filter(ops[:at], g))
		two.Apply(grade.Filter(ops[:at], g))
		var batches []Batch
		for i, op := range ops[at:] {
			batches = append(batches, Batch{Seq: uint64(i + 1), PrevSeq: uint64(i), Ops: grade.Filter([]reducer.Op{op}, g)})
		}
		one.Apply(grade.Filter(ops[at:], g))
		merged := Merge(batches)
		two.Apply(merged.Ops)
		got, want := string(two.Snapshot(-1).AppendJSON(nil)), string(one.Snapshot(-1).AppendJSON(nil))
		if got != want {
			t.Fatalf("%s\nbecame %s\n%s\nwant\n%s", reducer.AppendOps(nil, ops[at:]), reducer.AppendOps(nil, merged.Ops), got, want)
		}
	})
}

// withoutGaps leaves out the appends that do not fit.
func withoutGaps(ops []reducer.Op) []reducer.Op {
	tr := reducer.NewTranscript("main")
	var out []reducer.Op
	for _, op := range ops {
		if tr.Apply([]reducer.Op{op}).Gap == nil {
			out = append(out, op)
		}
	}
	return out
}

func BenchmarkMerge(b *testing.B) {
	var batches []Batch
	offset := 0
	for i := range 1000 {
		op := reducer.Op{Kind: reducer.OpAppend, Target: reducer.Target{TurnID: "t1", StepID: "t1.1", FrameID: "f"}, Offset: offset, Text: "some words "}
		offset += len(op.Text)
		batches = append(batches, Batch{Seq: uint64(i + 1), PrevSeq: uint64(i), Ops: []reducer.Op{op}})
	}
	b.ReportAllocs()
	for b.Loop() {
		Merge(batches)
	}
}

// draws lets rapid decide what opgen generates, and shrink it.
type draws struct{ *rapid.T }

func (d draws) Int(most int) int { return rapid.IntRange(0, most).Draw(d.T, "draw") }
