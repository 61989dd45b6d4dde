package importer

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func split(limit int, chunks ...string) (lines []string, pending int) {
	s := splitter{limit: limit}
	for _, c := range chunks {
		s.feed([]byte(c), func(_ int, b []byte, tooLong bool) {
			if tooLong {
				lines = append(lines, "TOO LONG")
				return
			}
			lines = append(lines, string(b))
		})
	}
	return lines, s.pending()
}

func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		name    string
		chunks  []string
		want    []string
		pending int
	}{
		{"none", []string{""}, nil, 0},
		{"no end yet", []string{"ab", "c"}, nil, 3},
		{"ends later", []string{"ab", "c\n"}, []string{"abc"}, 0},
		{"several", []string{"a\n\nb\nc"}, []string{"a", "", "b"}, 1},
		{"as long as allowed", []string{"12345678\nx\n"}, []string{"12345678", "x"}, 0},
		{"too long at once", []string{"123456789\nx\n"}, []string{"TOO LONG", "x"}, 0},
		{"too long bit by bit", []string{"12345", "67890", "12345", "\nx\n"}, []string{"TOO LONG", "x"}, 0},
		{"too long by its last part", []string{"12345678", "9\nx\n"}, []string{"TOO LONG", "x"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, pending := split(8, c.chunks...)
			if !slices.Equal(lines, c.want) || pending != c.pending {
				t.Errorf("got %q and %d, want %q and %d", lines, pending, c.want, c.pending)
			}
		})
	}
}

// However the bytes are cut, the lines are the same.
func TestSplitterChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.StringMatching(`[a\n]{0,12}`)).Draw(t, "chunks")
		got, rest := split(8, chunks...)
		want, wantRest := split(8, strings.Join(chunks, ""))
		if !slices.Equal(got, want) || rest != wantRest {
			t.Fatalf("got %q and %d, want %q and %d", got, rest, want, wantRest)
		}
	})
}
