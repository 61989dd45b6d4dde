package projector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

func sortedAgents[V any](m map[events.AgentID]V) []events.AgentID {
	return slices.Sorted(maps.Keys(m))
}

// position is saved in place of a head that does not fit into a commit. A fold
// does not decode it, so that readers fold the log instead.
type position struct {
	Position struct {
		Seq       uint64 `json:"seq"`
		StreamSeq uint64 `json:"stream_seq"`
	} `json:"position"`
}

func encodePosition(a *fold.Agent) ([]byte, error) {
	var p position
	p.Position.Seq, p.Position.StreamSeq = a.Seq(), a.StreamSeq()
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the position of %s/%s: %w", a.Session(), a.Agent(), err)
	}
	return b, nil
}

// retry repeats a read until it succeeds, is answered with ErrNotFound, or ctx
// ends.
func (w *worker) retry(ctx context.Context, what string, read func() error) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := read()
		if err == nil || errors.Is(err, statestore.ErrNotFound) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.log.Warn("read is repeated", "what", what, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// get reads a key; an absent one has no value.
func (w *worker) get(ctx context.Context, key string) (statestore.Entry, error) {
	var entry statestore.Entry
	err := w.retry(ctx, key, func() (err error) {
		entry, err = w.store.Get(ctx, key)
		return err
	})
	if errors.Is(err, statestore.ErrNotFound) {
		entry.Value, err = nil, nil
	}
	return entry, err
}

// agentOf returns the agent of a record, loading it when it is not in memory.
func (w *worker) agentOf(ctx context.Context, r *eventlog.Record) (*agent, error) {
	k := key{r.Session, r.Agent}
	if a := w.agents[k]; a != nil {
		return a, nil
	}
	a := newAgent(k, w.now())
	saved, err := w.load(ctx, k)
	if err != nil {
		return nil, err
	}
	a.revs, a.size = saved.revs, size(saved.state)
	switch {
	case saved.state.Head != nil:
		a.fold, err = saved.decode(k)
		if err != nil {
			w.log.Info("agent is refolded", "session", k.session, "agent", k.agent, "reason", err)
			a.fold = nil
		}
	default:
		isNew, err := w.isNew(ctx, r)
		if err != nil {
			return nil, err
		}
		if isNew {
			a.fold = fold.New(k.session, k.agent)
		}
	}
	if a.session, err = w.sessionOf(ctx, k.session); err != nil {
		return nil, err
	}
	w.hold(a)
	if a.fold == nil {
		w.refold.ask(k, r.StreamSeq)
	} else if saved.state.Head != nil {
		a.session.take(a)
	}
	return a, nil
}

// hold keeps an agent in memory.
func (w *worker) hold(a *agent) {
	w.agents[a.key] = a
	a.session.held[a.agent] = a
}

// isNew tells whether the record of an agent without a head is its first one.
// It should be: what a checkpoint has passed is in a head.
func (w *worker) isNew(ctx context.Context, r *eventlog.Record) (bool, error) {
	if w.fromStart {
		return true, nil
	}
	var first []eventlog.Record
	err := w.retry(ctx, "first record", func() (err error) {
		first, err = w.events.Range(ctx, r.Session, r.Agent, 0, 1)
		return err
	})
	if err != nil {
		return false, err
	}
	// A replica that lags may not even have this one: then there is no telling
	// what else it lacks, and the refold finds out.
	return len(first) == 1 && first[0].StreamSeq >= r.StreamSeq, nil
}

// sessionOf returns the session, with the facts of all its agents as their
// heads have them.
func (w *worker) sessionOf(ctx context.Context, id events.SessionID) (*session, error) {
	if s := w.sessions[id]; s != nil {
		return s, nil
	}
	s := &session{
		id: id, facts: map[events.AgentID]facts{},
		held: map[events.AgentID]*agent{}, missing: map[events.AgentID]bool{},
	}
	saved, err := w.get(ctx, statestore.IndexKey(id.Token()))
	if err != nil {
		return nil, err
	}
	s.row, s.rowRev = saved.Value, saved.Rev
	// No head is saved before the session has a row.
	if saved.Value != nil {
		if err := w.loadFacts(ctx, s); err != nil {
			return nil, err
		}
	}
	w.sessions[id] = s
	return s, nil
}

func (w *worker) loadFacts(ctx context.Context, s *session) error {
	prefix := strings.TrimSuffix(w.headKey(key{s.id, "x"}), ".x")
	return w.retry(ctx, prefix, func() error {
		for entry, err := range w.store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			id, err := events.ParseAgentToken(strings.TrimPrefix(entry.Key, prefix+"."))
			if err != nil {
				continue // nobody's head
			}
			a, err := fold.Decode(s.id, id, fold.State{Head: entry.Value})
			if err != nil {
				s.missing[id] = true
				w.refold.ask(key{s.id, id}, 0)
				continue
			}
			s.facts[id] = facts{Info: a.Info(), seq: a.Seq()}
		}
		return nil
	})
}

// evict lets go what is saved and was not touched for a while.
func (w *worker) evict(now time.Time) {
	excess := len(w.agents) - w.limits.Agents
	var idle []*agent
	for _, a := range w.agents {
		if a.fold == nil || a.unsaved > 0 || a.inCommit || a.rewrite || a.session.dirty || a.session.inCommit {
			continue
		}
		if now.Sub(a.touched) >= w.limits.Idle {
			w.letGo(a)
			excess--
		} else {
			idle = append(idle, a)
		}
	}
	if excess <= 0 {
		return
	}
	slices.SortFunc(idle, func(a, b *agent) int { return a.touched.Compare(b.touched) })
	for _, a := range idle[:min(excess, len(idle))] {
		w.letGo(a)
	}
}

func (w *worker) letGo(a *agent) {
	delete(w.agents, a.key)
	delete(a.session.held, a.agent)
	if len(a.session.held) == 0 {
		delete(w.sessions, a.session.id)
	}
}
