package kimi

import (
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// ended is an agent.turn.ended, which turn.ended mostly tells again with more.
type ended struct {
	id     int
	reason string
	origin *importer.Origin
}

// settleEnd publishes a held end unless this record tells it.
func (d *decoder) settleEnd(r *record) {
	e := d.end
	if e == nil {
		return
	}
	d.end = nil
	if r.kind == "turn.ended" && turnID(r.Object["turnId"]) == e.id {
		return
	}
	d.ended(r, e.id, e.reason, e.origin, &importer.Fields{})
}

// turnEnded is turn.ended or agent.turn.ended.
func (d *decoder) turnEnded(r *record) {
	id := turnID(r.Object["turnId"])
	reason := r.Str("reason")
	if reason == "" {
		reason = outcome(r.Str("outcome"))
	}
	if r.kind == "agent.turn.ended" && r.Object["reason"] == nil && r.Object["error"] == nil {
		d.end = &ended{id: id, reason: reason, origin: r.out.Origin()}
		return
	}
	var p importer.Fields
	p.Raw("durationMs", r.Number("durationMs")).Raw("error", r.Object["error"])
	if why := r.Str("interruptReason"); why != "" && !d.cancel[id] {
		p.Str("interruptReason", why)
	}
	if !d.ended(r, id, reason, nil, &p) {
		r.pass(r.kind)
	}
}

// outcome translates the word of agent.turn.ended.
func outcome(word string) string {
	switch word {
	case "done", "completed":
		return "completed"
	case "cancelled", "aborted", "interrupted":
		return "cancelled"
	case "error", "failed":
		return "failed"
	}
	return word
}

// ended publishes the end of the turn that the engine calls id; false when it
// is not known. A reason that is none keeps what the turn was.
func (d *decoder) ended(r *record, id int, reason string, origin *importer.Origin, p *importer.Fields) bool {
	e := d.engine[id]
	if e == nil || e.ordinal < 0 || e.hidden && !e.ran {
		return false
	}
	t := &d.turns
	newest := e.ordinal == t.ordinal
	switch reason {
	case "completed", "cancelled", "failed", "blocked":
	default:
		reason = "completed"
		if newest && t.open {
			reason = d.implied()
		} else if newest {
			reason = importer.First(t.state, reason)
		}
	}
	if newest {
		d.settleSteer(r, -1)
		t.open, t.state, t.guessed = false, reason, false
		if t.step != nil {
			t.step.open = false
		}
	}
	p.Int("turnId", e.ordinal).Str("reason", reason)
	if origin != nil {
		r.emitFrom(origin, events.TypeTurnEnded, p)
	} else {
		r.emit(events.TypeTurnEnded, p)
	}
	return true
}

// cancelled is turn.cancel: of the turn that runs, or of a prompt that waits.
func (d *decoder) cancelled(r *record) {
	id := turnID(r.Object["turnId"])
	if r.Str("target") == "queued" {
		if id >= 0 {
			d.clock.reserve(id)
		}
		r.pass(r.kind)
		return
	}
	if id < 0 && r.Str("target") == "" {
		id = d.turns.current
	}
	if d.cancel[id] || d.engine[id] == nil {
		r.pass(r.kind)
		return
	}
	d.cancel[id] = true
	var p importer.Fields
	byUser := r.Str("reason") == "user_cancelled"
	if byUser {
		p.Str("interruptReason", "user_cancelled")
		if t := &d.turns; d.engine[id].ordinal == t.ordinal && t.guessed {
			d.needTurn(r) // it had not ended yet
		}
	}
	if byUser || !d.ends { // else turn.ended says it
		d.ended(r, id, "cancelled", nil, &p)
		return
	}
	r.pass(r.kind)
}
