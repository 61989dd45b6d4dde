package codec_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/internal/codec"
)

type state struct {
	U, Word uint64
	I       int
	B       bool
	S       string
	Bytes   []byte
	List    []string
}

func (s *state) walk(w *codec.Walker) {
	w.Uint(&s.U)
	w.Word(&s.Word)
	w.Int(&s.I)
	w.Bool(&s.B)
	codec.String(w, &s.S)
	w.Bytes(&s.Bytes)
	codec.List(w, &s.List, func(e *string) { codec.String(w, e) })
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := state{
			U: rapid.Uint64().Draw(t, "u"), Word: rapid.Uint64().Draw(t, "word"), I: rapid.Int().Draw(t, "i"),
			B: rapid.Bool().Draw(t, "b"), S: rapid.String().Draw(t, "s"),
			Bytes: rapid.SliceOfN(rapid.Byte(), 1, -1).Draw(t, "bytes"), List: rapid.SliceOfN(rapid.String(), 1, -1).Draw(t, "list"),
		}
		data := codec.Encode(nil, want.walk)
		var got state
		if err := codec.DecodeExact(data, got.walk, got.walk); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v %v, want %+v", got, err, want)
		}
		if cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut"); !errors.Is(codec.Decode(data[:cut], new(state).walk), codec.ErrCorrupt) {
			t.Fatalf("cut at %d of %d is accepted", cut, len(data))
		}
		if !errors.Is(codec.Decode(append(data, 0), new(state).walk), codec.ErrCorrupt) {
			t.Fatal("one byte more is accepted")
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, data []byte) {
		var s state
		_ = codec.DecodeExact(data, s.walk, s.walk)
	})
}
