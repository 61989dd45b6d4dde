package claudecode

import (
	"github.com/stenohq/steno/internal/importer"
)

// boundary is a compaction whose summary has not come yet.
type boundary struct {
	origin  *importer.Origin
	trigger string
	tokens  []byte
}

func (d *decoder) system(r *record) {
	a := r.a
	switch sub := r.str("subtype"); sub {
	case "compact_boundary":
		if a.boundary != nil {
			a.compacted(r, "")
		}
		meta := r.object.object("compactMetadata")
		a.boundary = &boundary{origin: r.out.Origin(), trigger: meta.str("trigger"), tokens: meta.number("preTokens")}
	case "api_error":
		d.retry(r)
	case "turn_duration":
		a.duration(r)
	case "stop_hook_summary":
		a.finishStep(r)
		var p importer.Fields
		p.Str("event", "Stop").Raw("hooks", r.object["hookInfos"]).Raw("errors", r.object["hookErrors"]).
			Raw("preventedContinuation", r.object["preventedContinuation"]).Opt("stopReason", r.str("stopReason"))
		r.emit("hook.result", &p)
	case "error":
		var p importer.Fields
		cause := r.object.object("error")
		r.emit("error", p.Str("message", first(cause.either("message", "formatted"), r.str("content"), "error")).Raw("status", cause.number("status")))
	case "api_refusal", "model_refusal_fallback":
		var p importer.Fields
		r.emit("warning", p.Str("message", first(r.str("apiRefusalExplanation"), r.str("content"), sub)).Str("code", sub))
	case "":
		r.pass("system")
	default:
		r.pass("system." + sub)
	}
}

// first returns the first string that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// compacted tells a compaction, with its summary when it has one.
func (a *agent) compacted(r *record, summary string) {
	b := a.boundary
	a.boundary = nil
	var p importer.Fields
	at := ""
	if b != nil {
		at = b.origin.Time
		p.Opt("trigger", b.trigger).Raw("preTokens", b.tokens)
	}
	r.emitAt(at, "compaction.completed", p.Opt("contextSummary", summary))
}

// duration ends the turn whose length the program tells.
func (a *agent) duration(r *record) {
	if a.turn < 0 || a.end != "" && a.end != "completed" {
		r.pass("system.turn_duration")
		return
	}
	a.finishStep(r)
	a.open, a.end = false, "completed"
	var p importer.Fields
	p.Int("turnId", a.turn).Str("reason", "completed").Raw("durationMs", r.number("durationMs"))
	r.emit("turn.ended", &p)
}

// retry is a call of the API that failed and will be tried again.
func (d *decoder) retry(r *record) {
	a := r.a
	s := a.step
	if s == nil || !s.open || s.key != "" {
		s = a.needStep(r, "")
	}
	a.last = r.now()
	cause := r.object.object("error")
	inner := cause.object("error")
	api := inner.object("error")
	connection := cause.object("connection")
	p := s.fields()
	failed := r.number("retryAttempt")
	p.Raw("failedAttempt", failed).Raw("nextAttempt", next(failed)).Raw("maxAttempts", r.number("maxRetries")).
		Raw("delayMs", r.number("retryInMs")).
		Str("errorName", first(api.str("type"), inner.str("type"), cause.str("type"), connection.str("code"), r.object.object("cause").str("code"), "api_error")).
		Str("errorMessage", first(api.str("message"), inner.str("message"), cause.either("message", "formatted"), connection.str("message"))).
		Raw("statusCode", status(cause.number("status")))
	r.emit("turn.step.retrying", p)
}
