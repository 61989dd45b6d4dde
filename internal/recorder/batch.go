package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
)

const (
	opensAtOnce = 8
	retryFirst  = 50 * time.Millisecond
	retryMost   = 2 * time.Second
)

var (
	// errDraining: the slot is handed over while its records cannot be saved.
	// They are still in the stream.
	errDraining = errors.New("slot is handed over")
	// errReopen: an agent has to be opened again; nothing is wrong for good.
	errReopen = errors.New("agent is opened again")
)

// batch makes records durable. It tries until it succeeds, since there is
// nothing else to do with them: a full disk gets space, a store comes back.
func (w *worker) batch(ctx context.Context, records []eventlog.Record) error {
	w.clock++
	byAgent := map[agentKey][]eventlog.Record{}
	for _, r := range records {
		k := agentKey{r.Session, r.Agent}
		byAgent[k] = append(byAgent[k], r)
	}
	pause := retryFirst
	for {
		err := w.tryBatch(ctx, byAgent)
		if err == nil {
			w.durable = records[len(records)-1].StreamSeq
			w.svc.status.update(w.n, func(sl *slotStatus, _ *Stats) { sl.err = nil })
			if f := w.svc.cfg.OnDurable; f != nil {
				f(len(records), records[0].StoredAt)
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, errReopen) {
			continue
		}
		w.report(err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, retryMost)
		case <-w.slot.Draining():
			return errDraining
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// report keeps an error for Ready, and logs it when it is another one.
func (w *worker) report(err error) {
	var again bool
	w.svc.status.update(w.n, func(sl *slotStatus, _ *Stats) {
		again = sl.err != nil && sl.err.Error() == err.Error()
		sl.err = err
	})
	if !again {
		w.svc.log.Error("recording is held up and tried again", "slot", w.n, "error", err)
	}
}

// tryBatch adds what the logs do not hold yet and makes it durable. Agents
// that have to be opened first do not hold up the others.
func (w *worker) tryBatch(ctx context.Context, byAgent map[agentKey][]eventlog.Record) error {
	var g errgroup.Group
	g.SetLimit(opensAtOnce)
	opened := make(chan *agentState, len(byAgent))
	ready := map[agentKey][]eventlog.Record{}
	for k, records := range byAgent {
		if w.agents[k] != nil {
			ready[k] = records
		}
	}
	opening := make(chan error, 1)
	missing := w.missing(byAgent)
	go func() { // ends before tryBatch does: its answer is waited for
		for k, distrust := range missing {
			g.Go(func() error {
				st, err := w.openAgent(ctx, k, distrust)
				if err == nil {
					opened <- st
				}
				return err
			})
		}
		opening <- g.Wait()
	}()
	err := w.write(ctx, ready)
	err = errors.Join(err, <-opening)
	close(opened)
	late := map[agentKey][]eventlog.Record{}
	for st := range opened {
		w.agents[st.key] = st
		delete(w.distrust, st.key)
		late[st.key] = byAgent[st.key]
	}
	if err != nil {
		return err
	}
	return w.write(ctx, late)
}

// missing lists the agents to open, with the number from which their lines are
// not trusted.
func (w *worker) missing(byAgent map[agentKey][]eventlog.Record) map[agentKey]uint64 {
	keys := map[agentKey]uint64{}
	for k := range byAgent {
		if w.agents[k] == nil {
			keys[k] = w.distrust[k]
		}
	}
	return keys
}

// write adds the records of open agents and commits them.
func (w *worker) write(ctx context.Context, byAgent map[agentKey][]eventlog.Record) error {
	var added, known uint64
	logs := make([]*wirelog.Agent, 0, len(byAgent))
	states := make([]*agentState, 0, len(byAgent))
	for k, records := range byAgent {
		st := w.agents[k]
		st.used = w.clock
		for _, r := range records {
			isNew, err := st.log.Add(messageOf(r))
			if err != nil {
				return w.cannotAdd(ctx, st, err)
			}
			if isNew {
				added++
			} else {
				known++
			}
		}
		logs, states = append(logs, st.log), append(states, st)
	}
	if len(logs) == 0 {
		return nil
	}
	err := w.dir.Commit(ctx, logs)
	switch {
	case errors.Is(err, wirelog.ErrChanged):
		w.svc.log.Warn("an archive file was changed by somebody else", "slot", w.n, "error", err)
		w.forget(ctx, states)
		return errReopen
	case err != nil:
		return err
	}
	w.svc.status.update(w.n, func(_ *slotStatus, total *Stats) {
		total.Recorded += added
		total.Known += known
	})
	return nil
}

// cannotAdd opens an agent again when the lines that a former process left
// behind what was committed are not those of the stream.
func (w *worker) cannotAdd(ctx context.Context, st *agentState, err error) error {
	var differs *wirelog.DiffersError
	if !errors.As(err, &differs) {
		return fmt.Errorf("session %s, agent %s: %w", st.key.session, st.key.agent, err)
	}
	w.svc.log.Warn("uncommitted lines are written anew", "session", string(st.key.session), "agent", string(st.key.agent),
		"seq", differs.Seq)
	w.distrust[st.key] = differs.Seq
	w.forget(ctx, []*agentState{st})
	return errReopen
}
