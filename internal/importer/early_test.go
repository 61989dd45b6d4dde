package importer

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
)

const whole = `{"type":"a","id":"2","s":"S","t":"2026-01-01T00:00:00Z"}`

// A last line that lacks only its newline is a record; the newline adds
// nothing.
func TestLastLineWithoutNewline(t *testing.T) {
	for _, c := range []struct {
		name, tail, rest string
		early, late      int // events before and after the rest came
		unfinished       int
	}{
		{"whole", whole, "\n", 1, 1, 0},
		{"whole with CR", whole + "\r", "\n", 1, 1, 0},
		{"whole and blanks", whole + "  ", " \n", 1, 1, 0},
		{"two glued", whole + strings.Replace(whole, "2", "3", 1), "\n", 2, 2, 0},
		{"another glued later", whole, strings.Replace(whole, "2", "3", 1) + "\n", 1, 2, 0},
		{"a torn one glued later", whole, `{"type"` + "\n", 1, 1, 0},
		{"partial", whole[:len(whole)-1], "}\n", 0, 1, len(whole) - 1},
		{"whole and a partial one", whole + `{"type"`, "\n", 0, 1, len(whole) + 7},
		{"inner object", `{"type":"a","x":{}`, `}` + "\n", 0, 1, 18},
		{"a number may go on", "12", "3\n", 0, 0, 2},
		{"string", `"a"`, "\n", 0, 0, 3},
		{"blank", "  ", "\n", 0, 0, 2},
		{"byte-order mark", "\xef\xbb\xbf" + whole, "\n", 1, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStream(echo{}, Source{Name: "f", Session: "S"})
			_, _ = s.Write([]byte(c.tail))
			s.AtEnd()
			s.AtEnd()
			if r := s.Report(); r.Records != c.early || r.Unfinished != c.unfinished {
				t.Errorf("at the end: %d records, %d bytes wait; want %d and %d", r.Records, r.Unfinished, c.early, c.unfinished)
			}
			_, _ = s.Write([]byte(c.rest))
			r := s.Report()
			if r.Records != c.late || r.Lines != 1 || r.Unfinished != 0 {
				t.Errorf("after the newline: %d records, %d lines, %d bytes wait; want %d, 1, 0", r.Records, r.Lines, r.Unfinished, c.late)
			}
			fresh := NewStream(echo{}, Source{Name: "f", Session: "S"})
			_, _ = fresh.Write([]byte(c.tail + c.rest))
			want := fresh.Report()
			if r.Skipped != want.Skipped || r.Mended != want.Mended {
				t.Errorf("skipped %v, mended %v; read at once: %v, %v", r.SkippedList, r.MendedList, want.SkippedList, want.MendedList)
			}
		})
	}
}

// Wherever the reading pauses, the events of complete lines are those of the
// file read at once.
func TestPausesChangeNothing(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"\n", "\n", "\r\n", " ", "\x00", "}", "{", `{"type"`, "7", `"x"`, "\xff", "é",
		`{"type":"a","s":"S","t":"2026-01-01T00:00:00Z"}`, `{"type":"b","x":{"y":"}"}}`, `{"type":"c"}`, `{}`,
	})
	read := func(text string, cuts []int) (list []*events.Event) {
		s := NewStream(echo{}, Source{Name: "f", Session: "S"})
		from := 0
		for _, cut := range cuts {
			cut = max(from, cut%(len(text)+1))
			_, _ = s.Write([]byte(text[from:cut]))
			s.AtEnd()
			from = cut
		}
		_, _ = s.Write([]byte(text[from:]))
		s.AtEnd()
		return s.Events()
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "") + "\n" // what follows a whole object before its newline shows only then
		cuts := rapid.SliceOfN(rapid.IntRange(0, 400), 0, 6).Draw(t, "cuts")
		want, got := read(text, nil), read(text, cuts)
		if len(got) != len(want) {
			t.Fatalf("%q: %d events, read at once %d", text, len(got), len(want))
		}
		for i := range want {
			if got[i].ID != want[i].ID || got[i].N != want[i].N || string(got[i].Payload) != string(want[i].Payload) {
				t.Fatalf("%q: event %d is %s %s, read at once %s %s", text, i, got[i].ID, got[i].Payload, want[i].ID, want[i].Payload)
			}
		}
	})
}
