package slots_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

// gate is one process's way to the store. When it is shut nothing gets through
// any more, as for a killed process; while it is paused calls wait and then go
// through, as for one that was stopped and wakes up.
type gate struct {
	statestore.Store
	shut   atomic.Bool
	paused atomic.Pointer[chan struct{}] // closed when the process wakes up
}

func (g *gate) pause() {
	c := make(chan struct{})
	g.paused.Store(&c)
}

func (g *gate) wake() {
	if c := g.paused.Swap(nil); c != nil {
		close(*c)
	}
}

// enter waits while the process is paused, and tells whether it was killed.
func (g *gate) enter() error {
	if c := g.paused.Load(); c != nil {
		<-*c
	}
	if g.shut.Load() {
		return errKilled
	}
	return nil
}

func (g *gate) Watch(ctx context.Context, prefix string) iter.Seq2[statestore.Change, error] {
	return func(yield func(statestore.Change, error) bool) {
		for c, err := range g.Store.Watch(ctx, prefix) {
			if dead := g.enter(); dead != nil || !yield(c, err) {
				return
			}
		}
	}
}

var errKilled = errors.New("killed")

func (g *gate) Get(ctx context.Context, key string) (statestore.Entry, error) {
	if err := g.enter(); err != nil {
		return statestore.Entry{}, err
	}
	return g.Store.Get(ctx, key)
}

func (g *gate) Put(ctx context.Context, w statestore.Write) (statestore.Rev, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	return g.Store.Put(ctx, w)
}

func (g *gate) Apply(ctx context.Context, c statestore.Commit) ([]statestore.Rev, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	return g.Store.Apply(ctx, c)
}

func (g *gate) Outcome(ctx context.Context, c statestore.Commit) ([]statestore.Rev, bool, error) {
	if err := g.enter(); err != nil {
		return nil, false, err
	}
	return g.Store.Outcome(ctx, c)
}

// sim runs members over a faulty store and checks after each accepted commit
// that no slot ever went back and that each continued where the last one ended.
type sim struct {
	*world
	mu    sync.Mutex // guards rnd, gates and bad
	rnd   *rand.Rand
	gates map[string]*gate
	bad   string

	steps sync.Mutex // guards all below
	step  [3]uint64  // of each slot, as accepted
	term  [3]uint64
}

func (s *sim) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

func (s *sim) reached() [3]uint64 {
	s.steps.Lock()
	defer s.steps.Unlock()
	return s.step
}

func (s *sim) killed(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[name]
	return g != nil && (g.shut.Load() || g.paused.Load() != nil)
}

func (s *sim) of(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gates[name]
}

func (s *sim) gate(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates[name] = &gate{Store: s.store}
	return s.gates[name]
}

// count is the work of the simulation: it adds one to a head and the
// checkpoint, again and again, from where the slot was left.
func (s *sim) count(ctx context.Context, o *slots.Owned) error {
	key := fmt.Sprintf("head.%d.s.a", o.Slot())
	n := o.Checkpoint().StreamSeq
	var entry statestore.Entry
	for {
		var err error
		if entry, err = s.store.Get(ctx, key); err == nil || errors.Is(err, statestore.ErrNotFound) {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n > 0 && string(entry.Value) != strconv.FormatUint(n, 10) {
		s.fail("slot %d: checkpoint %d, but head %s: a commit was torn", o.Slot(), n, entry.Value)
	}
	rev := entry.Rev
	for ctx.Err() == nil {
		select {
		case <-o.Draining():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
		n++
		results, err := o.Commit(ctx, []slots.Group{group(key, strconv.FormatUint(n, 10), rev)}, at(n))
		if err != nil {
			return err // lost or stopped
		}
		if results[0].Err != nil {
			return results[0].Err
		}
		rev = results[0].Revs[0]
	}
	return nil
}

func (s *sim) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
	}
}

// accepted is called by the store before it stores a commit.
func (s *sim) accepted(c statestore.Commit) {
	s.steps.Lock()
	defer s.steps.Unlock()
	for _, f := range c.Fences {
		if f.Term < s.term[f.Slot] {
			s.fail("slot %d: a commit of term %d was accepted when the term was at least %d", f.Slot, f.Term, s.term[f.Slot])
		}
		s.term[f.Slot] = f.Term
	}
	for _, w := range c.Writes {
		for slot := range s.step {
			if w.Key == statestore.TermKey(role, slot) {
				s.term[slot]++ // taken or released: what wrote so far is over
			}
			if w.Key != statestore.CheckpointKey(role, slot) {
				continue
			}
			ckpt, err := slots.DecodeCheckpoint(w.Value)
			if err != nil || ckpt.StreamSeq != s.step[slot]+1 {
				s.fail("slot %d: checkpoint %d was accepted after %d", slot, ckpt.StreamSeq, s.step[slot])
			}
			s.step[slot] = ckpt.StreamSeq
		}
	}
}

func (s *sim) faults(percent int) memstate.Inject {
	return func(op memstate.Op) memstate.Fault {
		if s.intN(100) >= percent {
			return memstate.None
		}
		return memstate.Fault(s.intN(int(memstate.Late) + 1))
	}
}

// run plays a scenario out of a seed and returns what went wrong.
func (s *sim) run() string {
	s.store.Observe(s.accepted)
	s.store.Inject(s.faults(30))
	members := map[string]*process{}
	start := func(name string) {
		members[name] = s.startOn(name, s.gate(name), s.count)
	}
	s.members.Down(func(_, name string) bool {
		return name != "" && (s.killed(name) || s.intN(100) < 5)
	})
	var stopped []*process
	for range 25 {
		name := fmt.Sprint("m", s.intN(3))
		switch p := members[name]; {
		case p == nil:
			start(name)
		case s.intN(4) == 0: // clean stop
			s.of(name).wake()
			p.stop()
			stopped = append(stopped, p)
			delete(members, name)
			if err := <-p.done; err != nil {
				s.fail("%v", err)
			}
			stopped = stopped[:len(stopped)-1]
		case s.intN(4) == 0: // kill
			g := s.of(name)
			g.shut.Store(true)
			g.wake()
			p.stop()
			stopped = append(stopped, p)
			delete(members, name)
		case s.of(name).paused.Load() != nil:
			s.of(name).wake()
		case s.intN(2) == 0:
			s.of(name).pause()
		default:
			s.store.DeliverLate()
		}
		time.Sleep(time.Duration(s.intN(8000)) * time.Millisecond)
	}
	// Without faults everything is taken and moves on.
	for name := range members {
		s.of(name).wake()
	}
	s.store.Inject(nil)
	s.members.Down(func(_, name string) bool { return s.killed(name) })
	if members["m0"] == nil {
		start("m0")
	}
	time.Sleep(40 * time.Second)
	synctest.Wait()
	before := s.reached()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	for slot, n := range s.reached() {
		if n <= before[slot] {
			s.fail("slot %d stands still at %d", slot, before[slot])
		}
	}
	if in, _ := s.store.DeliverLate(); in > 0 {
		s.fail("%d late commits were accepted at the end", in)
	}
	for _, p := range members {
		p.stop()
		stopped = append(stopped, p)
	}
	for _, p := range stopped {
		if err := <-p.done; err != nil {
			s.fail("%v", err)
		}
	}
	return s.bad
}

// Whatever happens to members, requests and answers: the writes of two owners
// are never mixed, a checkpoint never goes back, a late batch changes nothing,
// and when the faults end all slots move on.
func TestSimulation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		var bad string
		synctest.Test(t, func(t *testing.T) {
			s := &sim{world: newWorld(t, 3), rnd: rand.New(rand.NewPCG(seed, 0)), gates: map[string]*gate{}}
			bad = s.run()
		})
		if bad != "" {
			rt.Fatal(bad)
		}
	})
}
