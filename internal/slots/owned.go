package slots

import (
	"context"
	"errors"
)

// Owned is one slot while this member owns it. Methods may be called
// concurrently.
type Owned struct {
	m        *Member
	slot     int
	term     uint64
	ckpt     Checkpoint
	draining chan struct{}
}

// Slot is the slot's number.
func (o *Owned) Slot() int { return o.slot }

// Term is the number of this ownership; it rises with every take.
func (o *Owned) Term() uint64 { return o.term }

// Checkpoint is what was saved before this ownership began.
func (o *Owned) Checkpoint() Checkpoint { return o.ckpt }

// Draining is closed when the slot is to be handed over.
func (o *Owned) Draining() <-chan struct{} { return o.draining }

// Commit saves the groups and, when all of them are written, the checkpoint
// (nil leaves it). It retries until the outcome is certain or ctx ends.
// A group that Result says was left out leaves the checkpoint where it was.
// The error is ErrLost, ctx's, or one that no retry heals.
func (o *Owned) Commit(ctx context.Context, groups []Group, ckpt *Checkpoint) ([]Result, error) {
	return nil, errors.ErrUnsupported
}
