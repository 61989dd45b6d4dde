package slots_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const role = statestore.RoleProjector

// world is a state and its members. Time is that of the synctest bubble.
type world struct {
	t       *testing.T
	store   *memstate.Store
	members *memstate.Members
	slots   int
}

func newWorld(t *testing.T, slots int) *world {
	return &world{t: t, store: memstate.New(), members: memstate.NewMembers(), slots: slots}
}

// process is a running member.
type process struct {
	*slots.Member
	stop context.CancelFunc
	done chan error

	mu    sync.Mutex
	owned map[int]*slots.Owned
}

func (w *world) start(name string, work slots.Work) *process {
	return w.startOn(name, w.store, work)
}

func (w *world) startOn(name string, store statestore.Store, work slots.Work) *process {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	p := &process{stop: stop, done: make(chan error, 1), owned: map[int]*slots.Owned{}}
	p.Member = slots.New(slots.Config{Role: role, Name: name, Slots: w.slots, Store: store, Members: w.members})
	go func() {
		p.done <- p.Run(ctx, func(ctx context.Context, o *slots.Owned) error {
			p.mu.Lock()
			p.owned[o.Slot()] = o
			p.mu.Unlock()
			defer func() {
				p.mu.Lock()
				delete(p.owned, o.Slot())
				p.mu.Unlock()
			}()
			return work(ctx, o)
		})
	}()
	return p
}

func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func (p *process) holds() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.owned))
}

func (p *process) slot(t *testing.T, n int) *slots.Owned {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owned[n] == nil {
		t.Fatalf("slot %d is not owned", n)
	}
	return p.owned[n]
}

// wait owns a slot until it is told to hand it over or loses it.
func wait(ctx context.Context, o *slots.Owned) error {
	select {
	case <-ctx.Done():
	case <-o.Draining():
	}
	return nil
}

func group(kv ...any) slots.Group {
	var g slots.Group
	for i := 0; i < len(kv); i += 3 {
		expect, _ := kv[i+2].(statestore.Rev)
		g.Writes = append(g.Writes, statestore.Write{Key: kv[i].(string), Value: []byte(kv[i+1].(string)), Expect: expect})
	}
	return g
}

func at(seq uint64) *slots.Checkpoint { return &slots.Checkpoint{Stream: "S", StreamSeq: seq} }

// saved is the slot's checkpoint in the store.
func (w *world) saved(slot int) uint64 {
	e, err := w.store.Get(w.t.Context(), statestore.CheckpointKey(role, slot))
	if errors.Is(err, statestore.ErrNotFound) {
		return 0
	}
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := slots.DecodeCheckpoint(e.Value)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.StreamSeq
}

func (w *world) value(key string) string {
	e, err := w.store.Get(w.t.Context(), key)
	if errors.Is(err, statestore.ErrNotFound) {
		return "absent"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(e.Value)
}
