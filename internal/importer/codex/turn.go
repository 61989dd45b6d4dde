package codex

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
)

// turns is where the conversation stands.
type turns struct {
	turn     int // ordinal of the newest turn; -1 before the first
	open     bool
	fresh    bool   // what comes must not go on with the former turn
	tasked   bool   // the turn runs between task_started and its end
	task     string // turn_id of the source
	waiting  *task  // a task that has shown nothing yet
	prompt   string // as shown
	prompted bool
	steps    int
	step     *step
	last     string // time of the newest record of the turn
	asking   map[string]bool
	failure  []byte  // error of the turn, as turn.ended has it
	was      *ending // how the turn ended before something came after its end
}

// task is a task_started.
type task struct {
	id     string
	origin *importer.Origin
}

// step is one call of the model.
type step struct {
	turn, number int
	texts        int
	thinks       int
	open         bool
	counted      bool // its usage was told
}

// fields begins a payload with the step's place.
func (s *step) fields() *importer.Fields {
	var p importer.Fields
	return p.Int("turnId", s.turn).Int("step", s.number)
}

func (d *decoder) taskStarted(r *record) {
	t := &d.turns
	id := strings.Clone(r.Either("turn_id"))
	d.fork.turn(id, r.Number("started_at"))
	switch {
	case id != "" && (t.open && t.task == id || t.waiting != nil && t.waiting.id == id):
		return
	case t.open && !t.tasked && t.steps == 0 && d.texts.prompt() == nil: // its prompt stands before it
		t.tasked, t.task = true, id
		return
	}
	next := d.texts.cutPrompt()
	d.closeTurn(r)
	d.texts.held = append(next, d.texts.held...)
	t.waiting = &task{id: id, origin: r.origin}
}

// openTurn opens the next turn; p has its prompt.
func (d *decoder) openTurn(r *record, p *importer.Fields) {
	t := &d.turns
	t.turn++
	t.open, t.fresh, t.tasked, t.task = true, false, false, ""
	t.steps, t.step, t.failure, t.was = 0, nil, nil, nil
	t.prompt, t.prompted = "", false
	clear(t.asking)
	if w := t.waiting; w != nil {
		t.tasked, t.task, t.waiting = true, w.id, nil
		r = r.from(w.origin)
	}
	t.last = r.now()
	d.emit(r, "turn.started", p.Int("turnId", t.turn))
}

// needTurn makes sure that a turn runs: what comes after its end goes on with
// it, unless something else was announced.
func (d *decoder) needTurn(r *record) {
	t := &d.turns
	switch {
	case t.open:
	case t.waiting == nil && t.turn >= 0 && !t.fresh:
		t.open = true
		var p importer.Fields
		d.emit(r, "turn.started", p.Int("turnId", t.turn))
	default:
		d.openTurn(r, &importer.Fields{})
	}
}

// needStep returns the running step, or the next one.
func (d *decoder) needStep(r *record) *step {
	t := &d.turns
	if t.step != nil && t.step.open && t.open {
		return t.step
	}
	d.needTurn(r)
	t.steps++
	t.step = &step{turn: t.turn, number: t.steps, open: true}
	d.emit(r, "turn.step.started", t.step.fields())
	return t.step
}

// ending is how a turn ends.
type ending struct {
	reason   string
	why      string // interruptReason
	failure  []byte
	duration []byte
	at       string // "" for the record's time
}

// endTurn ends the turn that runs or was announced. It reports false when there
// is none.
func (d *decoder) endTurn(r *record, e ending) bool {
	t := &d.turns
	if t.waiting != nil && d.texts.prompt() == nil {
		d.openTurn(r, &importer.Fields{})
	}
	d.settle(r)
	if !t.open {
		return false
	}
	if t.step != nil && t.step.open {
		if e.reason == "completed" {
			d.emitAt(r, e.at, "turn.step.completed", t.step.fields().Opt("model", d.settings.model))
		}
		t.step.open = false
	}
	t.open, t.was = false, &e
	var p importer.Fields
	p.Int("turnId", t.turn).Str("reason", e.reason).Opt("interruptReason", e.why).Raw("error", e.failure).Raw("durationMs", e.duration)
	d.emitAt(r, e.at, "turn.ended", &p)
	return true
}

// closeTurn ends a turn whose end the file does not tell: it was broken off,
// unless it is none of a task and everything in it was answered. One that had
// ended before ends as it did.
func (d *decoder) closeTurn(r *record) {
	t := &d.turns
	if !t.open && t.waiting == nil {
		return // what waits belongs to the turn that comes
	}
	d.settle(r)
	e := ending{reason: "completed", at: t.last}
	switch {
	case t.waiting == nil && t.was != nil:
		e.reason, e.failure = t.was.reason, t.was.failure
	case t.tasked || t.waiting != nil || len(t.asking) > 0 || t.steps == 0:
		e.reason = "cancelled"
	}
	d.endTurn(r, e)
	t.waiting = nil
}

func (d *decoder) taskComplete(r *record) {
	t := &d.turns
	if !t.open && t.waiting == nil {
		if r.sub != "turn.completed" {
			d.pass(r, "event_msg."+r.sub)
			return
		}
		d.openTurn(r, &importer.Fields{}) // the oldest form tells only the end
	}
	e := ending{reason: "completed", duration: r.Number("duration_ms"), failure: t.failure}
	if cause := r.Object("error"); len(cause) > 0 {
		e.failure = failureOf(cause)
	}
	if e.failure != nil {
		e.reason = "failed"
	}
	d.endTurn(r, e)
}

// aborted is the end of a turn by its user, or by another prompt.
func (d *decoder) aborted(r *record) {
	e := ending{reason: "cancelled", duration: r.Number("duration_ms")}
	if r.Str("reason") == "interrupted" {
		e.why = "user_cancelled"
	}
	if !d.endTurn(r, e) {
		d.pass(r, "event_msg.turn_aborted")
	}
}

// rolledBack takes the newest turns away.
func (d *decoder) rolledBack(r *record) {
	count := r.Number("num_turns")
	if count == nil {
		d.unused(r, "event_msg.thread_rolled_back", "thread_rolled_back without num_turns")
		return
	}
	d.closeTurn(r)
	d.turns.fresh = true
	var p importer.Fields
	d.emit(r, "context.undo", p.Raw("count", count))
}
