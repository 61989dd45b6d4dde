package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
)

type agentKey struct {
	session events.SessionID
	agent   events.AgentID
}

// agentState is one open agent log of a slot.
type agentState struct {
	key   agentKey
	log   *wirelog.Agent
	rev   statestore.Rev // of its rec key
	saved wirelog.Anchor // what that key says
	used  uint64
}

func (w *worker) recKey(k agentKey) string {
	return statestore.AgentKey(prefixRec, w.n, k.session.Token(), k.agent.Token())
}

// openAgent opens an agent's log behind what was committed. Several may run at
// a time, for different agents: it only reads w.
func (w *worker) openAgent(ctx context.Context, k agentKey, distrust uint64) (*agentState, error) {
	st := &agentState{key: k}
	req := wirelog.OpenRequest{
		Session: k.session, Agent: k.agent, Stream: w.stream, Distrust: distrust,
		Source: source{log: w.svc.deps.Log, slot: w.n, session: k.session, agent: k.agent},
	}
	e, err := w.svc.deps.Store.Get(ctx, w.recKey(k))
	switch {
	case errors.Is(err, statestore.ErrNotFound):
	case err != nil:
		return nil, fmt.Errorf("read how far session %s, agent %s is recorded: %w", k.session, k.agent, err)
	default:
		recorder, anchor, err := decodePosition(e.Value)
		if err != nil {
			return nil, fmt.Errorf("session %s, agent %s: %w", k.session, k.agent, err)
		}
		st.rev, st.saved = e.Rev, anchor
		req.Anchor, req.Foreign = &anchor, recorder != w.dir.ID()
	}
	if req.Epoch, err = w.svc.epoch(ctx, k.session); err != nil {
		return nil, err
	}
	var report wirelog.Repair
	if st.log, report, err = w.dir.Open(ctx, req); err != nil {
		return nil, err
	}
	if report.Problem != "" {
		w.svc.log.Warn("an archive file was repaired", "session", string(k.session), "agent", string(k.agent),
			"problem", report.Problem, "cut_bytes", report.Cut, "set_aside", report.SetAside, "aside", report.Aside,
			"refilled", report.Refilled, "lost", report.Lost)
		w.svc.status.update(w.n, func(_ *slotStatus, total *Stats) {
			total.SetAside += uint64(report.SetAside)
			total.Refilled += report.Refilled
			total.Lost += report.Lost
		})
	}
	return st, nil
}

// forget gives agents up; what was added to them and is not durable is
// forgotten, and read again from the file when they are opened next.
func (w *worker) forget(ctx context.Context, all []*agentState) {
	logs := make([]*wirelog.Agent, 0, len(all))
	for _, st := range all {
		logs = append(logs, st.log)
		delete(w.agents, st.key)
	}
	if err := w.dir.Release(ctx, logs); err != nil && !errors.Is(err, wirelog.ErrClosed) {
		w.svc.log.Warn("close archive files", "slot", w.n, "error", err)
	}
}

// evict forgets the agents that were longest without messages when there are
// too many; those with something to save stay.
func (w *worker) evict(ctx context.Context) {
	limit := w.svc.cfg.MaxAgents
	if len(w.agents) <= limit {
		return
	}
	var idle []*agentState
	for _, st := range w.agents {
		if !st.log.Dirty() && st.log.Mark() == st.saved {
			idle = append(idle, st)
		}
	}
	slices.SortFunc(idle, func(a, b *agentState) int { return cmp.Compare(a.used, b.used) })
	w.forget(ctx, idle[:min(len(idle), len(w.agents)-limit*3/4)])
}
