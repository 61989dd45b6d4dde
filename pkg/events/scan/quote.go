package scan

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// AppendQuote appends s as a JSON string: shortest escapes, no HTML escaping,
// everything else as it is. What is not UTF-8, a WTF-8 surrogate half
// included, becomes U+FFFD, one for each half and for each other bad byte.
func AppendQuote(dst []byte, s string) []byte { return appendQuote(dst, s, false) }

// AppendQuoteWTF8 is AppendQuote, but writes WTF-8 surrogate halves as their
// escapes, so that Unquote gives them back.
func AppendQuoteWTF8(dst []byte, s string) []byte { return appendQuote(dst, s, true) }

func appendQuote(dst []byte, s string, halves bool) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = appendEscape(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || size != 1 {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		half, ok := surrogateAt(s, i)
		switch {
		case ok && halves:
			dst = append(dst, '\\', 'u', 'd', hexDigits[half>>8&15], hexDigits[half>>4&15], hexDigits[half&15])
			i += 3
		case ok:
			dst = append(dst, "\uFFFD"...)
			i += 3
		default:
			dst = append(dst, "\uFFFD"...)
			i++
		}
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// surrogateAt reads the WTF-8 form of a surrogate half at s[i].
func surrogateAt(s string, i int) (rune, bool) {
	if i+3 > len(s) || s[i] != 0xED || s[i+1]&0xE0 != 0xA0 || s[i+2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F), true
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
