package kvstate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/kvstate"
)

// text is n bytes that compress about as well as a transcript.
func text(n int) []byte {
	words := []string{"the ", "session ", "\"frameId\":", "output ", "line ", "{\"kind\":\"text\"", "error ", "0123 "}
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < n {
		b = append(b, words[r.IntN(len(words))]...)
	}
	return b[:n]
}

// BenchmarkApply is a fenced commit of some heads, on a server that syncs every
// batch before it answers and on one that does not.
func BenchmarkApply(b *testing.B) {
	for _, sync := range []bool{false, true} {
		for _, shape := range []struct{ heads, size int }{{1, 2_000}, {100, 2_000}, {10, 200_000}} {
			b.Run(fmt.Sprintf("sync=%v/heads=%d/size=%d", sync, shape.heads, shape.size), func(b *testing.B) {
				opts := []natstest.Option{natstest.NoListen()}
				if sync {
					opts = append(opts, natstest.Durable())
				}
				s, err := kvstate.New(natstest.StartNode(b, opts...).Conn())
				if err != nil {
					b.Fatal(err)
				}
				term, err := s.Put(b.Context(), statestore.Write{Key: "term.projector.0", Value: []byte("me")})
				if err != nil {
					b.Fatal(err)
				}
				value := text(shape.size)
				c := statestore.Commit{Fences: []statestore.Fence{{Role: "projector", Slot: 0, Term: term[0]}}}
				for i := range shape.heads {
					c.Writes = append(c.Writes, statestore.Write{Key: fmt.Sprintf("head.0.s%d.main", i), Value: value})
				}
				b.SetBytes(int64(shape.heads * shape.size))
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					c.ID = fmt.Sprint("c", i)
					revs, err := s.Apply(b.Context(), c)
					if err != nil {
						b.Fatal(err)
					}
					for j := range revs {
						c.Writes[j].Expect = revs[j]
					}
				}
			})
		}
	}
}
