package slots

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/statestore"
)

// Owned is one slot while this member owns it. Methods may be called
// concurrently.
type Owned struct {
	m    *Member
	slot int

	// Set when the slot has been taken, before the work begins.
	term uint64
	ckpt Checkpoint

	ctx      context.Context // of the work; its cause says why it ended
	end      context.CancelCauseFunc
	draining chan struct{}
	drain    sync.Once

	// ckptRev is used by the taking goroutine and then by the committer only.
	ckptRev statestore.Rev
}

func (m *Member) newOwned(base context.Context, slot int) *Owned {
	o := &Owned{m: m, slot: slot, draining: make(chan struct{})}
	o.ctx, o.end = context.WithCancelCause(base)
	return o
}

// Slot is the slot's number.
func (o *Owned) Slot() int { return o.slot }

// Term is the number of this ownership; it rises with every take.
func (o *Owned) Term() uint64 { return o.term }

// Checkpoint is what was saved before this ownership began.
func (o *Owned) Checkpoint() Checkpoint { return o.ckpt }

// Draining is closed when the slot is to be handed over.
func (o *Owned) Draining() <-chan struct{} { return o.draining }

// handOver asks the work to commit and return, within the time to drain.
func (o *Owned) handOver() {
	o.drain.Do(func() {
		close(o.draining)
		late := time.AfterFunc(o.m.cfg.Timing.Drain, func() {
			o.end(fmt.Errorf("%w: slot %d did not drain in %v", ErrStopped, o.slot, o.m.cfg.Timing.Drain))
		})
		context.AfterFunc(o.ctx, func() { late.Stop() })
	})
}

// lost tells whether the slot is no longer this member's to write, and cause
// why.
func (o *Owned) lost() bool { return o.ctx.Err() != nil }

func (o *Owned) cause() error { return context.Cause(o.ctx) }

// get reads a key until the leader answers or the slot is lost.
func (o *Owned) get(key string) (statestore.Entry, error) { return o.m.get(o.ctx, key) }

// Group is a set of writes that stay together in one batch: the keys of one
// agent. Each Write expects the revision that was read or written last.
type Group struct {
	Writes []statestore.Write
}

// Result is what became of a group: the new revision of each write in order,
// or an error that wraps ErrMoved or statestore.ErrTooLarge.
type Result struct {
	Revs []statestore.Rev
	Err  error
}

// Commit saves the groups and, when all of them are written, the checkpoint
// (nil leaves it). It retries until the outcome is certain. A group that its
// Result says was left out leaves the checkpoint where it was.
//
// The error is ErrLost, ErrStopped or one that no retry heals; the results are
// then nil. When ctx ends first its error is returned and the outcome unknown:
// the work must return.
func (o *Owned) Commit(ctx context.Context, groups []Group, ckpt *Checkpoint) ([]Result, error) {
	if len(groups) == 0 && ckpt == nil {
		return nil, nil
	}
	r := &request{slot: o, results: make([]Result, len(groups)), ckpt: ckpt, done: make(chan error, 1)}
	for i, g := range groups {
		r.units = append(r.units, unit{request: r, index: i, writes: g.Writes})
	}
	select {
	case o.m.requests <- r:
	case <-o.ctx.Done():
		return nil, o.cause()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-r.done:
		if err != nil {
			return nil, err
		}
		return r.results, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
