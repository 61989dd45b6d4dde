package grade

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/reducer"
)

func kinds(ops []reducer.Op) string {
	var out []string
	for i := range ops {
		out = append(out, string(ops[i].Kind))
	}
	return strings.Join(out, " ")
}

func opsOf(list ...reducer.OpKind) []reducer.Op {
	var ops []reducer.Op
	for _, k := range list {
		ops = append(ops, reducer.Op{Kind: k})
	}
	return ops
}

func TestFilter(t *testing.T) {
	mixed := opsOf(reducer.OpTurnUpsert, reducer.OpStepUpsert, reducer.OpFrameUpsert, reducer.OpAppend,
		reducer.OpPromptUpsert, reducer.OpMetaMerge)
	for _, c := range []struct {
		id   string
		g    Grade
		ops  []reducer.Op
		want string
	}{
		{"L1 off", Off, mixed, ""},
		{"L1 off, every kind", Off, opsOf(reducer.OpKinds()...), ""},
		{"L2 turn", Turn, mixed, "turn.upsert prompt.upsert meta.merge"},
		{"L3 block", Block, mixed, "turn.upsert step.upsert frame.upsert prompt.upsert meta.merge"},
		{"L4 delta", Delta, mixed, kinds(mixed)},
		{"L4 delta, every kind", Delta, opsOf(reducer.OpKinds()...), kinds(opsOf(reducer.OpKinds()...))},
		{"reset inside a batch at turn", Turn, opsOf(reducer.OpReset, reducer.OpAppend), "reset"},
		{"append-only batch at block", Block, opsOf(reducer.OpAppend), ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := kinds(Filter(c.ops, c.g)); got != c.want {
				t.Fatalf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSpecOf(t *testing.T) {
	t.Run("L5 wildcard and name", func(t *testing.T) {
		s := Spec{"*": Turn, "main": Delta}
		if s.Of("main") != Delta || s.Of("sub-1") != Turn || Spec(nil).Of("main") != Off {
			t.Fatal(s.Of("main"), s.Of("sub-1"), Spec(nil).Of("main"))
		}
	})
}

func TestNeedsReset(t *testing.T) {
	t.Run("L6 raise and drop", func(t *testing.T) {
		for from := Off; from <= Delta; from++ {
			for to := Off; to <= Delta; to++ {
				if got := NeedsReset(from, to); got != (to > from) {
					t.Errorf("%v to %v: %v", from, to, got)
				}
			}
		}
	})
}

func TestDetach(t *testing.T) {
	for _, c := range []struct {
		id     string
		spec   Spec
		agents []string
		want   Spec
	}{
		{"L7 explicit off", Spec{"*": Delta}, []string{"main"}, Spec{"*": Delta, "main": Off}},
		{"L7 named before", Spec{"*": Turn, "main": Delta}, []string{"main"}, Spec{"*": Turn, "main": Off}},
		{"L8 the wildcard", Spec{"*": Delta, "main": Turn}, []string{"*"}, Spec{"main": Turn}},
		{"L9 only off is left", Spec{"main": Delta}, []string{"main"}, nil},
		{"L9 the wildcard beside off", Spec{"*": Delta, "main": Off}, []string{"*"}, nil},
		{"L9 nothing", nil, []string{"main"}, nil},
	} {
		t.Run(c.id, func(t *testing.T) {
			before := maps.Clone(c.spec)
			got := c.spec.Detach(c.agents...)
			if !maps.Equal(got, c.want) || (got == nil) != (c.want == nil) {
				t.Fatalf("%v, want %v", got, c.want)
			}
			if !maps.Equal(before, c.spec) {
				t.Fatal("the spec itself changed")
			}
		})
	}
}

func TestAppendOnly(t *testing.T) {
	t.Run("L10 append-only", func(t *testing.T) {
		if !AppendOnly(opsOf(reducer.OpAppend)) || AppendOnly(opsOf(reducer.OpAppend, reducer.OpFrameUpsert)) || AppendOnly(nil) {
			t.Fatal("wrong")
		}
	})
}

const everything = `{"items":[
	{"kind":"turn","turnId":"t1","ordinal":1,"state":"running","origin":{"kind":"user"},"prompt":"hi","steps":[
		{"kind":"step","stepId":"t1.1","turnId":"t1","ordinal":1,"state":"running","frames":[{"kind":"thinking","frameId":"f","text":"x"}]}]},
	{"kind":"marker","markerId":"m1","marker":"goal"}],
	"interactions":[{"interactionId":"i","interactionKind":"approval","state":"pending"}],
	"attachments":[{"attachmentId":"a","mediaType":"image/png"}],
	"todos":[{"todoId":"todo","items":[]}],
	"prompts":[{"promptId":"p","status":"queued","createdAt":"2026-01-01T00:00:00.000Z"}]}`

func TestRedact(t *testing.T) {
	s, err := reducer.DecodeSnapshot([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("L11 steps go below block", func(t *testing.T) {
		got := string(Redact(s, Turn).AppendJSON(nil))
		full := string(s.AppendJSON(nil))
		at, end := strings.Index(full, `"steps":[`), strings.Index(full, `,{"kind":"marker"`)
		if want := full[:at] + `"steps":[]}` + full[end:]; got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
		if Redact(s, Block) != s || Redact(s, Delta) != s {
			t.Fatal("not the same snapshot at block and delta")
		}
		for turn := range Redact(s, Turn).Turns() {
			if len(turn.Steps) != 0 {
				t.Fatal("a walk shows steps")
			}
		}
	})
}

func TestNames(t *testing.T) {
	for g := Off; g <= Delta; g++ {
		if got, err := Parse(g.String()); err != nil || got != g {
			t.Errorf("%v: %v %v", g, got, err)
		}
	}
	t.Run("L20 grade stream", func(t *testing.T) {
		for _, bad := range []string{"stream", "", "OFF", "delta "} {
			if _, err := Parse(bad); err == nil {
				t.Errorf("%q accepted", bad)
			}
		}
		if _, err := DecodeSpec([]byte(`{"main":"stream"}`)); err == nil || !strings.Contains(err.Error(), `"stream"`) {
			t.Error(err)
		}
	})
}

func FuzzDecodeSpec(f *testing.F) {
	f.Add([]byte(`{"*":"turn","main":"delta"}`))
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSpec(data)
		if err != nil {
			return
		}
		again, err := DecodeSpec(s.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(again) > len(s) || !slices.Equal(again.AppendJSON(nil), s.AppendJSON(nil)) && !strings.Contains(string(data), `\u`) {
			t.Fatalf("%v became %v", s, again)
		}
	})
}
