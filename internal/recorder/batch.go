package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
)

// Pauses between attempts.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// errDraining: the slot is handed over while its records cannot be saved. They
// are still in the stream.
var errDraining = errors.New("slot is handed over")

// perAgent holds records in order, by agent.
type perAgent map[agentKey][]eventlog.Record

// batch makes the records of open agents durable and parks the others until
// their agents are open.
func (w *worker) batch(ctx context.Context, records []eventlog.Record) error {
	w.clock++
	byAgent := perAgent{}
	for _, r := range records {
		k := agentKey{r.Session, r.Agent}
		byAgent[k] = append(byAgent[k], r)
	}
	for k, records := range byAgent {
		if w.agents[k] == nil {
			w.park(k, records)
			delete(byAgent, k)
		}
	}
	w.startOpens()
	if err := w.writeAll(ctx, byAgent); err != nil {
		return err
	}
	w.seen = records[len(records)-1].StreamSeq
	return nil
}

// writeAll makes the records of open agents durable. It tries until it
// succeeds, since there is nothing else to do with them: a full disk gets
// space. An agent that cannot go on is given up, and its records are parked.
func (w *worker) writeAll(ctx context.Context, byAgent perAgent) error {
	pause := retryFirst
	for len(byAgent) > 0 {
		err := w.write(ctx, byAgent)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
	w.startOpens()
	if len(w.troubled) == 0 {
		w.svc.status.update(w.n, func(sl *slotStatus, _ *Stats) { sl.err = nil })
	}
	return nil
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

// write adds records and commits them once. It takes the agents that have to
// be opened again out of byAgent.
func (w *worker) write(ctx context.Context, byAgent perAgent) error {
	var done batchCount
	logs := make([]*wirelog.Agent, 0, len(byAgent))
	for k, records := range byAgent {
		st := w.agents[k]
		st.used = w.clock
		if err := done.add(st.log, records); err != nil {
			w.giveUp(ctx, byAgent, k, err)
			continue
		}
		logs = append(logs, st.log)
	}
	if len(logs) == 0 {
		return nil
	}
	if err := w.dir.Commit(ctx, logs); err != nil {
		for k := range byAgent {
			if err := w.agents[k].log.Err(); errors.Is(err, wirelog.ErrChanged) {
				w.giveUp(ctx, byAgent, k, err)
			}
		}
		return err
	}
	w.svc.status.update(w.n, func(_ *slotStatus, total *Stats) {
		total.Recorded += done.added
		total.Known += done.known
	})
	if f := w.svc.cfg.OnDurable; f != nil && done.known+done.added > 0 {
		f(int(done.known+done.added), done.oldest)
	}
	return nil
}

// batchCount counts what is written at a time.
type batchCount struct {
	added, known uint64
	oldest       time.Time
}

func (c *batchCount) add(log *wirelog.Agent, records []eventlog.Record) error {
	for _, r := range records {
		isNew, err := log.Add(messageOf(r))
		switch {
		case err != nil:
			return err
		case isNew:
			c.added++
		default:
			c.known++
		}
		if c.oldest.IsZero() || r.StoredAt.Before(c.oldest) {
			c.oldest = r.StoredAt
		}
	}
	return nil
}

// giveUp closes an agent that cannot go on as it is open; its records wait
// until it is opened anew.
func (w *worker) giveUp(ctx context.Context, byAgent perAgent, k agentKey, err error) {
	w.forget(ctx, []*agentState{w.agents[k]})
	var differs *wirelog.DiffersError
	switch {
	case errors.As(err, &differs):
		w.svc.log.Warn("uncommitted lines are written anew", "session", string(k.session), "agent", string(k.agent), "seq", differs.Seq)
		w.distrust[k] = differs.Seq
	case errors.Is(err, wirelog.ErrChanged):
		w.svc.log.Warn("an archive file was changed by somebody else", "session", string(k.session), "agent", string(k.agent), "error", err)
	default:
		w.hold(k, fmt.Errorf("session %s, agent %s: %w", k.session, k.agent, err))
	}
	w.park(k, byAgent[k])
	delete(byAgent, k)
}
