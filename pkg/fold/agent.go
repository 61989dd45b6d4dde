package fold

import (
	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// Agent is the fold of one agent log. See the package comment for who may use
// it when.
type Agent struct {
	session events.SessionID
	agent   events.AgentID
	sink    Sink

	reuseOps bool

	admit *admit.State
	tree  *reducer.Fold

	seq, streamSeq uint64
	events         uint64 // admitted
	first          int64  // time of the first admitted event, Unix ms; 0 before it
	last           lastTime
	unknown        []uint64
	lost           lostRange

	deriving deriving
	derived  *derived // nil: the tree alone

	ev events.Event
}

// New returns the fold of an empty log.
func New(session events.SessionID, agent events.AgentID, opts ...Option) *Agent {
	a := &Agent{session: session, agent: agent, admit: &admit.State{}}
	for _, opt := range opts {
		opt(a)
	}
	a.tree = reducer.NewFold(string(agent), a.sink)
	if a.reuseOps {
		a.tree.ReuseOps()
	}
	a.derive()
	return a
}

// Session returns the session the log belongs to.
func (a *Agent) Session() events.SessionID { return a.session }

// Agent returns the agent the log belongs to.
func (a *Agent) Agent() events.AgentID { return a.agent }

// Seq is the seq of the last record folded, 0 before the first.
func (a *Agent) Seq() uint64 { return a.seq }

// StreamSeq is the stream position of the last record folded.
func (a *Agent) StreamSeq() uint64 { return a.streamSeq }

// Snapshot returns what the fold holds: with a negative tailTurns all of it,
// else the newest tailTurns turns with what stands between and after them. The
// first one after a record costs as much as there are things held, however long
// the log is; further ones are O(1). No text is copied.
func (a *Agent) Snapshot(tailTurns int) *reducer.Snapshot { return a.tree.Snapshot(tailTurns) }

// Descriptor is the agent's row of the roster as its own log has it. Where
// Started is false, the row a parent's Children has of it counts.
func (a *Agent) Descriptor() reducer.AgentDescriptor {
	d, _ := a.tree.Descriptor()
	return d
}

// Started reports that the log has an agent.started.
func (a *Agent) Started() bool {
	_, started := a.tree.Descriptor()
	return started
}

// Children returns the rows of agents that this one spawned, oldest first, at
// most the newest 1,000.
func (a *Agent) Children() []reducer.AgentDescriptor { return a.tree.Children() }

// RunsAnswer answers what a publisher asks before it sends.
type RunsAnswer struct {
	Next        uint64 `json:"next"`                    // the n that the run goes on with
	LastEventID string `json:"last_event_id,omitempty"` // admitted under Next-1
	Current     string `json:"current"`                 // the run that took over last
}

// Runs answers for one run.
func (a *Agent) Runs(runID string) RunsAnswer {
	next, last, current := a.admit.Next(runID)
	return RunsAnswer{Next: next, LastEventID: last, Current: current}
}
