package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a b\n\tc é 🎉 中文", "a b\n\tc é 🎉 中文"},
		{"colours go", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m", "red x"},
		{"other sequences show", "\x1b[2J\x1b[H\x1b]0;title\x07\x1bc", "␛[2J␛[H␛]0;title␇␛c"},
		{"carriage return", "safe\rfake", "safe␍fake"},
		{"backspace, NUL, DEL", "a\bb\x00c\x7fd", "a␈b␀c␡d"},
		{"C1 controls", "a\u009b2Jb\u0085c", "a�2Jb�c"},
		{"text that runs backwards", "a\u202eb\u2066c\u200fd\u061c", "a�b�c�d�"},
		{"line separators", "a\u2028b\u2029c", "a�b�c"},
		{"hidden tags", "a\U000e0041b", "a�b"},
		{"broken UTF-8", "a\xffb\xc3", "a�b�"},
		{"a colour without an end", "\x1b[31", "␛[31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Safe(c.in); got != c.want {
				t.Errorf("%q gives %q, want %q", c.in, got, c.want)
			}
		})
	}
	if got := Line("a\nb\tc\u2028d"); got != "a b c�d" {
		t.Errorf("Line gives %q", got)
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"a", "\x1b[2J", "\x1b[1m\x1b[", "\u009b", "é\xff\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Safe(s)
		if !utf8.ValidString(out) {
			t.Fatalf("%q is not UTF-8", out)
		}
		for _, r := range out {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= '\u202a' && r <= '\u202e' {
				t.Fatalf("%q holds %U", out, r)
			}
		}
		if again := Safe(out); again != out {
			t.Fatalf("%q became %q the second time", out, again)
		}
		if strings.ContainsAny(Line(s), "\n\t") {
			t.Fatalf("%q is more than a line", Line(s))
		}
	})
}

func TestCut(t *testing.T) {
	for in, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc…", "éàü": "éàü", "éàüx": "éàü…"} {
		if got := Cut(in, 3); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}
