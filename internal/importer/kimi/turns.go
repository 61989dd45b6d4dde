package kimi

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// turns is where the conversation stands.
type turns struct {
	ordinal int    // of the newest turn; -1 before the first
	current int    // the engine's number of it; -1 when it has none
	open    bool   // it runs
	state   string // how it ended, as told
	guessed bool   // nothing told that it ended
	gone    bool   // it was removed: nothing goes on with it
	loop    bool   // it has steps of loop events
	copied  bool   // its input stands in the log
	steps   int
	step    *step // the newest; nil when the turn has none
	byUUID  map[string]*step
	last    string // time of the record before
}

func newTurns() turns { return turns{ordinal: -1, current: -1, byUUID: make(map[string]*step)} }

// step is one call of the model.
type step struct {
	turn, number  int
	texts, thinks int
	open          bool
	finish        string
	failed        bool
}

// fields begins a payload with the step's place.
func (s *step) fields() *importer.Fields {
	var p importer.Fields
	return p.Int("turnId", s.turn).Int("step", s.number)
}

// startTurn opens the next turn, as the engine's id (-1 for none); origin is
// the record that asked for it, nil for the current one.
func (d *decoder) startTurn(r *record, id int, origin *importer.Origin, p *importer.Fields) {
	d.endTurn(r, "")
	t := &d.turns
	t.ordinal++
	t.current = id
	t.open, t.state, t.guessed, t.gone, t.loop, t.copied = true, "", false, false, false, false
	t.steps, t.step = 0, nil
	clear(t.byUUID)
	d.calls.NewTurn()
	if id >= 0 {
		d.engine[id] = &engineTurn{ordinal: t.ordinal}
	}
	p.Int("turnId", t.ordinal)
	if origin != nil {
		r.emitFrom(origin, events.TypeTurnStarted, p)
	} else {
		r.emit(events.TypeTurnStarted, p)
	}
}

// endTurn tells the end of a turn. reason "" is for one that another follows:
// it is complete unless its last step or a tool call is not.
func (d *decoder) endTurn(r *record, reason string) {
	t := &d.turns
	if !t.open {
		return
	}
	if reason == "" {
		reason = d.implied()
	}
	if s := t.step; s != nil && s.open {
		s.open = false
		r.emitAt(t.last, events.TypeStepInterrupted, s.fields().Str("reason", "aborted"))
	}
	t.open, t.state, t.guessed = false, reason, true
	var p importer.Fields
	r.emitAt(t.last, events.TypeTurnEnded, p.Int("turnId", t.ordinal).Str("reason", reason))
}

// implied is how a turn ended whose end nobody tells.
func (d *decoder) implied() string {
	t := &d.turns
	if t.step == nil || t.step.open || t.step.failed || d.calls.Asking() {
		return "cancelled"
	}
	return "completed"
}

// needTurn makes sure that a turn runs: what has no prompt of its own goes on
// with the newest turn, or opens one without a prompt.
func (d *decoder) needTurn(r *record) {
	t := &d.turns
	switch {
	case t.open:
	case t.ordinal >= 0 && !t.gone:
		t.open, t.state, t.guessed = true, "", false
		var p importer.Fields
		r.emit(events.TypeTurnStarted, p.Int("turnId", t.ordinal))
	default:
		d.startTurn(r, t.current, nil, &importer.Fields{})
	}
}

// turnOf makes sure that the turn runs which the engine calls id.
func (d *decoder) turnOf(r *record, id int) {
	t := &d.turns
	e := d.engine[id]
	switch {
	case id < 0 || e != nil && e.ordinal == t.ordinal:
		d.settleSteer(r, -1)
		d.needTurn(r)
	case e == nil && (t.ordinal < 0 || id > t.current):
		if !d.settleSteer(r, id) {
			d.startTurn(r, id, nil, &importer.Fields{})
		}
	default: // of a turn that is over: what comes late shows in the newest
		d.needTurn(r)
	}
	if e := d.engine[id]; e != nil {
		e.ran = true
	}
	if id >= 0 {
		d.clock.seen(id)
	}
}

// needStep opens the next step; uuid may be "".
func (d *decoder) needStep(r *record, uuid string) *step {
	d.needTurn(r)
	t := &d.turns
	t.steps++
	t.step = &step{turn: t.ordinal, number: t.steps, open: true}
	if uuid != "" {
		t.byUUID[strings.Clone(uuid)] = t.step
	}
	r.emit(events.TypeStepStarted, t.step.fields())
	return t.step
}

// stepOf finds the step of a loop event: the one it names, else the newest of
// the turn, else a new one.
func (d *decoder) stepOf(r *record, uuid string) *step {
	if s := d.turns.byUUID[uuid]; s != nil && uuid != "" {
		return s
	}
	if s := d.turns.step; s != nil && s.turn == d.turns.ordinal {
		return s
	}
	return d.needStep(r, uuid)
}

// removed is an undo or a clear: nothing goes on with the turn before it.
func (d *decoder) removed(r *record) {
	if r.kind == events.TypeContextUndo && turnID(r.Object["count"]) < 1 {
		r.out.Skip("undo of no whole number of turns")
		r.pass(r.kind)
		return
	}
	d.settleSteer(r, -1)
	d.endTurn(r, "")
	d.turns.gone = true
	d.turns.step = nil
	r.same()
}
