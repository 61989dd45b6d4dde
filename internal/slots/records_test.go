package slots

import (
	"testing"
	"time"
)

func TestCheckpointCodec(t *testing.T) {
	want := Checkpoint{Stream: "S", Created: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), StreamSeq: 1 << 60, Fold: 3}
	b, err := encodeCheckpoint(want, 9)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"stream":"S","stream_created":"2026-01-02T03:04:05.000000678Z","stream_seq":1152921504606846976,"term":9,"fold":3}`
	if string(b) != text {
		t.Errorf("encoded as %s, want %s", b, text)
	}
	if got, err := DecodeCheckpoint(b); err != nil || got != want {
		t.Errorf("decoded as %+v, %v", got, err)
	}
}

func FuzzDecodeCheckpoint(f *testing.F) {
	f.Add([]byte(`{"stream":"S","stream_created":"2026-01-02T03:04:05Z","stream_seq":1,"term":9}`))
	f.Add([]byte(`{"stream_seq":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCheckpoint(b)
		if err != nil {
			return
		}
		again, err := encodeCheckpoint(c, 1)
		if err != nil {
			return // a year that JSON cannot hold
		}
		if d, err := DecodeCheckpoint(again); err != nil || !d.Created.Equal(c.Created) || d.Stream != c.Stream || d.StreamSeq != c.StreamSeq || d.Fold != c.Fold {
			t.Errorf("%+v reads back as %+v, %v", c, d, err)
		}
	})
}
