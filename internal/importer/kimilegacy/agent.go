package kimilegacy

import (
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// agent is the state of one agent log.
type agent struct {
	id    events.AgentID
	spawn importer.Spawn
	begun bool
	last  string // time of the record before

	turn  int  // ordinal of the newest turn; -1 before the first
	open  bool // it runs
	steps int
	step  *step // the newest; nil when the turn has none

	calls   *importer.Calls
	bare    int               // calls without an id
	partial *partial          // the call whose arguments are still coming
	asked   map[string]*asked // calls that ask for a sub-agent, by their name
	told    map[string]string // status fields as published
	plan    bool
}

// step is one call of the model.
type step struct {
	turn, number int
	open         bool
	usage        []byte
}

func newAgent(id events.AgentID, spawn importer.Spawn) *agent {
	return &agent{
		id: id, spawn: spawn, turn: -1, calls: importer.NewCalls(),
		asked: make(map[string]*asked), told: make(map[string]string),
	}
}

// start publishes the agent's start.
func (a *agent) start(r *record, d *decoder) {
	if a.begun {
		return
	}
	a.begun = true
	kind := "sub"
	if a.id == events.MainAgent {
		kind = "main"
	}
	var p importer.Fields
	p.Str("type", kind).Opt("parentAgentId", string(a.spawn.Parent)).
		Opt("parentToolCallId", a.spawn.ToolCallID).Opt("label", a.spawn.Label)
	r.out.Event(importer.Draft{
		Agent: a.id, Type: events.TypeAgentStarted, Payload: p.Object(), Labels: importer.Labels(Name, d.src.Labels),
	})
}

// fields begins a payload with the step's place.
func (s *step) fields() *importer.Fields {
	var p importer.Fields
	return p.Int("turnId", s.turn).Int("step", s.number)
}

// startTurn opens the next turn.
func (a *agent) startTurn(r *record, p *importer.Fields, implied string) {
	a.endTurn(r, a.last, implied)
	a.turn++
	a.open, a.steps, a.step = true, 0, nil
	a.calls.NewTurn()
	r.emit(events.TypeTurnStarted, p.Int("turnId", a.turn))
}

// endTurn tells the end of the turn that runs.
func (a *agent) endTurn(r *record, at, reason string) {
	if !a.open {
		return
	}
	a.whole(r)
	if reason == "completed" && a.calls.Asking() {
		reason = "cancelled"
	}
	a.finishStep(r, at, reason == "completed")
	a.open = false
	var p importer.Fields
	r.emitAt(at, events.TypeTurnEnded, p.Int("turnId", a.turn).Str("reason", reason))
}

// needTurn makes sure that a turn runs.
func (a *agent) needTurn(r *record) {
	switch {
	case a.open:
	case a.turn >= 0:
		a.open = true
		var p importer.Fields
		r.emit(events.TypeTurnStarted, p.Int("turnId", a.turn))
	default:
		a.startTurn(r, &importer.Fields{}, "completed")
	}
}

// newStep opens the next step.
func (a *agent) newStep(r *record) *step {
	a.needTurn(r)
	a.whole(r)
	a.finishStep(r, a.last, true)
	a.steps++
	a.step = &step{turn: a.turn, number: a.steps, open: true}
	r.emit(events.TypeStepStarted, a.step.fields())
	return a.step
}

// needStep is the step that content belongs to.
func (a *agent) needStep(r *record) *step {
	if a.step == nil || !a.open {
		return a.newStep(r)
	}
	return a.step
}

// finishStep tells the end of the newest step.
func (a *agent) finishStep(r *record, at string, completed bool) {
	s := a.step
	if s == nil || !s.open {
		return
	}
	s.open = false
	if completed {
		r.emitAt(at, events.TypeStepCompleted, s.fields().Raw("usage", s.usage))
		return
	}
	r.emitAt(at, events.TypeStepInterrupted, s.fields().Str("reason", "aborted"))
}

// changed adds a status field that is new.
func (a *agent) changed(p *importer.Fields, name string, value []byte) {
	if value == nil || scan.IsNull(value) || a.told[name] == string(value) {
		return
	}
	a.told[name] = string(value)
	p.Raw(name, value)
}
