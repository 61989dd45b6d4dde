package projector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

// session is what a worker knows of a session: the facts of each agent, from
// which its row in the session list is made.
type session struct {
	id    events.SessionID
	facts map[events.AgentID]facts
	held  map[events.AgentID]*agent // those in memory
	// missing are agents whose head could not be read and which are being
	// refolded; without their facts the row would be wrong.
	missing map[events.AgentID]bool

	rowRev   statestore.Rev
	row      []byte // as saved
	saved    time.Time
	dirty    bool // something was folded since the row was made
	urgent   bool // its state may have changed
	inCommit bool
}

// facts are one agent's contribution.
type facts struct {
	fold.Info
	seq uint64
}

// row is the value of index.<session>.
type row struct {
	Session string            `json:"session_id"`
	Title   string            `json:"title"`
	State   string            `json:"state"`
	Agents  int               `json:"agents"`
	Turns   int               `json:"turns"`
	Events  uint64            `json:"events"`
	Tokens  tokens            `json:"tokens"`
	Cost    float64           `json:"cost"` // USD
	Pending int               `json:"pending_interactions"`
	Started string            `json:"started_at,omitempty"`
	Active  string            `json:"last_activity,omitempty"`
	Labels  map[string]string `json:"labels"`
}

type tokens struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Cached float64 `json:"cached"`
}

// due tells whether the session's row is to be written. must disregards when
// that was done last.
func (s *session) due(l *Limits, now time.Time, must bool) bool {
	return s.dirty && !s.inCommit && len(s.missing) == 0 && (must || s.urgent || now.Sub(s.saved) >= l.RowAge)
}

// take brings an agent's facts up to date.
func (s *session) take(a *agent) {
	s.facts[a.agent] = facts{Info: a.fold.Info(), seq: a.fold.Seq()}
	delete(s.missing, a.agent)
	a.stale = false
}

// encode makes the row; nil when it is as saved.
func (s *session) encode() ([]byte, error) {
	for _, a := range s.held {
		if a.stale && a.fold != nil {
			s.take(a)
		}
	}
	r := row{Session: string(s.id), Agents: len(s.facts), Labels: map[string]string{}}
	open, failed := 0, false
	var first, last int64
	for _, id := range sortedAgents(s.facts) {
		f := s.facts[id]
		if f.Open {
			open++
		}
		if id == events.MainAgent || r.Title == "" && len(r.Labels) == 0 {
			r.Title, failed = f.Title, f.Failed
			if f.Labels != nil {
				r.Labels = f.Labels
			}
		}
		r.Pending += f.Pending
		r.Turns += f.Turns
		r.Events += f.seq
		r.Tokens.Input += f.InputTokens
		r.Tokens.Output += f.OutputTokens
		r.Tokens.Cached += f.CachedTokens
		r.Cost += f.Cost
		if f.First > 0 && (first == 0 || f.First < first) {
			first = f.First
		}
		last = max(last, f.Last)
	}
	r.State = stateOf(r.Pending, open, failed)
	if first > 0 {
		r.Started, r.Active = events.FormatTime(first), events.FormatTime(last)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the row of session %s: %w", s.id, err)
	}
	if bytes.Equal(b, s.row) {
		return nil, nil
	}
	return b, nil
}

// stateOf is the state as far as the log tells it; that an open turn has
// become stale is a matter of the clock, and of the readers.
func stateOf(pending, open int, failed bool) string {
	switch {
	case pending > 0:
		return "waiting"
	case open > 0:
		return "running"
	case failed:
		return "failed"
	}
	return "done"
}
