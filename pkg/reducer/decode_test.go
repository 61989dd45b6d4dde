package reducer

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/schematest"
	"github.com/stenohq/steno/pkg/events"
)

var update = flag.Bool("update", false, "write testdata files anew")

// TestDecodeEveryOperation reads testdata/ops.jsonl, which has every kind of
// operation with every member set, and writes it back byte for byte.
func TestDecodeEveryOperation(t *testing.T) {
	const name = "testdata/ops.jsonl"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	schema := schematest.Load(t, "operation")
	seen := map[OpKind]bool{}
	var out []byte
	for line := range strings.Lines(string(data)) {
		ops, err := DecodeOps([]byte("[" + line + "]"))
		if err != nil {
			t.Fatal(err)
		}
		seen[ops[0].Kind] = true
		text := ops[0].AppendJSON(nil)
		schema.Check(t, text)
		out = append(append(out, text...), '\n')
		if string(text)+"\n" != line && !*update {
			t.Errorf("%s\nbecame\n%s", line, text)
		}
	}
	t.Run("L18 every kind", func(t *testing.T) {
		for _, k := range OpKinds() {
			if !seen[k] {
				t.Errorf("no %s in %s", k, name)
			}
		}
	})
	if *update {
		if err := os.WriteFile(name, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDecodeKeepsDetail(t *testing.T) {
	t.Run("L19 opaque detail", func(t *testing.T) {
		const detail = `{"n":12345678901234567890,"big":1e400,"dup":1,"dup":2,"s":"\ud83d\u0000<&>","deep":` + "[[[[]]]]" + ` , "x" : null }`
		text := `{"op":"frame.upsert","turnId":"t1","stepId":"t1.1","frame":{"kind":"tool","frameId":"f","toolCallId":"c","name":"n","state":"done","input":` +
			detail + `,"output":` + detail + `,"display":` + detail + `,"unknown":{"a":[1]}}}`
		ops := decodeOps(t, text)
		f := ops[0].Frame
		if string(f.Input) != detail || string(f.Output) != detail || string(f.Display) != detail {
			t.Fatalf("%s", f.Input)
		}
		if got := string(ops[0].AppendJSON(nil)); strings.Count(got, detail) != 3 {
			t.Fatalf("%s", got)
		}
	})
}

func TestAgentIDs(t *testing.T) {
	schema := schematest.Load(t, "agent")
	for name, ids := range map[string][]string{
		"L21 accepted": {"main", "sub-1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "a.b_c-D", strings.Repeat("x", 128)},
		"L21 refused":  {"", ".", "..", "../main", `..\main`, "a/b", `a\b`, "a\x00b", strings.Repeat("x", 200), "a b", "ä", "x*"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range ids {
				want := strings.HasSuffix(name, "accepted")
				_, err := events.ParseAgentID(id)
				d := AgentDescriptor{AgentID: id}
				if (err == nil) != want || (schema.Validate(d.AppendJSON(nil)) == nil) != want {
					t.Errorf("%q: %v, schema %v", id, err, schema.Validate(d.AppendJSON(nil)))
				}
			}
		})
	}
}

// TestDecodeRefuses: the error names the value, and nothing is returned.
func TestDecodeRefuses(t *testing.T) {
	for text, path := range map[string]string{
		`{`:                                  "ops",
		`[1]`:                                "ops[0]",
		`[{}]`:                               "ops[0]",
		`[{"op":"turn.delete"}]`:             "ops[0].op",
		`[{"op":"turn.upsert"}]`:             "ops[0]",
		`[{"op":"turn.upsert","turn":null}]`: "ops[0]",
		`[{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1,"state":"waiting","origin":{"kind":"user"}}}]`:               "ops[0].turn.state",
		`[{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":-1,"state":"running","origin":{"kind":"user"}}}]`:              "ops[0].turn.ordinal",
		`[{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1.5,"state":"running","origin":{"kind":"user"}}}]`:             "ops[0].turn.ordinal",
		`[{"op":"turn.upsert","turn":{"turnId":"","ordinal":1,"state":"running","origin":{"kind":"user"}}}]`:                 "ops[0].turn.turnId",
		`[{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1,"state":"running","origin":{"kind":"user"},"error":1}}]`:     "ops[0].turn.error",
		`[{"op":"step.upsert","turnId":"t1","step":{"stepId":"s","turnId":"t","ordinal":1,"state":"running","cost":1e999}}]`: "ops[0].step.cost",
		`[{"op":"frame.upsert","turnId":"t1","stepId":"s","frame":{"kind":"text","frameId":"f","text":"x"}}]`:                "ops[0].frame",
		`[{"op":"frame.upsert","turnId":"t1","stepId":"s","frame":{"kind":"image","frameId":"f"}}]`:                          "ops[0].frame.kind",
		`[{"op":"append","target":{"type":"task"},"offset":0,"text":""}]`:                                                    "ops[0].target",
		`[{"op":"append","target":{"type":"frame","turnId":"t"},"offset":0,"text":""}]`:                                      "ops[0].target",
		`[{"op":"append","target":{"type":"task","taskId":"k"},"offset":"0","text":""}]`:                                     "ops[0].offset",
		`[{"op":"items.remove","ids":["a",1]}]`:                                                                              "ops[0].ids[1]",
		`[{"op":"meta.merge","meta":{"activity":"asleep"}}]`:                                                                 "ops[0].meta.activity",
		`[{"op":"meta.merge","meta":{"agent":{"phase":{"kind":"running","turnId":1}}}}]`:                                     "ops[0].meta.agent.phase",
		`[{"op":"reset","agentId":"a","snapshot":{"items":[{"kind":"note"}]}}]`:                                              "ops[0].snapshot.items[0].kind",
		`[{"op":"items.remove","ids":[]},{"op":"items.remove","ids":[]}`:                                                     "ops",
	} {
		ops, err := DecodeOps([]byte(text))
		var d *DecodeError
		if !errors.As(err, &d) || d.Path != path || d.Problem == "" || ops != nil {
			t.Errorf("%s: %v, want an error at %s", text, err, path)
		}
	}
}

// TestDecodeNull: null is absence, but for the patches of meta.
func TestDecodeNull(t *testing.T) {
	ops := decodeOps(t, `{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1,"state":"running","origin":{"kind":"user","payload":null},"prompt":null,"usage":null,"attachmentIds":null,"steps":[{"bad":1}]}}`)
	if got, want := string(ops[0].AppendJSON(nil)), `{"op":"turn.upsert","turn":{"kind":"turn","turnId":"t1","ordinal":1,"state":"running","origin":{"kind":"user"}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDecodeCopies: what was decoded does not change with its input.
func TestDecodeCopies(t *testing.T) {
	data, err := os.ReadFile("testdata/ops.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("[" + strings.Join(strings.Split(strings.TrimSpace(string(data)), "\n"), ",") + "]")
	ops, err := DecodeOps(text)
	if err != nil {
		t.Fatal(err)
	}
	before := string(AppendOps(nil, ops))
	for i := range text {
		text[i] = 'x'
	}
	if string(AppendOps(nil, ops)) != before {
		t.Error("changed with the input")
	}
}
