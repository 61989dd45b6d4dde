package reducer_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/opgen"
	"github.com/stenohq/steno/internal/schematest"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

func state(t *reducer.Transcript) string { return string(t.Snapshot(-1).AppendJSON(nil)) }

func applyAll(tr *reducer.Transcript, ops []reducer.Op) *reducer.Transcript {
	tr.Apply(ops)
	return tr
}

// TestReference compares every step with the plain implementation.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, ref := reducer.NewTranscript("main"), &reference{}
		for i, op := range opgen.Log(draws{t}, 40, opgen.Options{}) {
			res := tr.Apply([]reducer.Op{op})
			changed, gap := ref.apply(&op)
			if (len(res.Accepted) == 1) != changed || (res.Gap != nil) != gap {
				t.Fatalf("op %d %s: accepted %v gap %v, want %v %v", i, op.AppendJSON(nil), res.Accepted, res.Gap, changed, gap)
			}
			if rapid.IntRange(0, 3).Draw(t, "look") == 0 { // a snapshot also freezes
				if got, want := state(tr), ref.json(false); got != want {
					t.Fatalf("op %d %s:\n%s\nwant\n%s", i, op.AppendJSON(nil), got, want)
				}
			}
		}
		if got, want := state(tr), ref.json(false); got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
	})
}

// TestBatching: how operations are cut into batches does not matter.
func TestBatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := opgen.Log(draws{t}, 40, opgen.Options{})
		one := applyAll(reducer.NewTranscript("main"), ops)
		two := reducer.NewTranscript("main")
		for rest := ops; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			two.Apply(rest[:n])
			rest = rest[n:]
		}
		if state(one) != state(two) {
			t.Fatalf("%s\n%s", state(one), state(two))
		}
	})
}

func TestIdempotence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := reducer.NewTranscript("main")
		for _, op := range opgen.Log(draws{t}, 40, opgen.Options{}) {
			tr.Apply([]reducer.Op{op})
			if op.Kind == reducer.OpAppend {
				continue
			}
			before := state(tr)
			res := tr.Apply([]reducer.Op{op})
			if n := len(res.Accepted); n != 0 && op.Kind != reducer.OpReset || n == 0 && op.Kind == reducer.OpReset {
				t.Fatalf("second %s: accepted %v", op.AppendJSON(nil), res.Accepted)
			}
			if state(tr) != before {
				t.Fatalf("second %s changed the state", op.AppendJSON(nil))
			}
		}
	})
}

// TestSnapshotsStay: neither later operations nor a transcript that was reset
// to a snapshot change it.
func TestSnapshotsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := opgen.Log(draws{t}, 60, opgen.Options{})
		tr := reducer.NewTranscript("main")
		var snaps []*reducer.Snapshot
		var texts []string
		others := []*reducer.Transcript{}
		keep := func(s *reducer.Snapshot) {
			snaps, texts = append(snaps, s), append(texts, string(s.AppendJSON(nil)))
		}
		for _, op := range ops {
			tr.Apply([]reducer.Op{op})
			for _, o := range others {
				o.Apply([]reducer.Op{op})
			}
			switch rapid.IntRange(0, 9).Draw(t, "snapshot") {
			case 0, 1:
				keep(tr.Snapshot(-1))
			case 2:
				keep(tr.Snapshot(rapid.IntRange(0, 3).Draw(t, "tail")))
			case 3:
				others = append(others, tr.Clone())
			case 4:
				if len(snaps) > 0 {
					s := rapid.SampledFrom(snaps).Draw(t, "of")
					others = append(others, applyAll(reducer.NewTranscript("main"), []reducer.Op{{Kind: reducer.OpReset, Snapshot: s}}))
				}
			}
		}
		for i, s := range snaps {
			if got := string(s.AppendJSON(nil)); got != texts[i] {
				t.Fatalf("snapshot %d became\n%s\nwas\n%s", i, got, texts[i])
			}
			var items []string
			for it := range s.Items() {
				items = append(items, string(it.AppendJSON(nil)))
			}
			if want := `"items":[` + strings.Join(items, ",") + `],"tasks"`; !strings.Contains(texts[i], want) {
				t.Fatalf("a walk gives\n%s\nthe snapshot is\n%s", want, texts[i])
			}
		}
	})
}

// TestResetInTheMiddle: going on from a snapshot, or from its JSON, is going
// on.
func TestResetInTheMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clean := rapid.Bool().Draw(t, "clean")
		ops := opgen.Log(draws{t}, 60, opgen.Options{Clean: clean})
		at := rapid.IntRange(0, len(ops)).Draw(t, "at")
		tr := applyAll(reducer.NewTranscript("main"), ops[:at])
		s := tr.Snapshot(-1)
		starts := []*reducer.Snapshot{s}
		if clean { // a half does not survive JSON
			decoded, err := reducer.DecodeSnapshot(s.AppendJSON(nil))
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, decoded)
		}
		accepted := slices.Clone(tr.Apply(ops[at:]).Accepted)
		for i, start := range starts {
			other := applyAll(reducer.NewTranscript("main"), []reducer.Op{{Kind: reducer.OpReset, AgentID: "main", Snapshot: start}})
			if got := other.Apply(ops[at:]).Accepted; !slices.Equal(got, accepted) {
				t.Fatalf("start %d: accepted %v, want %v", i, got, accepted)
			}
			if state(other) != state(tr) {
				t.Fatalf("start %d:\n%s\nwant\n%s", i, state(other), state(tr))
			}
		}
	})
}

// TestRoundTrip: what is decoded again is the same value and the same bytes,
// and everything that is encoded is as the schema has it.
func TestRoundTrip(t *testing.T) {
	operation := schematest.Load(t, "operations")
	snapshot := schematest.Load(t, "snapshot")
	rapid.Check(t, func(t *rapid.T) {
		clean := rapid.Bool().Draw(t, "clean")
		ops := opgen.Log(draws{t}, 20, opgen.Options{Clean: clean})
		data := reducer.AppendOps(nil, ops)
		if err := operation.Validate(data); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		again, err := reducer.DecodeOps(data)
		if err != nil {
			t.Fatal(err)
		}
		if got := reducer.AppendOps(nil, again); string(got) != string(data) {
			t.Fatalf("%s\nbecame\n%s", data, got)
		}
		for i := range ops {
			if clean && !reflect.DeepEqual(ops[i], again[i]) {
				t.Fatalf("%+v\nbecame\n%+v", ops[i], again[i])
			}
		}
		tr := applyAll(reducer.NewTranscript("main"), ops)
		text := state(tr)
		if err := snapshot.Validate([]byte(text)); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		s, err := reducer.DecodeSnapshot([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(s.AppendJSON(nil)); got != text {
			t.Fatalf("%s\nbecame\n%s", text, got)
		}
		if clean {
			if other := state(applyAll(reducer.NewTranscript("main"), again)); other != text {
				t.Fatalf("applied again after decoding: %s\nwant %s", other, text)
			}
		}
	})
}

// flush sends every growing text whole, as the end of a step does.
func flush(s *reducer.Snapshot) []reducer.Op {
	var ops []reducer.Op
	for turn := range s.Turns() {
		for _, step := range turn.Steps {
			for _, f := range step.Frames {
				ops = append(ops, reducer.Op{Kind: reducer.OpFrameUpsert, TurnID: turn.TurnID, StepID: step.StepID, Frame: f})
			}
		}
	}
	for k := range s.Tasks() {
		ops = append(ops, reducer.Op{Kind: reducer.OpTaskUpsert, Task: k})
	}
	return ops
}

// kept is the client's state with no more interactions than the server holds,
// in its order: below block a client does not know which tool calls a removed
// turn had.
func kept(client, server *reducer.Snapshot) *reducer.Snapshot {
	mine := map[string]*reducer.Interaction{}
	for i := range client.Interactions() {
		mine[i.InteractionID] = i
	}
	p := reducer.Parts{
		Items: slices.Collect(client.Items()), Tasks: slices.Collect(client.Tasks()), Attachments: slices.Collect(client.Attachments()),
		Todos: slices.Collect(client.Todos()), Prompts: slices.Collect(client.Prompts()), Meta: client.Meta(),
	}
	for i := range server.Interactions() {
		if v := mine[i.InteractionID]; v != nil {
			p.Interactions = append(p.Interactions, v)
		}
	}
	return reducer.NewSnapshot(p)
}

// TestGrades: at every grade a subscriber ends with what that grade shows.
func TestGrades(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := opgen.Log(draws{t}, 60, opgen.Options{Clean: true})
		full := applyAll(reducer.NewTranscript("main"), ops)
		ops = append(ops, flush(full.Snapshot(-1))...)
		for g := grade.Turn; g <= grade.Delta; g++ {
			client := applyAll(reducer.NewTranscript("main"), grade.Filter(ops, g))
			got := string(grade.Redact(kept(client.Snapshot(-1), full.Snapshot(-1)), g).AppendJSON(nil))
			if want := string(grade.Redact(full.Snapshot(-1), g).AppendJSON(nil)); got != want {
				t.Fatalf("grade %v: %s\nwant %s", g, got, want)
			}
		}
	})
}

// TestGradeChange: a raise with its reset and a drop without one end alike.
func TestGradeChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := opgen.Log(draws{t}, 60, opgen.Options{Clean: true})
		server, client := reducer.NewTranscript("main"), reducer.NewTranscript("main")
		g := grade.Delta
		step := func(op reducer.Op) {
			server.Apply([]reducer.Op{op})
			client.Apply(grade.Filter([]reducer.Op{op}, g))
		}
		for _, op := range ops {
			step(op)
			next := rapid.SampledFrom([]grade.Grade{g, g, g, grade.Turn, grade.Block, grade.Delta}).Draw(t, "grade")
			if grade.NeedsReset(g, next) {
				s := grade.Redact(server.Snapshot(-1), next)
				client.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: "main", Snapshot: s}})
			}
			g = next
		}
		for _, op := range flush(server.Snapshot(-1)) {
			step(op)
		}
		got := string(grade.Redact(kept(client.Snapshot(-1), server.Snapshot(-1)), g).AppendJSON(nil))
		if want := string(grade.Redact(server.Snapshot(-1), g).AppendJSON(nil)); got != want {
			t.Fatalf("grade %v: %s\nwant %s", g, got, want)
		}
	})
}

// TestSplitSurrogates: a text cut anywhere, also inside pairs, and sent as
// JSON, arrives whole.
func TestSplitSurrogates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "😀", "é", "€", "😀😀", "\uFFFD", "𝄞x"})).Draw(t, "text"), "")
		all := utf16.Encode([]rune(text))
		tr := reducer.NewTranscript("main")
		for at := 0; at < len(all); {
			n := rapid.IntRange(1, min(4, len(all)-at)).Draw(t, "n")
			back := rapid.IntRange(0, min(at, 3)).Draw(t, "repeated")
			op := reducer.Op{Kind: reducer.OpAppend, Target: reducer.Target{TaskID: "k"}, Offset: at - back, Text: wtf8(all[at-back : at+n])}
			decoded, err := reducer.DecodeOps(reducer.AppendOps(nil, []reducer.Op{op}))
			if err != nil {
				t.Fatal(err)
			}
			if res := tr.Apply(decoded); res.Gap != nil || len(res.Accepted) != 1 {
				t.Fatalf("at %d: %+v", at, res)
			}
			at += n
			for k := range tr.Snapshot(-1).Tasks() {
				if got := reducer.UTF16Len(k.OutputTail); got != at {
					t.Fatalf("length %d, want %d", got, at)
				}
			}
		}
		for k := range tr.Snapshot(-1).Tasks() {
			if k.OutputTail != text {
				t.Fatalf("%q, want %q", k.OutputTail, text)
			}
		}
	})
}

// wtf8 writes code units, halves that stay alone as three bytes.
func wtf8(u []uint16) string {
	var b []byte
	for i := 0; i < len(u); i++ {
		r := rune(u[i])
		if utf16.IsSurrogate(r) {
			if i+1 < len(u) {
				if full := utf16.DecodeRune(r, rune(u[i+1])); full != 0xFFFD {
					b = append(b, string(full)...)
					i++
					continue
				}
			}
			b = append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			continue
		}
		b = append(b, string(r)...)
	}
	return string(b)
}

// draws lets rapid decide what opgen generates, and shrink it.
type draws struct{ *rapid.T }

func (d draws) Int(most int) int { return rapid.IntRange(0, most).Draw(d.T, "draw") }
