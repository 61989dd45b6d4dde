package projector

import (
	"errors"
	"time"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/fold"
)

// commit is a commit under way. Exactly one of agents[i] and sessions[i] is
// set, for groups[i].
type commit struct {
	agents   []*agent
	sessions []*session
	sizes    []int // of the states
	rows     [][]byte
	groups   []slots.Group
	ckpt     *slots.Checkpoint

	results []slots.Result
	err     error
}

func (c *commit) add(a *agent, s *session, g slots.Group, size int, row []byte) {
	c.agents, c.sessions = append(c.agents, a), append(c.sessions, s)
	c.groups, c.sizes, c.rows = append(c.groups, g), append(c.sizes, size), append(c.rows, row)
}

// gather makes a commit of what is due; nil when nothing is. all takes
// everything that is unsaved, due or not.
func (w *worker) gather(now time.Time, all bool) (*commit, error) {
	c := &commit{}
	raw := 0
	for _, a := range w.agents {
		due := a.due(&w.limits, now) || all && a.fold != nil && !a.inCommit && a.unsaved > 0
		if !due || raw > w.limits.CommitSize {
			continue
		}
		state, n, err := a.encode()
		if err != nil {
			return nil, err
		}
		raw += size(state)
		c.add(a, nil, w.group(a, state), n, nil)
		a.begin(now, size(state))
		// Heads are looked for where there is a row.
		if a.session.rowRev == nil {
			a.session.dirty, a.session.urgent = true, true
		}
	}
	for _, s := range w.sessions {
		if !s.due(&w.limits, now, all) {
			continue
		}
		value, err := s.encode()
		if err != nil {
			return nil, err
		}
		if value != nil {
			c.add(nil, s, rowGroup(s, value), 0, value)
			s.inCommit = true
		}
		s.dirty, s.urgent, s.saved = false, false, now
	}
	ckpt := w.checkpoint()
	moved := ckpt != w.ckpt
	if moved && (all || len(c.groups) > 0 || now.Sub(w.ckptAt) >= w.limits.HeadAge) {
		c.ckpt = &ckpt
	}
	if len(c.groups) == 0 && c.ckpt == nil {
		return nil, nil
	}
	return c, nil
}

// encode is the agent's state, or its position while the state is too large,
// and the state's size.
func (a *agent) encode() (fold.State, int, error) {
	state := a.fold.Encode()
	n := size(state)
	if a.tooLarge > 0 && n >= a.tooLarge {
		// Not worth another refusal before it has shrunk.
		value, err := encodePosition(a.fold)
		return fold.State{Head: value}, n, err
	}
	a.tooLarge = 0
	return state, n, nil
}

func rowGroup(s *session, value []byte) slots.Group {
	return slots.Group{Writes: []statestore.Write{{Key: statestore.IndexKey(s.id.Token()), Value: value, Expect: s.rowRev}}}
}

// begin notes that the state as it is now, of n bytes, is being saved.
func (a *agent) begin(now time.Time, n int) {
	a.inCommit, a.committing, a.unsaved = true, a.unsaved, 0
	a.free = max(0, a.free-n)
	a.saved, a.events, a.bytes, a.urgent, a.rewrite = now, 0, 0, false, false
}

// checkpoint is how far the slot is saved once the commit under way, which is
// the only one, has been written whole.
func (w *worker) checkpoint() slots.Checkpoint {
	ckpt := w.ckpt
	ckpt.Stream, ckpt.Created = w.stream.Name, w.stream.Created
	upTo := w.pos
	for _, a := range w.agents {
		if a.unsaved > 0 {
			upTo = min(upTo, a.unsaved-1)
		}
	}
	ckpt.StreamSeq = max(ckpt.StreamSeq, upTo)
	ckpt.Fold = w.foldVersion
	return ckpt
}

// written takes in what became of a commit.
func (w *worker) written(c *commit) error {
	if c.err != nil {
		return c.err
	}
	complete := true
	for i, r := range c.results {
		if r.Err != nil {
			complete = false
		}
		if a := c.agents[i]; a != nil {
			w.headWritten(a, r, c.sizes[i])
		} else if err := w.rowWritten(c.sessions[i], r, c.rows[i]); err != nil {
			return err
		}
	}
	if c.ckpt != nil && complete {
		w.ckpt, w.ckptAt = *c.ckpt, w.now()
	}
	return nil
}

func (w *worker) headWritten(a *agent, r slots.Result, size int) {
	committed := a.committing
	a.inCommit, a.committing = false, 0
	if r.Err == nil {
		a.revs, a.size = [3]statestore.Rev(r.Revs), size
		return
	}
	// The saved head is as it was.
	if committed > 0 {
		a.unsaved = committed
	}
	a.rewrite = true
	if errors.Is(r.Err, statestore.ErrTooLarge) {
		w.log.Warn("state is too large: its position is saved instead", "session", a.key.session, "agent", a.agent, "bytes", size)
		a.tooLarge = size
		return
	}
	w.log.Warn("state was changed by somebody else: it is loaded again", "session", a.key.session, "agent", a.agent, "error", r.Err)
	a.fold = nil
	w.refold.ask(a.key, a.seen)
}

// rowWritten ends the slot when somebody else wrote the row: what else is in
// memory may be as wrong.
func (w *worker) rowWritten(s *session, r slots.Result, row []byte) error {
	s.inCommit = false
	if r.Err != nil {
		return r.Err
	}
	s.rowRev, s.row = r.Revs[0], row
	return nil
}
