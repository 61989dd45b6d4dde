// Package term shows transcripts in a terminal. What a model, a tool or a
// person wrote is hostile text: none of it reaches the terminal as a control
// sequence.
package term

import (
	"os"
	"strings"
	"unicode/utf8"
)

// Safe makes text harmless: line breaks and tabs stay, sequences that only
// colour are taken out, every other control character becomes a visible sign,
// and marks that reorder text are replaced.
func Safe(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		if n := colour(s); n > 0 {
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		b.WriteString(visible(r, s[:size]))
		s = s[size:]
	}
	return b.String()
}

// Line is Safe for text that has to stay on one line.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return r
	}, Safe(s))
}

// clean says whether a text needs no change, as nearly all do.
func clean(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// colour is the length of a select-graphic-rendition sequence at the beginning
// of s, 0 when there is none.
func colour(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s) && i < 40; i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c >= '0' && c <= '9' || c == ';' || c == ':':
		default:
			return 0
		}
	}
	return 0
}

// visible is how a character is shown.
func visible(r rune, as string) string {
	switch {
	case r == '\n' || r == '\t':
		return as
	case r == '\r':
		return "␍"
	case r < 0x20:
		return string('\u2400' + r)
	case r == 0x7f:
		return "␡"
	case r >= 0x80 && r < 0xa0, // C1 controls, a second way to begin a sequence
		r == '\u2028', r == '\u2029', r == '\ufeff',
		r == '\u061c', r == '\u200e', r == '\u200f',
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069',
		r >= '\U000e0000' && r <= '\U000e007f',
		r == '\ufffd':
		return "\ufffd"
	}
	return as
}

// Cut keeps the first n characters of a line.
func Cut(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// Style colours what the program itself writes.
type Style struct{ on bool }

// StyleFor colours when w is a terminal and NO_COLOR is not set.
func StyleFor(w any, getenv func(string) string) Style {
	f, ok := w.(*os.File)
	if !ok || getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return Style{}
	}
	info, err := f.Stat()
	return Style{on: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Dim writes what matters less. Like the others it takes text that is safe
// already.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Bold writes what begins something.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Red writes what went wrong.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Cyan writes names.
func (s Style) Cyan(text string) string { return s.paint("36", text) }
