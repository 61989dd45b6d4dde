package reducer

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxText is where a text or thinking frame is full, in bytes.
const maxText = 1 << 20

// minText is the first size of a buffer for streamed text.
const minText = 256

// foldText is a text that grows at its end. What it returns are parts of one
// buffer that is only ever written behind them.
type foldText struct {
	sb    strings.Builder
	units int  // UTF-16 length
	high  rune // a high surrogate half at the end, held back until the next text
}

func (t *foldText) String() string { return t.sb.String() }

func (t *foldText) reset(s string) {
	t.sb.Reset()
	t.sb.WriteString(s)
	t.units, t.high = UTF16Len(s), 0
}

// add appends well-formed text and returns it as part of the buffer.
func (t *foldText) add(chunk string) string {
	start := t.sb.Len()
	if start+len(chunk) > t.sb.Cap() {
		// Twice as much each time: the text is copied twice in all.
		t.sb.Grow(max(len(chunk), min(max(start, minText), maxText-start)))
	}
	t.sb.WriteString(chunk)
	t.units += UTF16Len(chunk)
	return t.sb.String()[start:]
}

// take makes what was streamed well-formed: it joins surrogate halves that
// were split between two texts, holds back one at the end, and replaces those
// that stay alone by U+FFFD.
func (t *foldText) take(s string) string {
	if t.high == 0 && utf8.ValidString(s) || s == "" {
		return s
	}
	dst := make([]byte, 0, len(s)+utf8.UTFMax)
	high := t.high
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		i += size
		if high != 0 {
			if isLow(r) {
				r = utf16.DecodeRune(high, r)
			} else {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			}
			high = 0
		}
		switch {
		case isHigh(r):
			high = r
		case isLow(r):
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	t.high = high
	return string(dst)
}

// rest returns what was held back, as it is shown when nothing follows.
func (t *foldText) rest() string {
	if t.high == 0 {
		return ""
	}
	t.high = 0
	return "\uFFFD"
}

// cutText splits s so that the first part has at most n bytes and no code
// point is split.
func cutText(s string, n int) (head, tail string) {
	if len(s) <= n {
		return s, ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], s[n:]
}

// escapedLen is the length of s inside the quotes of a JSON string.
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		if c := s[i]; c < 0x20 {
			switch c {
			case '\b', '\f', '\n', '\r', '\t':
				n++
			default:
				n += 5
			}
		} else if c == '"' || c == '\\' {
			n++
		}
	}
	return n
}
