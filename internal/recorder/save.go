package recorder

import (
	"context"
	"errors"
	"fmt"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
)

// saveResult is what became of one fenced commit.
type saveResult struct {
	err    error
	agents []savedAgent
	ckpt   uint64 // the checkpoint asked for
}

type savedAgent struct {
	state *agentState
	mark  wirelog.Anchor
	rev   statestore.Rev
	moved bool // somebody else wrote the key: rev is what stands there now
}

// save begins a commit of everything that is durable and not saved; false when
// there is nothing, or one is under way.
func (w *worker) save(ctx context.Context) bool {
	if w.saving {
		return false
	}
	var groups []slots.Group
	var agents []savedAgent
	for _, st := range w.agents {
		mark := st.log.Mark()
		if mark == st.saved || mark.Seq == 0 {
			continue
		}
		value, err := encodePosition(w.dir.ID(), mark)
		if err != nil {
			w.report(err)
			return false
		}
		groups = append(groups, slots.Group{Writes: []statestore.Write{{Key: w.recKey(st.key), Value: value, Expect: st.rev}}})
		agents = append(agents, savedAgent{state: st, mark: mark})
	}
	durable := w.durable()
	ckpt := &slots.Checkpoint{Stream: w.stream.Name, Created: w.stream.Created, StreamSeq: durable}
	if durable == w.saved && !w.fresh {
		ckpt = nil
	}
	if len(groups) == 0 && ckpt == nil {
		return false
	}
	w.saving = true
	go func() { // its result is always waited for, by run, finish or release
		r := w.commit(ctx, groups, agents, ckpt)
		r.ckpt = durable
		w.results <- r
	}()
	return true
}

// commit runs beside the worker and only reads of it what does not change.
func (w *worker) commit(ctx context.Context, groups []slots.Group, agents []savedAgent, ckpt *slots.Checkpoint) saveResult {
	results, err := w.slot.Commit(ctx, groups, ckpt)
	if err != nil {
		return saveResult{err: fmt.Errorf("save positions: %w", err)}
	}
	r := saveResult{agents: agents}
	for i, res := range results {
		a := &r.agents[i]
		switch {
		case res.Err == nil:
			a.rev = res.Revs[0]
		case errors.Is(res.Err, slots.ErrMoved):
			a.moved = true
			e, err := w.svc.deps.Store.Get(ctx, groups[i].Writes[0].Key)
			if err != nil && !errors.Is(err, statestore.ErrNotFound) {
				return saveResult{err: fmt.Errorf("read a position again: %w", err)}
			}
			a.rev = e.Rev
		default:
			return saveResult{err: fmt.Errorf("save positions: %w", res.Err)}
		}
	}
	return r
}

// saveDone takes note of a commit. An error ends the work: the slot is lost,
// or the store answers what no repetition heals.
func (w *worker) saveDone(ctx context.Context, r saveResult) error {
	w.saving = false
	if r.err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.err
	}
	whole := true
	for _, a := range r.agents {
		a.state.rev = a.rev
		if a.moved {
			// A late write of this process, or one of its predecessor: the
			// fence proves that nobody else records this slot now.
			whole = false
			continue
		}
		a.state.saved = a.mark
	}
	if whole {
		w.saved, w.fresh = r.ckpt, false
	}
	w.evict(ctx)
	return nil
}
