package importer

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// A record of these tests is an object with a member "type".
func isRecord(raw []byte) bool { return bytes.Contains(raw, []byte(`"type"`)) }

func TestParseLine(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, c := range []struct {
		name, line   string
		records      []string
		skips, notes int
	}{
		{"a record", `{"a":1}`, []string{`{"a":1}`}, 0, 0},
		{"CRLF", "{\"a\":1}\r", []string{`{"a":1}`}, 0, 0},
		{"byte-order mark", "\xef\xbb\xbf{\"a\":1}", []string{`{"a":1}`}, 0, 1},
		{"blank", " \t ", nil, 1, 0},
		{"empty", "", nil, 1, 0},
		{"only CR", "\r", nil, 1, 0},
		{"NULs only", "\x00\x00\x00", nil, 1, 0},
		{"NULs before a record", "\x00\x00{\"a\":1}", []string{`{"a":1}`}, 0, 1},
		{"a string", `"massive error"`, nil, 1, 0},
		{"a number", `42`, nil, 1, 0},
		{"an array", `[1]`, nil, 1, 0},
		{"null", `null`, nil, 1, 0},
		{"no JSON", `hello`, nil, 1, 0},
		{"glued", `{"a":1}{"b":2} {"c":3}`, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, 0, 1},
		{"glued to a number", `{"a":1}7`, []string{`{"a":1}`}, 1, 0},
		{"torn at the end", `{"type":"x","a":"unfini`, nil, 1, 0},
		{"torn, then a whole one", `{"type":"x","a":"unfini{"type":"y"}`, []string{`{"type":"y"}`}, 1, 0},
		{"torn inside an object that is no record", `{"type":"x","a":{"b":1}`, nil, 1, 0},
		{"garbage, then a whole one", `###{"type":"y"}`, []string{`{"type":"y"}`}, 1, 0},
		{"whole, torn, whole", `{"type":"x"}{"ty{"type":"z"}`, []string{`{"type":"x"}`, `{"type":"z"}`}, 1, 1},
		{"cut inside a character", "{\"a\":\"caf\xc3\"}", []string{"{\"a\":\"caf\uFFFD\"}"}, 0, 1},
		{"nested too deeply", `{"a":` + deep + `}`, nil, 1, 0},
		{"lone surrogate", `{"a":"\ud83d"}`, []string{`{"a":"\ud83d"}`}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := parseLine([]byte(c.line), true, isRecord)
			var got []string
			for _, r := range l.records {
				got = append(got, string(r))
			}
			if !slices.Equal(got, c.records) || len(l.skips) != c.skips || len(l.notes) != c.notes {
				t.Errorf("got %q, skips %q, notes %q\nwant %q, %d skips, %d notes", got, l.skips, l.notes, c.records, c.skips, c.notes)
			}
		})
	}
}

// A long torn line must not cost the square of its length.
func TestTornLongLine(t *testing.T) {
	long := `{"type":"x","list":[` + strings.Repeat(`{"k":1},`, 1<<17)
	l := parseLine([]byte(long), false, isRecord)
	if len(l.records) != 0 || len(l.skips) != 1 {
		t.Fatalf("%d records, %d skips", len(l.records), len(l.skips))
	}
}
