package slots_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/kvstate"
)

// On a real server: a clean stop hands everything over at once; a member that
// is silent loses its slots, and what it writes when it wakes up is refused.
func TestOnNATS(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	const count = 8
	start := func(name string) (*process, *silence) {
		store, err := kvstate.New(n.Connect())
		if err != nil {
			t.Fatal(err)
		}
		quiet := &silence{Members: kvstate.NewMembers(n.Connect())}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		p := &process{stop: stop, done: make(chan error, 1), owned: map[int]*slots.Owned{}}
		// The silent member does not see that its terms have moved either.
		p.Member = slots.New(slots.Config{
			Role: role, Name: name, Slots: count, Store: blind{store}, Members: quiet,
			Timing: slots.Timing{Late: time.Hour},
		})
		go func() {
			p.done <- p.Run(ctx, func(ctx context.Context, o *slots.Owned) error {
				p.mu.Lock()
				p.owned[o.Slot()] = o
				p.mu.Unlock()
				return wait(ctx, o)
			})
		}()
		return p, quiet
	}
	holdsAll := func(p *process, within time.Duration) time.Duration {
		t.Helper()
		begin := time.Now()
		for len(p.holds()) < count {
			if time.Since(begin) > within {
				t.Fatalf("holds %v after %v", p.holds(), within)
			}
			time.Sleep(5 * time.Millisecond)
		}
		return time.Since(begin)
	}
	a, _ := start("a")
	holdsAll(a, 5*time.Second)
	for slot := range count {
		if _, err := a.slot(t, slot).Commit(t.Context(), nil, at(5)); err != nil {
			t.Fatal(err)
		}
	}
	a.end(t)
	// Well below a member's time to live: it was told, it did not find out.
	b, quiet := start("b")
	t.Logf("all slots taken %v after a clean stop", holdsAll(b, kvstate.MemberTTL/2))
	zombies := map[int]*slots.Owned{}
	for slot := range count {
		zombies[slot] = b.slot(t, slot)
		if got := zombies[slot].Checkpoint().StreamSeq; got != 5 {
			t.Errorf("slot %d begins at %d", slot, got)
		}
	}
	quiet.on()
	c, _ := start("c")
	t.Logf("all slots taken %v after a member fell silent", holdsAll(c, 4*kvstate.MemberTTL))
	for slot, o := range zombies {
		key := fmt.Sprintf("head.%d.s.a", slot)
		if _, err := o.Commit(t.Context(), []slots.Group{group(key, "zombie", nil)}, at(6)); !errors.Is(err, slots.ErrLost) {
			t.Errorf("slot %d: a zombie's commit: %v", slot, err)
		}
		if _, err := c.slot(t, slot).Commit(t.Context(), []slots.Group{group(key, "owner", nil)}, at(7)); err != nil {
			t.Error(err)
		}
	}
	b.end(t)
	c.end(t)
}

// silence is a member's way to the others, which can be cut.
type silence struct {
	statestore.Members
	cut atomic.Bool
}

func (s *silence) on() { s.cut.Store(true) }

func (s *silence) Beat(ctx context.Context, role, name string) error {
	if s.cut.Load() {
		return errors.New("silent")
	}
	return s.Members.Beat(ctx, role, name)
}

func (s *silence) Live(ctx context.Context, role string) ([]string, error) {
	if s.cut.Load() {
		return nil, errors.New("silent")
	}
	return s.Members.Live(ctx, role)
}

// blind is a store that never tells of changes.
type blind struct{ statestore.Store }

func (b blind) Watch(ctx context.Context, _ string) iter.Seq2[statestore.Change, error] {
	return func(func(statestore.Change, error) bool) { <-ctx.Done() }
}
