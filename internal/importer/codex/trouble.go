package codex

import (
	"regexp"
	"strconv"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// trouble is an error, a warning, or a call of the model that is tried again.
func (d *decoder) trouble(r *record) {
	cause := r.object
	if inner := r.Object("error"); len(inner) > 0 {
		cause = inner
	}
	message, code := importer.First(cause.Str("message"), r.sub), codeOf(cause)
	switch r.sub {
	case "stream_error":
		d.retry(r, message, code)
		return
	case "error":
		if t := &d.turns; t.open || t.waiting != nil {
			d.needTurn(r)
			t.failure = failureOf(cause)
		}
	}
	var p importer.Fields
	d.emit(r, r.sub, p.Str("message", message).Opt("code", code))
	if t := &d.turns; r.sub == "error" && t.open && !t.tasked {
		d.endTurn(r, ending{reason: "failed", failure: t.failure}) // no record of a task will
	}
}

// failureOf is an error as turn.ended has it.
func failureOf(cause object) []byte {
	var p importer.Fields
	return p.Str("message", importer.First(cause.Str("message"), "error")).Opt("code", codeOf(cause)).Object()
}

// codeOf names an error: a string, or an object with one member of that name.
func codeOf(cause object) string {
	info := cause["codex_error_info"]
	if scan.KindOf(info) == scan.Object {
		m := scan.ObjectOf(info)
		if m.Next() {
			return m.Key()
		}
	}
	return cause.Either("codex_error_info", "kind", "code")
}

// attempts is how the program counts them: "Reconnecting... 2/5".
var attempts = regexp.MustCompile(`(\d{1,4})/(\d{1,4})`)

func (d *decoder) retry(r *record, message, code string) {
	p := d.needStep(r).fields()
	if m := attempts.FindStringSubmatch(message); m != nil {
		failed, _ := strconv.Atoi(m[1])
		most, _ := strconv.Atoi(m[2])
		p.Int("failedAttempt", failed).Int("nextAttempt", failed+1).Int("maxAttempts", most)
	}
	p.Str("errorName", importer.First(code, "stream_error")).
		Str("errorMessage", importer.First(r.Str("additional_details"), message))
	d.emit(r, "turn.step.retrying", p)
}

// compacted tells that the history was replaced.
func (d *decoder) compacted(r *record, summary string) {
	var p importer.Fields
	d.emit(r, "compaction.completed", p.Opt("contextSummary", summary))
}

// compactedEvent is the twin of a compacted record, which stands before it; old
// files have only the event.
func (d *decoder) compactedEvent(r *record) {
	if d.compacts > 0 {
		d.compacts = 0
		return
	}
	d.compacted(r, "")
}

// goal follows the thread's goal.
func (d *decoder) goal(r *record) {
	var p importer.Fields
	goal := r.Object("goal")
	if r.sub == "thread_goal_cleared" || len(goal) == 0 {
		d.emit(r, "goal.updated", p.Raw("snapshot", []byte("null")))
		return
	}
	var s, budget importer.Fields
	tokens := []byte("null")
	if limit := goal.Number("tokenBudget"); limit != nil {
		tokens = limit
	}
	s.Str("objective", goal.Str("objective")).Str("status", goalStatus(goal.Str("status")))
	if used := goal.Number("tokensUsed"); used != nil {
		s.Raw("tokensUsed", used)
	} else {
		s.Int("tokensUsed", 0)
	}
	s.Raw("budget", budget.Raw("tokenBudget", tokens).Object())
	d.emit(r, "goal.updated", p.Raw("snapshot", s.Object()))
}

func goalStatus(status string) string {
	switch status {
	case "paused", "blocked", "complete":
		return status
	case "completed", "done":
		return "complete"
	case "budgetLimited", "budget_limited", "usageLimited", "usage_limited":
		return "blocked"
	}
	return "active"
}
