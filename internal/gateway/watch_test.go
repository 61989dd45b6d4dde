package gateway

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

var seeds = flag.Uint64("seeds", 4, "how many random stories a test of them tells")

// Watchers of every grade that come at any moment, while live messages get
// lost, hold what the offline fold holds at their grade, and are told every
// batch once and in order. `-seeds 100` is the deep run.
func TestWatchersEqualTheFold(t *testing.T) {
	for seed := range *seeds {
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

// Clients that change their minds while events flow are told no batch twice,
// none too few, and end with the fold's state.
func TestChurn(t *testing.T) {
	r := newRig(t, func(r *rig) { r.limits.RingBytes = 64 << 10 })
	lossy := rand.New(rand.NewPCG(9, 9))
	r.log.SetFaults(memlog.Faults{Live: func(eventlog.Record) bool { return lossy.IntN(10) == 0 }})
	fill(r, "s", "main", 20)
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	for i, a := range []string{"main", "sub"} {
		w := &writer{r: r, rnd: rand.New(rand.NewPCG(5, uint64(i))), s: "s", a: a, turn: 100, call: 1000}
		publishing.Go(func() {
			defer w.end()
			for n := range 3000 { // a slow machine gets no more to do
				select {
				case <-stop:
					return
				default:
					w.next()
				}
				if n%4 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	var clients []*client
	var churning sync.WaitGroup
	for i := range 6 {
		c := r.dial(protocol.CapabilityAppendInput)
		clients = append(clients, c)
		rnd := rand.New(rand.NewPCG(6, uint64(i)))
		churning.Go(func() {
			for range 25 {
				spec := grade.Spec{}
				for _, a := range []string{"*", "main"} {
					if rnd.IntN(3) > 0 {
						spec[a] = grade.Grade(rnd.IntN(4))
					}
				}
				c.watch("s", spec, nil, "")
				if rnd.IntN(5) == 0 {
					un := protocol.Unsubscribe{SessionID: "s"}
					c.send(protocol.TypeUnsubscribe, un.AppendJSON(nil))
				}
				time.Sleep(time.Duration(rnd.IntN(10)) * time.Millisecond)
			}
			c.watch("s", grade.Spec{"*": grade.Turn}, nil, "")
			c.watch("s", grade.Spec{"*": grade.Delta}, nil, "")
		})
	}
	churning.Wait()
	close(stop)
	publishing.Wait()
	for _, a := range []string{"main", "sub"} {
		want := r.folded("s", a)
		for i, c := range clients {
			c.reaches(a, want.Seq())
			if got, want := c.state(a), wantState(want, grade.Delta); got != want {
				t.Errorf("client %d holds of %s\n%s\nthe fold\n%s", i, a, got, want)
			}
		}
	}
}
