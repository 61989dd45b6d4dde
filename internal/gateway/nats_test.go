package gateway

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/statestore/kvstate"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// On a real server, which is started anew while events flow, watchers of every
// grade hold the fold's state, and a late one too.
func TestOnNATS(t *testing.T) {
	node := natstest.StartNode(t)
	log, err := jslog.New(node.JS(), jslog.Config{Slots: node.Topology().Slots, Streams: node.Topology().Streams})
	if err != nil {
		t.Fatal(err)
	}
	state, err := kvstate.New(node.Conn())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(r *rig) {
		r.events, r.store = log, state
		r.limits.IdleCheck = 200 * time.Millisecond
	})
	var clients []*client
	join := func() {
		for _, g := range []grade.Grade{grade.Turn, grade.Block, grade.Delta} {
			c := r.dial(protocol.CapabilityAppendInput)
			c.grade = g
			c.watch("s.1", grade.Spec{"*": g}, nil, "")
			clients = append(clients, c)
		}
	}
	join()
	var writers []*writer
	for i, a := range []string{"main", "a.b"} {
		writers = append(writers, &writer{r: r, rnd: rand.New(rand.NewPCG(4, uint64(i))), s: "s.1", a: a})
	}
	for i := range 300 {
		switch i {
		case 100:
			node.Restart()
		case 200:
			join()
		}
		writers[i%2].next()
	}
	for _, w := range writers {
		w.end()
	}
	for _, a := range []string{"main", "a.b"} {
		want := r.folded("s.1", a)
		for i, c := range clients {
			c.reaches(a, want.Seq())
			if got, want := c.state(a), wantState(want, c.grade); got != want {
				t.Errorf("watcher %d of %s at %s holds\n%s\nthe fold\n%s", i, a, c.grade, got, want)
			}
		}
	}
	if c := clients[2]; c.resets["main"] != 1 {
		t.Errorf("%d resets", c.resets["main"])
	}
}
