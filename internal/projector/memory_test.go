package projector_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

// Idle agents are let go and come back with what they were.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		sessions := map[string][]string{}
		for i := range 50 {
			s := fmt.Sprint("s", i)
			w.publish(s, "main", "turn.started", `{"prompt":"x"}`)
			w.publish(s, "sub", "turn.started", `{"prompt":"x"}`)
			sessions[s] = []string{"main", "sub"}
		}
		time.Sleep(10 * time.Second)
		if agents, sess := p.held(); agents != 100 || sess != 50 {
			t.Errorf("holds %d agents of %d sessions", agents, sess)
		}
		time.Sleep(30 * time.Second)
		if agents, sess := p.held(); agents != 0 || sess != 0 {
			t.Errorf("still holds %d agents of %d sessions", agents, sess)
		}
		for s := range sessions {
			w.publish(s, "sub", "assistant.delta", `{"delta":"x"}`)
		}
		time.Sleep(35 * time.Second)
		same(t, w.log, w.store, sessions)
		if r := w.row("s7"); r.Agents != 2 || r.Events != 3 {
			t.Errorf("row %+v", r)
		}
		p.end(t)
	})
}

// With more agents than may be held the longest untouched go first, and
// reading waits for what is unsaved.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{Agents: 10, Unsaved: 40})
		sessions := map[string][]string{}
		synctest.Wait()
		w.store.Inject(func(op memstate.Op) memstate.Fault {
			if op.Kind == memstate.OpApply {
				return memstate.Busy
			}
			return memstate.None
		})
		for i := range 2000 {
			s := fmt.Sprint("s", i)
			w.publish(s, "main", "turn.started", `{"prompt":"x"}`)
			sessions[s] = []string{"main"}
		}
		time.Sleep(10 * time.Second)
		if agents, _ := p.held(); agents < 40 || agents > 40+512 {
			t.Errorf("holds %d agents while nothing can be saved", agents)
		}
		time.Sleep(40 * time.Second)
		if p.Ready() == nil {
			t.Error("ready although nothing moves")
		}
		w.store.Inject(nil)
		time.Sleep(60 * time.Second)
		same(t, w.log, w.store, sessions)
		if err := p.Ready(); err != nil {
			t.Error(err)
		}
		p.end(t)
	})
}
