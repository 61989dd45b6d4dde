package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stenohq/steno/internal/statestore"
)

// commitLoop writes what the slots ask for, one batch at a time: what comes in
// while a batch is under way goes into the next one together.
func (m *Member) commitLoop(ctx context.Context) {
	var queue []*request
	defer func() {
		for _, r := range queue {
			r.end(ErrStopped)
		}
	}()
	for {
		if len(queue) == 0 {
			select {
			case <-ctx.Done():
				return
			case r := <-m.requests:
				queue = append(queue, r)
			}
		}
		for more := true; more; {
			select {
			case r := <-m.requests:
				queue = append(queue, r)
			default:
				more = false
			}
		}
		var round []*request
		round, queue = onePerSlot(queue)
		m.settle(ctx, round)
	}
}

// onePerSlot keeps a slot's second request for the next round: a batch writes
// each checkpoint once.
func onePerSlot(queue []*request) (round, rest []*request) {
	for _, r := range queue {
		if slices.ContainsFunc(round, func(q *request) bool { return q.slot == r.slot }) {
			rest = append(rest, r)
		} else {
			round = append(round, r)
		}
	}
	return round, rest
}

// settle writes the requests, in as many batches as it takes, and answers each.
func (m *Member) settle(ctx context.Context, round []*request) {
	limit := statestore.MaxMessages
	pause := m.newPause()
	for {
		if round = prune(ctx, round); len(round) == 0 {
			return
		}
		b, err := newBatch(round, limit)
		if err == nil {
			err = m.send(ctx, b)
		}
		switch {
		case err == nil, errors.Is(err, errAbandoned):
		case errors.Is(err, statestore.ErrTooLarge) && b.units > 1:
			limit = b.units / 2
		case errors.Is(err, statestore.ErrTooLarge) && b.units == 1:
			b.dropOnly(err)
		case errors.Is(err, statestore.ErrConflict), errors.Is(err, statestore.ErrFenced):
			if !m.sift(b) {
				pause.wait(ctx) // refused, yet nothing has moved
			}
		default:
			for _, s := range b.shares {
				s.request.end(err)
			}
		}
	}
}

// prune answers the requests that are finished or whose slot is lost.
func prune(ctx context.Context, round []*request) []*request {
	return slices.DeleteFunc(round, func(r *request) bool {
		switch {
		case r.ended:
		case ctx.Err() != nil:
			r.end(ErrStopped)
		case r.slot.lost():
			r.end(r.slot.cause())
		case len(r.units) == 0 && r.ckpt == nil: // all left out
			r.end(nil)
		}
		return r.ended
	})
}

// dropOnly leaves out the batch's single unit.
func (b *batch) dropOnly(err error) {
	i := slices.IndexFunc(b.shares, func(s share) bool { return s.n == 1 })
	r := b.shares[i].request
	r.units[0].leaveOut(err)
	r.units = r.units[1:]
}

// errAbandoned: every slot of the batch is lost, or the member stops.
var errAbandoned = errors.New("batch abandoned")

func (b *batch) abandoned(ctx context.Context) bool {
	return ctx.Err() != nil || !slices.ContainsFunc(b.shares, func(s share) bool { return !s.request.slot.lost() })
}

// send writes a batch and returns when it is certain what became of it: nil
// when it was written, otherwise nothing of it was and never will be, except
// for errAbandoned.
func (m *Member) send(ctx context.Context, b *batch) error {
	inDoubt := false // an earlier attempt may have been written or yet arrive
	for pause := m.newPause(); ; pause.wait(ctx) {
		if m.awaitHeartbeat(ctx, b); b.abandoned(ctx) {
			return errAbandoned
		}
		revs, err := m.attemptApply(ctx, b.commit)
		if err == nil {
			b.written(revs)
			return nil
		}
		busy, ambiguous := errors.Is(err, statestore.ErrBusy), errors.Is(err, statestore.ErrAmbiguous)
		inDoubt = inDoubt || ambiguous
		if inDoubt && !busy {
			revs, written, err := m.outcome(ctx, b)
			if err != nil {
				return err
			}
			if written {
				b.written(revs)
				return nil
			}
		}
		if !busy && !ambiguous {
			return err
		}
		m.cfg.Logger.Debug("commit is sent again", "role", m.cfg.Role, "commit", b.commit.ID, "error", err)
	}
}

func (m *Member) attemptApply(ctx context.Context, c statestore.Commit) ([]statestore.Rev, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timing.Attempt)
	defer cancel()
	return m.cfg.Store.Apply(ctx, c)
}

// outcome asks until the leader answers.
func (m *Member) outcome(ctx context.Context, b *batch) ([]statestore.Rev, bool, error) {
	for pause := m.newPause(); ; pause.wait(ctx) {
		if b.abandoned(ctx) {
			return nil, false, errAbandoned
		}
		attempt, cancel := context.WithTimeout(ctx, m.cfg.Timing.Attempt)
		revs, written, err := m.cfg.Store.Outcome(attempt, b.commit)
		cancel()
		if err == nil {
			return revs, written, nil
		}
		m.cfg.Logger.Warn("read the outcome of a commit", "role", m.cfg.Role, "commit", b.commit.ID, "error", err)
	}
}

// awaitHeartbeat waits while the last heartbeat is late: a member that may not
// be one any more does not write.
func (m *Member) awaitHeartbeat(ctx context.Context, b *batch) {
	for !b.abandoned(ctx) {
		late, beat := m.late()
		if !late {
			return
		}
		timer := time.NewTimer(m.cfg.Timing.Beat) // look whether it is abandoned
		select {
		case <-ctx.Done():
		case <-beat:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// sift finds out what has moved: it ends the slots whose term has, and leaves
// out the groups one of whose keys has. It reports whether it found anything.
func (m *Member) sift(b *batch) bool {
	found := false
	for _, s := range b.shares {
		found = m.siftShare(s) || found
	}
	return found
}

func (m *Member) siftShare(s share) bool {
	o, r := s.request.slot, s.request
	term, err := o.get(statestore.TermKey(m.cfg.Role, o.slot))
	if err != nil {
		return o.lost()
	}
	if !slices.Equal(term.Rev, statestore.Rev{o.term}) {
		o.end(ErrLost)
		return true
	}
	if s.ckpt {
		key := statestore.CheckpointKey(m.cfg.Role, o.slot)
		if e, err := o.get(key); err == nil && !slices.Equal(e.Rev, o.ckptRev) {
			o.end(fmt.Errorf("%w: %s", ErrMoved, key))
			return true
		}
	}
	before := len(r.units)
	kept := slices.DeleteFunc(slices.Clone(r.units[:s.n]), func(u unit) bool { return o.moved(u) })
	r.units = append(kept, r.units[s.n:]...)
	return len(r.units) < before
}

// moved leaves a group out when one of its keys has another revision than it
// expects.
func (o *Owned) moved(u unit) bool {
	for _, w := range u.writes {
		e, err := o.get(w.Key)
		if err != nil {
			return false
		}
		if !slices.Equal(e.Rev, w.Expect) {
			u.leaveOut(fmt.Errorf("%w: %s is at %v, not %v", ErrMoved, w.Key, e.Rev, w.Expect))
			return true
		}
	}
	return false
}
