package scan

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// The conversions below take the bytes of one valid value, as Members and
// Elements yield them, and report whether it is of the kind asked for.

// IsNull reports the value null.
func IsNull(raw []byte) bool { return string(raw) == "null" }

// BoolOf converts true and false.
func BoolOf(raw []byte) (value, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// Int64 converts a number written as an integer (no point, no exponent) that
// fits.
func Int64(raw []byte) (int64, bool) {
	neg := len(raw) > 0 && raw[0] == '-'
	digits := raw
	if neg {
		digits = raw[1:]
	}
	u, ok := Uint64(digits)
	switch {
	case !ok:
		return 0, false
	case neg && u <= 1<<63:
		return -int64(u), true
	case !neg && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

// Uint64 converts a number written as a non-negative integer that fits.
func Uint64(raw []byte) (uint64, bool) {
	if len(raw) == 0 || len(raw) > 20 {
		return 0, false
	}
	var u uint64
	for _, c := range raw {
		d := uint64(c - '0')
		if d > 9 || u > (1<<64-1-d)/10 {
			return 0, false
		}
		u = u*10 + d
	}
	return u, true
}

// Float64 converts a number; one beyond the range of float64 is not ok.
func Float64(raw []byte) (float64, bool) {
	if KindOf(raw) != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(alias(raw), 64)
	return f, err == nil
}

// Unquote converts a string. Without escapes the result shares raw's memory.
// Escaped surrogate halves without their partner become WTF-8 (three bytes
// each).
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return alias(body), true
	}
	return alias(appendUnescaped(make([]byte, 0, len(body)), body)), true
}

// AppendUnquote appends what Unquote returns; dst is unchanged when raw is no
// string.
func AppendUnquote(dst, raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return dst, false
	}
	return appendUnescaped(dst, raw[1:len(raw)-1]), true
}

func appendUnescaped(dst, body []byte) []byte {
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 >= len(body) {
			return append(dst, body...)
		}
		dst = append(dst, body[:i]...)
		c := body[i+1]
		body = body[i+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hex4(body, 0)
			if !ok {
				return dst
			}
			body = body[4:]
			dst, body = appendEscapedRune(dst, body, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendEscapedRune appends the escaped code unit r, joined with the escape
// that follows when the two are a surrogate pair.
func appendEscapedRune(dst, body []byte, r rune) ([]byte, []byte) {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), body
	}
	if len(body) >= 6 && body[0] == '\\' && body[1] == 'u' {
		if low, ok := hex4(body, 2); ok {
			if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
				return utf8.AppendRune(dst, joined), body[6:]
			}
		}
	}
	return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F), body
}

// alias returns the bytes as a string without copying them.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
