package claudecode

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
)

// step is one API message.
type step struct {
	key    string // message.id; "" when it was opened by a retry and not claimed
	turn   int
	number int
	texts  int
	thinks int
	open   bool

	usage  []byte // as turn.step.completed has it
	model  string
	stop   string
	cost   []byte
	answer bool // its message arrived, at least in part
}

// startTurn opens the next turn.
func (a *agent) startTurn(r *record, p *importer.Fields) {
	a.endTurn(r, "")
	a.turn++
	a.steps, a.step, a.byKey = 0, nil, make(map[string]*step)
	a.open, a.end, a.fresh = true, "", false
	clear(a.asking)
	a.last = r.now()
	r.emit("turn.started", p.Int("turnId", a.turn))
}

// needTurn makes sure that a turn runs: what has no prompt of its own goes on
// with the turn that ended, or opens one without a prompt.
func (a *agent) needTurn(r *record) {
	switch {
	case a.open:
	case a.turn >= 0 && !a.fresh:
		a.open, a.end = true, ""
		var p importer.Fields
		r.emit("turn.started", p.Int("turnId", a.turn))
	default:
		a.prompt, a.text = "", ""
		a.startTurn(r, &importer.Fields{})
	}
	a.last = r.now()
}

// needStep opens the next step, for the message named key.
func (a *agent) needStep(r *record, key string) *step {
	a.finishStep(r)
	a.needTurn(r)
	a.steps++
	a.step = &step{key: strings.Clone(key), turn: a.turn, number: a.steps, open: true}
	if key != "" {
		a.byKey[a.step.key] = a.step
	}
	r.emit("turn.step.started", a.step.fields())
	return a.step
}

// fields begins a payload with the step's place.
func (s *step) fields() *importer.Fields {
	var p importer.Fields
	return p.Int("turnId", s.turn).Int("step", s.number)
}

// finishStep tells the end of the newest step, with the usage of its message.
func (a *agent) finishStep(r *record) {
	s := a.step
	if s == nil || !s.open {
		return
	}
	s.open = false
	if !s.answer {
		r.emitAt(a.last, "turn.step.interrupted", s.fields().Str("reason", "aborted"))
		return
	}
	p := s.fields().Raw("usage", s.usage).Opt("model", s.model).Raw("cost", s.cost).Opt("finishReason", s.stop)
	r.emitAt(a.last, "turn.step.completed", p)
}

// endTurn tells the end of a turn. reason "" is for one that another follows:
// it is complete unless a tool call was not answered.
func (a *agent) endTurn(r *record, reason string) {
	if !a.open {
		return
	}
	if reason == "" {
		reason = "completed"
		if len(a.asking) > 0 || a.step == nil || !a.step.answer {
			reason = "cancelled"
		}
	}
	a.finishStep(r)
	a.open, a.end = false, reason
	var p importer.Fields
	r.emitAt(a.last, "turn.ended", p.Int("turnId", a.turn).Str("reason", reason))
}

// interrupt is the end of a turn by its user.
func (a *agent) interrupt(r *record) {
	if a.turn < 0 {
		r.pass("user.interrupt")
		return
	}
	a.finishStep(r)
	a.open, a.end = false, "cancelled"
	var p importer.Fields
	r.emit("turn.ended", p.Int("turnId", a.turn).Str("reason", "cancelled").Str("interruptReason", "user_cancelled"))
}

// now is the record's time, "" when it has no usable one.
func (r *record) now() string { return r.out.Origin().Time }
