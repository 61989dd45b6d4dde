// Package scan reads JSON in place: it checks syntax, walks objects and arrays
// and converts single values, without building a tree and without allocating
// (except for strings that hold escapes, and for errors).
//
// It accepts exactly RFC 8259 text in valid UTF-8. Escapes of lone surrogate
// halves (backslash u d83d) are accepted, because text is split anywhere by
// those who stream it; Unquote yields them as WTF-8. Duplicate names are not
// an error here: Members yields each of them and a reader that assigns as it
// goes takes the last, as browsers do. Nesting is bounded and followed without
// recursion, so that deep input costs no stack.
//
// Functions that return strings or slices return parts of their argument
// where they can: the caller must not modify the buffer afterwards.
package scan

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the nesting allowed in a value: [[1]] has depth 2.
const MaxDepth = 200

// SyntaxError says where text stops being JSON.
type SyntaxError struct {
	Offset  int // in bytes, into the slice that was given
	Problem string
}

func (e *SyntaxError) Error() string {
	return "JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Problem
}

func fail(at int, problem string) error { return &SyntaxError{Offset: at, Problem: problem} }

// Check reports whether data is one JSON value, perhaps between white space,
// nested at most MaxDepth.
func Check(data []byte) error {
	end, err := skipValue(data, skipSpace(data, 0), MaxDepth)
	if err != nil {
		return err
	}
	if end = skipSpace(data, end); end != len(data) {
		return fail(end, "text behind the value")
	}
	return nil
}

// Valid is Check as a yes or no.
func Valid(data []byte) bool { return Check(data) == nil }

// Trim returns data without JSON white space at both ends.
func Trim(data []byte) []byte {
	data = data[skipSpace(data, 0):]
	for len(data) > 0 && isSpace(data[len(data)-1]) {
		data = data[:len(data)-1]
	}
	return data
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && isSpace(data[i]) {
		i++
	}
	return i
}

// nest remembers, one bit a level, whether an open bracket is an object.
type nest struct {
	bits  [(MaxDepth + 63) / 64]uint64
	depth int
}

func (n *nest) push(object bool) {
	word, bit := n.depth/64, uint64(1)<<(n.depth%64)
	if object {
		n.bits[word] |= bit
	} else {
		n.bits[word] &^= bit
	}
	n.depth++
}

func (n *nest) inObject() bool {
	d := n.depth - 1
	return n.bits[d/64]&(1<<(d%64)) != 0
}

// skipValue returns the index behind the value that begins at data[i]; limit
// is at most MaxDepth.
func skipValue(data []byte, i, limit int) (int, error) {
	if i < len(data) && data[i] != '{' && data[i] != '[' {
		return skipScalar(data, i)
	}
	var open nest
	for {
		// A value begins at i.
		if i >= len(data) {
			return i, fail(i, "the text ends where a value should be")
		}
		closed := false
		switch c := data[i]; c {
		case '{', '[':
			if open.depth >= limit {
				return i, fail(i, "nested deeper than "+strconv.Itoa(MaxDepth))
			}
			open.push(c == '{')
			i = skipSpace(data, i+1)
			if i < len(data) && data[i] == c+2 { // '{'+2 is '}', '['+2 is ']'
				i, closed = i+1, true
				open.depth--
			}
		default:
			end, err := skipScalar(data, i)
			if err != nil {
				return end, err
			}
			i, closed = end, true
		}
		if closed {
			end, done, err := skipClosers(data, i, &open)
			if err != nil || done {
				return end, err
			}
			i = end
		}
		if open.inObject() {
			var err error
			if i, err = skipName(data, i); err != nil {
				return i, err
			}
		}
	}
}

// skipClosers goes on behind a complete value: over closing brackets, to the
// place behind the next comma. done says that the outermost value has ended.
func skipClosers(data []byte, i int, open *nest) (end int, done bool, err error) {
	for open.depth > 0 {
		i = skipSpace(data, i)
		if i >= len(data) {
			return i, false, fail(i, "the text ends inside an object or array")
		}
		object := open.inObject()
		switch c := data[i]; {
		case c == ',':
			return skipSpace(data, i+1), false, nil
		case c == '}' && object, c == ']' && !object:
			open.depth--
			i++
		default:
			return i, false, fail(i, "want a comma or a closing bracket")
		}
	}
	return i, true, nil
}

// skipName goes over a member's name and colon to its value.
func skipName(data []byte, i int) (int, error) {
	if i >= len(data) || data[i] != '"' {
		return i, fail(i, "want a member name in quotes")
	}
	end, err := skipString(data, i)
	if err != nil {
		return end, err
	}
	return skipColon(data, end)
}

// skipColon goes from the end of a member's name to its value.
func skipColon(data []byte, i int) (int, error) {
	i = skipSpace(data, i)
	if i >= len(data) || data[i] != ':' {
		return i, fail(i, "want a colon")
	}
	return skipSpace(data, i+1), nil
}

func skipScalar(data []byte, i int) (int, error) {
	switch c := data[i]; {
	case c == '"':
		return skipString(data, i)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(data, i)
	case c == 't':
		return skipWord(data, i, "true")
	case c == 'f':
		return skipWord(data, i, "false")
	case c == 'n':
		return skipWord(data, i, "null")
	}
	return i, fail(i, "no value begins like this")
}

func skipWord(data []byte, i int, word string) (int, error) {
	if len(data)-i >= len(word) && string(data[i:i+len(word)]) == word {
		return i + len(word), nil
	}
	return i, fail(i, "want "+word)
}

func skipDigits(data []byte, i int) int {
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

func skipNumber(data []byte, i int) (int, error) {
	if data[i] == '-' {
		i++
	}
	start := i
	if i < len(data) && data[i] == '0' {
		i++
	} else {
		i = skipDigits(data, i)
	}
	if i == start {
		return i, fail(i, "want a digit")
	}
	if i < len(data) && data[i] == '.' {
		end := skipDigits(data, i+1)
		if end == i+1 {
			return end, fail(end, "want a digit behind the point")
		}
		i = end
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		end := skipDigits(data, i)
		if end == i {
			return end, fail(end, "want a digit in the exponent")
		}
		i = end
	}
	return i, nil
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of w that are not plain text inside a string:
// control characters, quote, backslash and anything outside ASCII.
func special(w uint64) uint64 {
	quote := w ^ (lows * '"')
	slash := w ^ (lows * '\\')
	return (w | (w - lows*0x20) | (quote - lows) | (slash - lows)) & highs
}

// skipString returns the index behind the string whose opening quote is at
// data[i].
func skipString(data []byte, i int) (int, error) {
	end, _, err := scanString(data, i)
	return end, err
}

// scanString is skipString and also reports whether there are escapes.
func scanString(data []byte, i int) (end int, escaped bool, err error) {
	i++
	for {
		for i+8 <= len(data) {
			// Borrows make bits above the first special byte unreliable; only
			// the lowest is used.
			if m := special(binary.LittleEndian.Uint64(data[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return i, escaped, fail(i, "the text ends inside a string")
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			if i, err = skipEscape(data, i); err != nil {
				return i, true, err
			}
			escaped = true
		case c < 0x20:
			return i, escaped, fail(i, "control character in a string")
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return i, escaped, fail(i, "invalid UTF-8")
			}
			i += size
		}
	}
}

func skipEscape(data []byte, i int) (int, error) {
	if i+1 >= len(data) {
		return i, fail(i, "the text ends inside an escape")
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		if _, ok := hex4(data, i+2); ok {
			return i + 6, nil
		}
	}
	return i, fail(i, "invalid escape")
}

// hex4 reads the four hex digits at data[i].
func hex4(data []byte, i int) (rune, bool) {
	if len(data)-i < 4 {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			r |= rune(c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			r |= rune(c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return r, true
}
