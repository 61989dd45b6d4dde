package kvstate

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/statestore"
)

func codec(tb testing.TB) *Store {
	tb.Helper()
	s, err := New(&nats.Conn{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// as is what the bucket returns of messages that were stored from sequence
// first on.
func as(msgs []*nats.Msg, first uint64) []stored {
	out := make([]stored, len(msgs))
	for i, m := range msgs {
		out[i] = stored{subject: m.Subject, seq: first + uint64(i), header: m.Header, data: nonNil(m.Data)}
	}
	return out
}

// noise does not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

func TestDocumentPieces(t *testing.T) {
	s := codec(t)
	for _, test := range []struct {
		size, had, want int
	}{
		{0, 0, 1},
		{10, 0, 1},
		{statestore.PieceSize - 100, 0, 1},
		{statestore.PieceSize + 100, 0, 2},
		{3*statestore.PieceSize - 1000, 0, 3},
		{10, 5, 5},
		{3*statestore.PieceSize - 1000, 2, 3},
	} {
		value := noise(test.size)
		msgs := s.documentMessages("c", statestore.Write{Key: "head.0.s.a", Value: value, Expect: make(statestore.Rev, test.had)})
		if len(msgs) != test.want {
			t.Fatalf("%d bytes after %d pieces: %d messages, want %d", test.size, test.had, len(msgs), test.want)
		}
		for i, m := range msgs {
			if len(m.Data) > statestore.PieceSize || !strings.HasSuffix(m.Subject, "head.0.s.a."+string(rune('0'+i))) {
				t.Errorf("message %d: %d bytes to %s", i, len(m.Data), m.Subject)
			}
		}
		e, err := s.assemble("head.0.s.a", as(msgs, 7))
		if err != nil || !bytes.Equal(e.Value, value) || len(e.Rev) != test.want || e.Rev[0] != 7 {
			t.Errorf("%d bytes come back as %d at %v, %v", test.size, len(e.Value), e.Rev, err)
		}
	}
}

// Pieces of different commits are never joined, whichever are mixed.
func TestMixedPieces(t *testing.T) {
	s := codec(t)
	a := as(s.documentMessages("a", statestore.Write{Key: "k", Value: noise(2*statestore.PieceSize + 1)}), 1)
	b := as(s.documentMessages("b", statestore.Write{Key: "k", Value: noise(2*statestore.PieceSize + 1)}), 9)
	for mix := range 1 << len(a) {
		msgs := slices.Clone(a)
		for i := range msgs {
			if mix>>i&1 == 1 {
				msgs[i] = b[i]
			}
		}
		_, err := s.assemble("k", msgs)
		if whole := mix == 0 || mix == 1<<len(a)-1; whole != (err == nil) || !whole && !errors.Is(err, errMixed) {
			t.Errorf("mix %b: %v", mix, err)
		}
	}
	for name, msgs := range map[string][]stored{"one missing": a[:2], "one doubled": {a[0], a[1], a[1]}, "disordered": {a[0], a[2], a[1]}} {
		if _, err := s.assemble("k", msgs); !errors.Is(err, errMixed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedDocument(t *testing.T) {
	s := codec(t)
	msgs := as(s.documentMessages("a", statestore.Write{Key: "k", Value: noise(1000)}), 1)
	msgs[0].data[500] ^= 1
	if _, err := s.assemble("k", msgs); err == nil || errors.Is(err, errMixed) || errors.Is(err, statestore.ErrNotFound) {
		t.Errorf("a flipped bit: %v", err)
	}
}

func FuzzParsePiece(f *testing.F) {
	f.Add("c 0 1 1")
	f.Add("c 1 2 3")
	f.Add("c -1 2 3")
	f.Add("c 0 99999999999 1")
	f.Fuzz(func(t *testing.T, value string) {
		h := nats.Header{}
		h.Set(pieceHeader, value)
		p, err := parsePiece(h)
		if err != nil {
			return
		}
		if p.index < 0 || p.pieces < 0 || p.span < 1 || p.pieces > p.span || p.index >= p.span || p.span > statestore.MaxMessages {
			t.Errorf("%q is %+v", value, p)
		}
		h.Set(pieceHeader, p.String())
		if again, err := parsePiece(h); err != nil || again != p {
			t.Errorf("%+v reads back as %+v, %v", p, again, err)
		}
	})
}

// A document whose bytes are anything is refused or read, and never more than
// what its frame holds.
func FuzzAssemble(f *testing.F) {
	s := codec(f)
	f.Add(s.enc.EncodeAll([]byte("hello"), nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := nats.Header{}
		h.Set(pieceHeader, piece{"c", 0, 1, 1}.String())
		e, err := s.assemble("k", []stored{{seq: 1, header: h, data: data}})
		if (err == nil) != (e.Value != nil) {
			t.Errorf("%v with a value %v", err, e.Value != nil)
		}
	})
}
