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
	switch sub := r.Str("subtype"); sub {
	case "compact_boundary":
		if a.boundary != nil {
			a.compacted(r, "")
		}
		meta := r.Object("compactMetadata")
		a.boundary = &boundary{origin: r.out.Origin(), trigger: meta.Str("trigger"), tokens: meta.Number("preTokens")}
	case "api_error":
		d.retry(r)
	case "turn_duration":
		a.duration(r)
	case "stop_hook_summary":
		a.finishStep(r)
		var p importer.Fields
		p.Str("event", "Stop").Raw("hooks", r.object["hookInfos"]).Raw("errors", r.object["hookErrors"]).
			Raw("preventedContinuation", r.object["preventedContinuation"]).Opt("stopReason", r.Str("stopReason"))
		r.emit("hook.result", &p)
	case "error":
		var p importer.Fields
		cause := r.Object("error")
		r.emit("error", p.Str("message", importer.First(cause.Either("message", "formatted"), r.Str("content"), "error")).Raw("status", cause.Number("status")))
	case "api_refusal", "model_refusal_fallback":
		var p importer.Fields
		r.emit("warning", p.Str("message", importer.First(r.Str("apiRefusalExplanation"), r.Str("content"), sub)).Str("code", sub))
	case "":
		r.pass("system")
	default:
		r.pass("system." + sub)
	}
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
	p.Int("turnId", a.turn).Str("reason", "completed").Raw("durationMs", r.Number("durationMs"))
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
	cause := r.Object("error")
	inner := cause.Object("error")
	api := inner.Object("error")
	connection := cause.Object("connection")
	p := s.fields()
	failed := r.Number("retryAttempt")
	p.Raw("failedAttempt", failed).Raw("nextAttempt", next(failed)).Raw("maxAttempts", r.Number("maxRetries")).
		Raw("delayMs", r.Number("retryInMs")).
		Str("errorName", importer.First(api.Str("type"), inner.Str("type"), cause.Str("type"), connection.Str("code"), r.Object("cause").Str("code"), "api_error")).
		Str("errorMessage", importer.First(api.Str("message"), inner.Str("message"), cause.Either("message", "formatted"), connection.Str("message"))).
		Raw("statusCode", status(cause.Number("status")))
	r.emit("turn.step.retrying", p)
}
