package gateway

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// Watchers of every grade that come at any moment, while live messages get
// lost, hold what the offline fold holds at their grade, and are told every
// batch once and in order.
func TestWatchersEqualTheFold(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { watchersEqualTheFold(t, seed) })
	}
}

func watchersEqualTheFold(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, func(r *rig) {
		if seed%2 == 1 {
			r.limits.RingBytes = 8 << 10 // clients fall behind it
		}
	})
	lossy := rand.New(rand.NewPCG(seed, 2))
	r.log.SetFaults(memlog.Faults{Live: func(eventlog.Record) bool { return lossy.IntN(5) == 0 }})
	agents := []string{"main", "sub-1", "a.b"}
	var writers []*writer
	for i, a := range agents {
		writers = append(writers, &writer{r: r, rnd: rand.New(rand.NewPCG(seed, uint64(10+i))), s: "s.1", a: a})
	}
	var clients []*client
	specs := []grade.Grade{grade.Turn, grade.Block, grade.Delta}
	for i := range 600 {
		if i%40 == 0 {
			g := specs[rnd.IntN(len(specs))]
			var caps []string
			if rnd.IntN(2) == 0 {
				caps = []string{protocol.CapabilityAppendInput}
			}
			c := r.dial(caps...)
			c.grade = g
			c.watch("s.1", grade.Spec{"*": g}, nil, "")
			clients = append(clients, c)
		}
		active := 1 + i*len(writers)/600 // agents appear later
		writers[rnd.IntN(active)].next()
	}
	for _, w := range writers {
		w.end()
	}
	for _, a := range agents {
		want := r.folded("s.1", a)
		for i, c := range clients {
			c.reaches(a, want.Seq())
			if got, want := c.state(a), wantState(want, c.grade); got != want {
				t.Errorf("watcher %d of %s at %s holds\n%s\nthe fold\n%s", i, a, c.grade, got, want)
			}
		}
	}
}
