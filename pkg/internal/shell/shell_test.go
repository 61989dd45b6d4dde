package shell_test

import (
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/internal/shell"
)

// check reads a value level by level; it is scan.Check without its limit.
func check(raw []byte, depth int) error {
	switch scan.KindOf(raw) {
	case scan.Object:
		m := shell.ObjectOf(raw)
		for m.Next() {
			m.Key()
			if err := check(m.Value(), depth+1); err != nil {
				return err
			}
		}
		return m.Err()
	case scan.Array:
		a := shell.ArrayOf(raw)
		for a.Next() {
			if err := check(a.Value(), depth+1); err != nil {
				return err
			}
		}
		return a.Err()
	default:
		return scan.Check(raw)
	}
}

func FuzzWalk(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` { "a" : [ 1 , "x\"]" , {"b":null} ] , "a" : "\\" } `, `{"a":1,}`, `[1,]`, `[,1]`, `{"a":[}]`, `{"a":{]}`, `["\\\""]`,
		`[1] 2`, `{"a" 1}`, `{"a":}`, `{a:1}`, `["\ud800"]`, "[\"\x01\"]", "[\"\xff\"]", `{"` + "\xff" + `":1}`, `[tru]`, `["`, `[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trimmed := scan.Trim(data)
		kind := scan.KindOf(trimmed)
		if kind != scan.Object && kind != scan.Array || strings.Count(string(data), "[")+strings.Count(string(data), "{") > scan.MaxDepth {
			return
		}
		want := scan.Check(data)
		if got := check(trimmed, 0); (got == nil) != (want == nil) {
			t.Fatalf("%q: %v, scan says %v", data, got, want)
		}
	})
}

func TestValues(t *testing.T) {
	m := shell.ObjectOf([]byte(` {"a\"b" : [1, {"x":"]"}] ,"c":"d" } `))
	var got []string
	for m.Next() {
		got = append(got, m.Key(), string(m.Value()))
	}
	if m.Err() != nil || strings.Join(got, "|") != `a"b|[1, {"x":"]"}]|c|"d"` {
		t.Fatal(got, m.Err())
	}
	if a := shell.ArrayOf([]byte(`{}`)); a.Next() || a.Err() == nil {
		t.Fatal("an object as an array")
	}
}

func TestDepth(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	a := shell.ArrayOf([]byte(deep))
	if !a.Next() || len(a.Value()) != 2*4999 || a.Next() || a.Err() != nil {
		t.Fatal(a.Err())
	}
}
