package wirelog

import "github.com/stenohq/steno/pkg/events"

// Hash is the SHA-256 of a line without its newline.
type Hash = events.LineHash

// ParseHash reads 64 hex digits; the empty string is the zero hash.
func ParseHash(s string) (Hash, bool) {
	if s == "" {
		return Hash{}, true
	}
	return parseHash([]byte(s))
}

func parseHash(b []byte) (h Hash, ok bool) {
	if len(b) != 2*len(h) {
		return h, false
	}
	for i := range h {
		hi, lo := nibble(b[2*i]), nibble(b[2*i+1])
		if hi > 15 || lo > 15 {
			return Hash{}, false
		}
		h[i] = hi<<4 | lo
	}
	return h, true
}

// nibble is the value of one lower-case hex digit, above 15 for others.
func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
