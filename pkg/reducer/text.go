package reducer

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Texts are measured in UTF-16 code units, because the clients are browsers.
// In memory they are UTF-8 in which a surrogate half without its partner is
// written as three bytes (WTF-8). A text is canonical when it has no two halves
// that belong together and no other invalid byte.

// UTF16Len returns the length of s in UTF-16 code units. A surrogate half and
// any other invalid byte count as one, as does the U+FFFD that is written for
// them.
func UTF16Len(s string) int {
	n, _ := measure(s)
	return n
}

// measure returns the UTF-16 length and whether s is canonical.
func measure(s string) (units int, canonical bool) {
	canonical = true
	high := false // the unit before is a lone high half
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n := asciiPrefix(s[i:])
			units += n
			i, high = i+n, false
			continue
		}
		r, size := decodeRune(s[i:])
		switch {
		case size == 1: // invalid
			canonical, high = false, false
		case utf16.IsSurrogate(r):
			if high && isLow(r) {
				canonical = false
			}
			high = isHigh(r)
		default:
			high = false
			if r > 0xFFFF {
				units++
			}
		}
		units++
		i += size
	}
	if !canonical {
		units, _ = measure(canonicalText(s))
	}
	return units, canonical
}

// asciiPrefix returns how many bytes of s are ASCII before the first that is
// not.
func asciiPrefix(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		// The compiler makes one load of this.
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if w&0x8080808080808080 != 0 {
			break
		}
	}
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// decodeRune is utf8.DecodeRuneInString for WTF-8; size 1 with a first byte
// outside ASCII means invalid.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, size
}

func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }
func isLow(r rune) bool  { return r >= 0xDC00 && r < 0xE000 }

func appendRune(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

// CanonicalText returns s with surrogate halves that belong together joined and
// other invalid bytes replaced by U+FFFD. It is s itself when there is nothing
// to do.
func CanonicalText(s string) string {
	if _, canonical := measure(s); canonical {
		return s
	}
	return canonicalText(s)
}

// canonicalText joins halves and replaces invalid bytes by U+FFFD.
func canonicalText(s string) string {
	dst := make([]byte, 0, len(s))
	var high rune
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		i += size
		if high != 0 && isLow(r) {
			dst = utf8.AppendRune(dst[:len(dst)-3], utf16.DecodeRune(high, r))
			high = 0
			continue
		}
		high = 0
		if isHigh(r) {
			high = r
		}
		dst = appendRune(dst, r)
	}
	return string(dst)
}

// unitReader yields the UTF-16 code units of a canonical text.
type unitReader struct {
	s   string
	low uint16 // second half of the pair just begun
}

func (u *unitReader) next() (unit uint16, ok bool) {
	if u.low != 0 {
		unit, u.low = u.low, 0
		return unit, true
	}
	if u.s == "" {
		return 0, false
	}
	r, size := decodeRune(u.s)
	u.s = u.s[size:]
	if r > 0xFFFF {
		high, low := utf16.EncodeRune(r)
		u.low = uint16(low)
		return uint16(high), true
	}
	return uint16(r), true
}

// skipUnits returns a reader that stands n units into s, which has total.
func skipUnits(s string, n, total int) unitReader {
	if len(s) == total { // ASCII
		return unitReader{s: s[n:]}
	}
	at := len(s)
	left := total - n
	if n < left {
		u := unitReader{s: s}
		for range n {
			u.next()
		}
		return u
	}
	for left > 0 {
		start := at - 1
		for start > 0 && s[start]&0xC0 == 0x80 {
			start--
		}
		at = start
		left--
		if s[start] >= 0xF0 {
			left--
		}
	}
	u := unitReader{s: s[at:]}
	if left < 0 { // inside a pair
		u.next()
	}
	return u
}

// rest returns what the reader has not yielded, a pending half as WTF-8.
func (u *unitReader) rest() string {
	if u.low == 0 {
		return u.s
	}
	return string(appendRune(nil, rune(u.low))) + u.s
}

// grown is a text that grows at its end without being copied. Its value at any
// moment is an ordinary string that later growth does not touch: growth writes
// behind it, into memory that only the owner of buf uses.
type grown struct {
	s     string // without the half in high
	high  uint16 // a high half at the end, waiting for its partner; 0 = none
	units int    // UTF-16 length, the half included
	buf   *textBuffer
}

// textBuffer may be written by its owner only, and only behind the newest
// value made of it.
type textBuffer struct {
	owner *owner
	sb    strings.Builder
}

// textOf takes over a string as it is, made canonical.
func textOf(s string) grown {
	units, canonical := measure(s)
	if !canonical {
		s = canonicalText(s)
	}
	g := grown{units: units}
	g.s, g.high = splitHigh(s)
	return g
}

// splitHigh takes a high half off the end of s.
func splitHigh(s string) (rest string, high uint16) {
	if n := len(s); n >= 3 && s[n-3] == 0xED {
		if r, size := decodeRune(s[n-3:]); size == 3 && isHigh(r) {
			return s[:n-3], uint16(r)
		}
	}
	return s, 0
}

// String returns the text, a waiting half included.
func (g *grown) String() string {
	if g.high == 0 {
		return g.s
	}
	return string(appendRune([]byte(g.s), rune(g.high)))
}

// outcome of growing a text.
type outcome int

const (
	unchanged outcome = iota
	changed
	mismatch
)

// growAt applies the append rules at a UTF-16 offset; at a mismatch the text
// stays and the expected offset is g.units.
func (g *grown) growAt(o *owner, offset int, chunk string) outcome {
	if offset > g.units || offset < 0 {
		return mismatch
	}
	units, canonical := measure(chunk)
	if !canonical {
		chunk = canonicalText(chunk)
	}
	if offset == g.units {
		if chunk == "" {
			return unchanged
		}
		g.add(o, chunk, units)
		return changed
	}
	local, in := skipUnits(g.String(), offset, g.units), unitReader{s: chunk}
	for n := g.units - offset; n > 0; n-- {
		want, more := in.next()
		if !more {
			return unchanged
		}
		if have, _ := local.next(); have != want {
			return mismatch
		}
		units--
	}
	if units == 0 {
		return unchanged
	}
	g.add(o, in.rest(), units)
	return changed
}

// add appends a canonical chunk of so many units.
func (g *grown) add(o *owner, chunk string, units int) {
	g.units += units
	var joined [utf8.UTFMax]byte
	head := joined[:0]
	if g.high != 0 {
		if r, size := decodeRune(chunk); isLow(r) {
			head = utf8.AppendRune(head, utf16.DecodeRune(rune(g.high), r))
			chunk = chunk[size:]
		} else {
			head = appendRune(head, rune(g.high))
		}
		g.high = 0
	}
	if g.buf == nil || g.buf.owner != o || g.buf.sb.Len() != len(g.s) {
		g.buf = &textBuffer{owner: o}
		g.buf.sb.WriteString(g.s)
	}
	chunk, g.high = splitHigh(chunk)
	g.buf.sb.Write(head)
	g.buf.sb.WriteString(chunk)
	g.s = g.buf.sb.String()
}

// same compares values.
func (g *grown) same(other *grown) bool {
	return g.units == other.units && g.high == other.high && g.s == other.s
}
