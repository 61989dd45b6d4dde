package scan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/events/scan"
)

var syntax = []struct {
	text string
	ok   bool
}{
	{`{}`, true},
	{`[]`, true},
	{` [ ] `, true},
	{"\t{\r\n}\n", true},
	{`{"a":1,"b":[true,false,null],"c":{"d":"e"}}`, true},
	{`{ "a" : [ 1 , 2 ] , "b" : { } }`, true},
	{`"text"`, true},
	{`"é 😀 \" \\ \/ \b \f \n \r \t \u00e9 \ud83d\ude00"`, true},
	{`"\ud83d"`, true},
	{`"\udc00\ud83d"`, true},
	{`0`, true},
	{`-0`, true},
	{`-0.5e+10`, true},
	{`1E-2`, true},
	{`1e400`, true},
	{`12345678901234567890123456789`, true},
	{`{"a":1,"a":2}`, true},
	{``, false},
	{` `, false},
	{`{`, false},
	{`[`, false},
	{`}`, false},
	{`{]`, false},
	{`[}`, false},
	{`[[}]`, false},
	{`{"a"}`, false},
	{`{"a":}`, false},
	{`{"a":1,}`, false},
	{`{,"a":1}`, false},
	{`{a:1}`, false},
	{`{1:1}`, false},
	{`{"a":1 "b":2}`, false},
	{`[1,]`, false},
	{`[,1]`, false},
	{`[1 2]`, false},
	{`[1]]`, false},
	{`1 2`, false},
	{`01`, false},
	{`-`, false},
	{`-a`, false},
	{`.5`, false},
	{`1.`, false},
	{`1.e5`, false},
	{`1e`, false},
	{`1e+`, false},
	{`+1`, false},
	{`NaN`, false},
	{`tru`, false},
	{`trues`, false},
	{`True`, false},
	{`nul`, false},
	{`"`, false},
	{`"a`, false},
	{`"\`, false},
	{`"\x"`, false},
	{`"\u12"`, false},
	{`"\u12g4"`, false},
	{"\"a\nb\"", false},
	{"\"a\x00b\"", false},
	{"\"\x80\"", false},
	{"\"\xed\xa0\xbd\"", false},
	{"\"12345678\xff\"", false},
	{"\ufeff{}", false},
	{`'a'`, false},
	{`{"a":1}//`, false},
}

func TestCheck(t *testing.T) {
	for _, tc := range syntax {
		err := scan.Check([]byte(tc.text))
		if (err == nil) != tc.ok {
			t.Errorf("Check(%q) = %v, want ok %v", tc.text, err, tc.ok)
		}
		var syn *scan.SyntaxError
		if err != nil && (!errors.As(err, &syn) || syn.Offset < 0 || syn.Offset > len(tc.text)) {
			t.Errorf("Check(%q): %v is no SyntaxError inside the text", tc.text, err)
		}
	}
}

func TestDepth(t *testing.T) {
	shapes := []struct{ open, middle, closing string }{
		{"[", "1", "]"},
		{`{"a":`, "1", "}"},
		{`[{"a":`, "[]", "}]"},
		{"[", "", ""},
		{`{"a":`, "", ""},
	}
	for _, s := range shapes {
		unit := strings.Count(s.open, "[") + strings.Count(s.open, "{")
		inner := 0
		if s.middle == "[]" {
			inner = 1
		}
		build := func(depth int) []byte {
			n := (depth - inner) / unit
			return []byte(strings.Repeat(s.open, n) + s.middle + strings.Repeat(s.closing, n))
		}
		if at := build(scan.MaxDepth); s.closing != "" && scan.Check(at) != nil {
			t.Errorf("depth %d of %q refused: %v", scan.MaxDepth, s.open, scan.Check(at))
		}
		for _, depth := range []int{scan.MaxDepth + unit + inner, 10_000, 1_000_000} {
			if scan.Valid(build(depth)) {
				t.Errorf("depth %d of %q accepted", depth, s.open)
			}
		}
	}
}

func TestDeepInputCostsNothing(t *testing.T) {
	deep := []byte(`{"event_type":"x","payload":` + strings.Repeat("[", 1_000_000))
	if n := testing.AllocsPerRun(10, func() { _ = scan.Valid(deep) }); n > 3 {
		t.Errorf("%v allocations for deep input, want those of the error alone", n)
	}
	flat := []byte(`{"a":[1,{"b":"c"}],"d":"eeeeeeeeeeeeeeeeeeeeeeeee"}`)
	if n := testing.AllocsPerRun(10, func() {
		m := scan.ObjectOf(flat)
		for m.Next() {
			_ = m.Key()
			_, _ = scan.Unquote(m.Value())
		}
	}); n != 0 {
		t.Errorf("%v allocations for a walk, want none", n)
	}
}

func TestWalk(t *testing.T) {
	raw := []byte(` { "a" : 1 , "b\u0063" : [ "x" , { } ] , "a" : "last" } `)
	var keys, values []string
	m := scan.ObjectOf(raw)
	for m.Next() {
		keys = append(keys, m.Key())
		values = append(values, string(m.Value()))
		if got := raw[m.Offset():][:len(m.Value())]; string(got) != string(m.Value()) {
			t.Errorf("Offset points to %q, want %q", got, m.Value())
		}
		if got := raw[m.NameOffset():][:len(m.RawKey())]; string(got) != string(m.RawKey()) {
			t.Errorf("NameOffset points to %q, want %q", got, m.RawKey())
		}
	}
	if m.Err() != nil || strings.Join(keys, "|") != "a|bc|a" || strings.Join(values, "|") != `1|[ "x" , { } ]|"last"` {
		t.Errorf("walk: %q %q %v", keys, values, m.Err())
	}
	if v, ok := scan.Get(raw, "a"); !ok || string(v) != `"last"` {
		t.Errorf("Get takes %q, want the last", v)
	}
	if _, ok := scan.Get(raw, "z"); ok {
		t.Error("Get found what is not there")
	}
	list := scan.ArrayOf([]byte(`[1,"two",[3]]`))
	values = nil
	for list.Next() {
		values = append(values, string(list.Value()))
	}
	if list.Err() != nil || strings.Join(values, "|") != `1|"two"|[3]` {
		t.Errorf("elements: %q %v", values, list.Err())
	}
	if list.Next() {
		t.Error("Next goes on behind the end")
	}
	for _, bad := range []string{``, `[`, `{"a":1`, `{"a":1}x`, `{"a" 1}`, `{"a":1,}`, `null`} {
		m := scan.ObjectOf([]byte(bad))
		for m.Next() {
			continue
		}
		if m.Err() == nil {
			t.Errorf("walk over %q ends without an error", bad)
		}
	}
}

func TestScalars(t *testing.T) {
	ints := []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-1", -1, true},
		{"9223372036854775807", 1<<63 - 1, true},
		{"-9223372036854775808", -1 << 63, true},
		{"9223372036854775808", 0, false},
		{"-9223372036854775809", 0, false},
		{"1.0", 0, false},
		{"1e2", 0, false},
		{`"1"`, 0, false},
		{"", 0, false},
		{"-", 0, false},
	}
	for _, tc := range ints {
		if got, ok := scan.Int64([]byte(tc.text)); got != tc.want || ok != tc.ok {
			t.Errorf("Int64(%s) = %d %v", tc.text, got, ok)
		}
	}
	uints := []struct {
		text string
		want uint64
		ok   bool
	}{
		{"18446744073709551615", 1<<64 - 1, true},
		{"18446744073709551616", 0, false},
		{"99999999999999999999", 0, false},
		{"-0", 0, false},
	}
	for _, tc := range uints {
		if got, ok := scan.Uint64([]byte(tc.text)); got != tc.want || ok != tc.ok {
			t.Errorf("Uint64(%s) = %d %v", tc.text, got, ok)
		}
	}
	if f, ok := scan.Float64([]byte("-1.5e3")); f != -1500 || !ok {
		t.Errorf("Float64 = %v %v", f, ok)
	}
	for _, bad := range []string{"1e400", `"1"`, "null", ""} {
		if _, ok := scan.Float64([]byte(bad)); ok {
			t.Errorf("Float64(%s) is ok", bad)
		}
	}
	if v, ok := scan.BoolOf([]byte("true")); !v || !ok {
		t.Error("BoolOf(true)")
	}
	if _, ok := scan.BoolOf([]byte("1")); ok {
		t.Error("BoolOf(1) is ok")
	}
	for text, want := range map[string]scan.Kind{
		`"`: scan.String, `{`: scan.Object, `[`: scan.Array, `t`: scan.Bool, `f`: scan.Bool,
		`n`: scan.Null, `-`: scan.Number, `7`: scan.Number, ``: scan.Invalid, `x`: scan.Invalid,
	} {
		if got := scan.KindOf([]byte(text)); got != want {
			t.Errorf("KindOf(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestSurrogates(t *testing.T) {
	const high, low = "\xed\xa0\xbd", "\xed\xb8\x80" // U+D83D, U+DE00
	cases := []struct{ raw, want string }{
		{`"\ud83d\ude00"`, "😀"},
		{`"a\ud83d"`, "a" + high},
		{`"\ude00b"`, low + "b"},
		{`"\ud83d\ud83d\ude00"`, high + "😀"},
		{`"\ude00\ud83d"`, low + high},
		{`"\ud83dx\ude00"`, high + "x" + low},
		{`"\ud83d\n"`, high + "\n"},
	}
	for _, tc := range cases {
		got, ok := scan.Unquote([]byte(tc.raw))
		if !ok || got != tc.want {
			t.Errorf("Unquote(%s) = %q, want %q", tc.raw, got, tc.want)
		}
		back, _ := scan.Unquote(scan.AppendQuoteWTF8(nil, got))
		if back != got {
			t.Errorf("AppendQuoteWTF8 of %q comes back as %q", got, back)
		}
		clean := scan.AppendQuote(nil, got)
		if !utf8.Valid(clean) || strings.Contains(string(clean), `\ud`) {
			t.Errorf("AppendQuote(%q) = %s, want U+FFFD for halves", got, clean)
		}
	}
	if got := string(scan.AppendQuote(nil, high+"x\xff")); got != `"`+"\uFFFDx\uFFFD"+`"` {
		t.Errorf("AppendQuote = %s, want one U+FFFD for each half", got)
	}
}

func FuzzCheck(f *testing.F) {
	for _, tc := range syntax {
		f.Add([]byte(tc.text))
	}
	f.Add([]byte(strings.Repeat("[", 200) + strings.Repeat("]", 200)))
	f.Add([]byte(strings.Repeat("[", 201) + strings.Repeat("]", 201)))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := json.Valid(data) && utf8.Valid(data) && depth(data) <= scan.MaxDepth
		if got := scan.Check(data); (got == nil) != want {
			t.Fatalf("Check(%q) = %v, want ok %v", data, got, want)
		}
		if want {
			sameTree(t, data)
		}
	})
}

// depth counts open brackets outside of strings.
func depth(data []byte) int {
	level, deepest, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// sameTree compares the walk over valid data with encoding/json.
func sameTree(t *testing.T, data []byte) {
	t.Helper()
	data = scan.Trim(data)
	switch scan.KindOf(data) {
	case scan.Object:
		want := map[string]json.RawMessage{}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		m := scan.ObjectOf(data)
		for m.Next() {
			sameTree(t, m.Value())
			text, ok := m.Text()
			if want, wantOK := scan.Unquote(m.Value()); text != want || ok != wantOK {
				t.Fatalf("Text of %q is %q %v", m.Value(), text, ok)
			}
			got[clean(m.Key())] = string(m.Value())
		}
		if m.Err() != nil || len(got) != len(want) {
			t.Fatalf("members of %q: %v %v, want %v", data, got, m.Err(), want)
		}
		for key, value := range want {
			if got[key] != string(value) {
				t.Fatalf("member %q of %q is %q, want %q", key, data, got[key], value)
			}
		}
	case scan.Array:
		var want []json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		a := scan.ArrayOf(data)
		for i := 0; a.Next(); i++ {
			if i >= len(want) || string(a.Value()) != string(want[i]) {
				t.Fatalf("element %d of %q is %q", i, data, a.Value())
			}
			sameTree(t, a.Value())
		}
		if a.Err() != nil {
			t.Fatal(a.Err())
		}
	case scan.String:
		var want string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got, ok := scan.Unquote(data)
		if !ok || clean(got) != want {
			t.Fatalf("Unquote(%q) = %q, want %q", data, got, want)
		}
		again, _ := scan.AppendUnquote([]byte("x"), data)
		back, _ := scan.Unquote(scan.AppendQuoteWTF8(nil, got))
		if string(again) != "x"+got || back != got {
			t.Fatalf("%q comes back as %q and %q", got, again, back)
		}
	case scan.Number:
		var want float64
		err := json.Unmarshal(data, &want)
		if got, ok := scan.Float64(data); ok != (err == nil) || ok && got != want {
			t.Fatalf("Float64(%q) = %v %v, want %v %v", data, got, ok, want, err)
		}
	default:
	}
}

// clean replaces WTF-8 halves as encoding/json does.
func clean(s string) string {
	var out string
	if err := json.Unmarshal(scan.AppendQuote(nil, s), &out); err != nil {
		panic(err)
	}
	return out
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\\n\x00\x1f\x7f", "é😀\u2028", "\xed\xa0\xbd\xed\xb8\x80", "\xff\xed\xa0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, quoted := range [][]byte{scan.AppendQuote(nil, s), scan.AppendQuoteWTF8(nil, s)} {
			if !scan.Valid(quoted) || !json.Valid(quoted) {
				t.Fatalf("%q is quoted as %q", s, quoted)
			}
			if back, ok := scan.Unquote(quoted); !ok || utf8.ValidString(s) && back != s {
				t.Fatalf("%q comes back as %q", s, back)
			}
		}
	})
}

func BenchmarkCheckDelta(b *testing.B) {
	data := []byte(`{"event_type":"assistant.delta","event_id":"0192f3a4-7b1c-7def-8abc-0123456789ab","payload":{"delta":"` +
		strings.Repeat("some words of text ", 6) + `"}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if !scan.Valid(data) {
			b.Fatal("invalid")
		}
	}
}
