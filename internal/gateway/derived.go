package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

const (
	// mixedReads is how often documents that were written while they were read
	// are read again.
	mixedReads = 5
	mixedPause = 20 * time.Millisecond
	// maxChildStates is how many children are looked up for a resume state.
	maxChildStates = 32
)

// Resume answers with the resume state of an agent, as of the stream's leader
// at some moment after the call: of its whole session, or of one run. With
// whole it has the whole history. The answer is a resume.State as JSON; that of
// an agent without a log is empty. Errors are the log's, the state store's, or
// ctx's.
func (q *Queries) Resume(ctx context.Context, s events.SessionID, a events.AgentID, run string, whole bool) ([]byte, error) {
	st, err := q.resume(ctx, s, a, run, whole)
	if err != nil {
		return nil, err
	}
	return st.AppendJSON(nil), nil
}

// Memory answers with the session memory of an agent, as Resume does. The
// answer is a memory.Memory as JSON.
func (q *Queries) Memory(ctx context.Context, s events.SessionID, a events.AgentID) ([]byte, error) {
	m, err := q.memory(ctx, s, a)
	if err != nil {
		return nil, err
	}
	return m.AppendJSON(nil), nil
}

func (q *Queries) resume(ctx context.Context, s events.SessionID, a events.AgentID, run string, whole bool) (*resume.State, error) {
	var opts []fold.Option
	if run != "" {
		opts = append(opts, fold.ForRun(run))
	}
	if whole {
		opts = append(opts, fold.WholeHistory())
	}
	agent, err := q.derive(ctx, s, a, opts...)
	if err != nil {
		return nil, err
	}
	epoch, err := q.src.epoch(ctx, s)
	if err != nil {
		return nil, err
	}
	st := agent.Resume(resume.ReadOptions{Epoch: epoch, All: whole})
	return st, q.childStates(ctx, st)
}

func (q *Queries) memory(ctx context.Context, s events.SessionID, a events.AgentID) (*memory.Memory, error) {
	agent, err := q.derive(ctx, s, a)
	if err != nil {
		return nil, err
	}
	return agent.Memory(), nil
}

// derive returns a fold of the agent with everything that is derived beside
// the tree, which is the caller's alone: from what is saved and the tail of the
// log, or, where that does not do or opts want something else, from the log's
// start.
func (q *Queries) derive(ctx context.Context, s events.SessionID, a events.AgentID, opts ...fold.Option) (*fold.Agent, error) {
	f := &feed{src: q.src, session: s, agent: a, enc: newEncoder(s, a, ""), wake: func() {}}
	f.place(fold.New(s, a, opts...))
	saved, known, err := f.saved(ctx)
	switch {
	case err != nil:
		return nil, err
	case known && saved != nil && len(opts) == 0:
		f.place(saved)
	case known:
		agent, err := f.refold(ctx, 0, nil, opts...)
		if err != nil {
			return nil, err
		}
		f.place(agent)
	}
	ctx, cancel := context.WithTimeout(ctx, q.src.limits.CatchUp)
	defer cancel()
	if _, err := f.catchUp(ctx); err != nil {
		return nil, err
	}
	return f.fold, nil
}

// saved continues the agent's fold from the three documents of the projector.
// It is nil when that is not possible; known tells whether there is a head, so
// that the beginning of the log may have been trimmed.
//
// The head is read first and the resume state last. Both say how far they are:
// when they agree, what was read between them, which was written with one of
// them or in between, is as far as they are.
func (f *feed) saved(ctx context.Context) (_ *fold.Agent, known bool, err error) {
	for try := 1; ; try++ {
		var docs [3][]byte
		for i, prefix := range [...]string{statestore.PrefixHead, statestore.PrefixMemory, statestore.PrefixResume} {
			key := statestore.AgentKey(prefix, f.session.Slot(f.src.log.Slots()), f.session.Token(), f.agent.Token())
			e, err := f.src.state.Get(ctx, key)
			switch {
			case errors.Is(err, statestore.ErrNotFound) && i == 0:
				return nil, false, nil
			case err != nil && !errors.Is(err, statestore.ErrNotFound):
				return nil, false, fmt.Errorf("read the saved state of %s/%s: %w", f.session, f.agent, err)
			}
			docs[i] = e.Value
		}
		agent, err := fold.Decode(f.session, f.agent, fold.State{Head: docs[0], Memory: docs[1], Resume: docs[2]})
		switch {
		case err == nil && len(docs[1]) > 0 && len(docs[2]) > 0:
			return agent, true, nil
		case !errors.Is(err, fold.ErrCorrupt) || try == mixedReads:
			return nil, true, nil
		}
		if err := sleep(ctx, mixedPause); err != nil {
			return nil, true, err
		}
	}
}

// childStates adds how agents stand by their own logs whose end this log does
// not tell, as far as they are among the newest. It is what is known now, and
// not part of the fold.
func (q *Queries) childStates(ctx context.Context, st *resume.State) error {
	for i := max(0, len(st.Children)-maxChildStates); i < len(st.Children); i++ {
		c := &st.Children[i]
		id, err := events.ParseAgentID(c.AgentID)
		if err != nil || c.State == "completed" || c.State == "failed" {
			continue
		}
		info, ok, err := q.info(ctx, st.SessionID, id)
		if err != nil {
			return err
		}
		if ok {
			open := 0
			if info.Open {
				open = 1
			}
			c.ChildState = stateOf(info.Pending, open, info.Failed, info.Last)
		}
	}
	return nil
}

// info describes an agent as somebody watches it, else as its head has it.
func (q *Queries) info(ctx context.Context, s events.SessionID, a events.AgentID) (info fold.Info, ok bool, err error) {
	if held := q.hub.peek(s); held != nil {
		if f := held.current().feed(a); f != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.fold.Info(), true, nil
		}
	}
	head, err := q.src.state.Get(ctx, headKey(q.src, s, a))
	if errors.Is(err, statestore.ErrNotFound) {
		return info, false, nil
	}
	if err != nil {
		return info, false, fmt.Errorf("read head of %s/%s: %w", s, a, err)
	}
	agent, err := fold.Decode(s, a, fold.State{Head: head.Value})
	if err != nil {
		return info, false, nil // not worth folding its log
	}
	return agent.Info(), true, nil
}
