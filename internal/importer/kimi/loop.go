package kimi

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// loopEvent is one thing that happened while a turn ran.
func (d *decoder) loopEvent(r *record, e importer.Object) {
	kind := e.Str("type")
	if kind != "tool.result" {
		d.turnOf(r, turnID(e["turnId"]))
		d.turns.loop = true
	}
	switch kind {
	case "step.begin":
		d.twin = nil
		d.needStep(r, e.Str("uuid"))
	case "content.part":
		raw := e["part"]
		o := importer.ObjectOf(raw)
		d.part(r, d.stepOf(r, e.Str("stepUuid")), importer.Part{Object: o, Kind: o.Str("type"), Raw: raw})
	case "tool.call":
		d.call(r, d.stepOf(r, e.Str("stepUuid")), e)
	case "tool.result":
		result := e.Object("result")
		output, isError := result["output"], result.Flag("isError")
		if len(result) == 0 {
			output = e["result"]
		}
		d.result(r, importer.First(e.Str("toolCallId"), e.Str("parentUuid")), importer.OutputOf(output), isError)
	case "step.end":
		d.stepEnd(r, e)
	default:
		r.pass("context.append_loop_event." + kind)
	}
}

// part is a piece of what the model said.
func (d *decoder) part(r *record, s *step, p importer.Part) {
	switch p.Kind {
	case "text":
		if text := p.Object["text"]; importer.IsText(text) {
			s.texts++
			r.emit(events.TypeAssistantMessage, frame(s.fields().Raw("text", text), s.texts))
		}
	case "think", "thinking":
		text := p.Object["think"]
		if text == nil {
			text = p.Object["thinking"]
		}
		if importer.IsText(text) {
			s.thinks++
			r.emit(events.TypeThinkingMessage, frame(s.fields().Raw("text", text), s.thinks))
		}
	default:
		r.pass("content." + importer.First(p.Kind, "part"))
	}
}

// frame names a further text of a step; the first one needs no name.
func frame(p *importer.Fields, n int) *importer.Fields {
	if n > 1 {
		p.Int("frame", n)
	}
	return p
}

// timings are what a step.end tells beside the usage.
var timings = [...]string{
	"llmFirstTokenLatencyMs", "llmStreamDurationMs", "llmRequestBuildMs",
	"llmServerFirstTokenMs", "llmServerDecodeMs", "llmClientConsumeMs",
}

func (d *decoder) stepEnd(r *record, e importer.Object) {
	s := d.stepOf(r, e.Str("uuid"))
	s.open, s.finish = false, strings.Clone(e.Str("finishReason"))
	switch s.finish {
	case "error", "aborted", "cancelled", "interrupted":
		s.failed = true
		r.emit(events.TypeStepInterrupted, s.fields().Str("reason", s.finish))
		return
	}
	p := s.fields().Raw("usage", usageOf(e["usage"])).Opt("model", d.model)
	for _, name := range [...]string{"finishReason", "rawFinishReason", "providerFinishReason"} {
		p.Opt(name, e.Str(name))
	}
	for _, name := range timings {
		p.Raw(name, e.Number(name))
	}
	r.emit(events.TypeStepCompleted, p)
	if !d.ends && s.finish != "tool_use" && s.finish != "" && s.turn == d.turns.ordinal {
		d.turns.last = r.time
		d.endTurn(r, "completed")
	}
}

// usageOf keeps the counts that are numbers; nil when there are none.
func usageOf(raw []byte) []byte {
	usage := importer.ObjectOf(raw)
	var p importer.Fields
	for _, name := range [...]string{"inputOther", "output", "inputCacheRead", "inputCacheCreation"} {
		p.Raw(name, usage.Number(name))
	}
	if payload := p.Object(); len(payload) > len("{}") {
		return payload
	}
	return nil
}

// retrying is an attempt that failed: the step that it was shows nothing, and
// the next attempt is a step of its own.
func (d *decoder) retrying(r *record) {
	d.turnOf(r, turnID(r.Object["turnId"]))
	s := d.stepOf(r, r.Str("stepId"))
	p := s.fields()
	for m := scan.ObjectOf(r.raw); m.Next(); {
		switch key := m.Key(); key {
		case "failedAttempt", "nextAttempt", "maxAttempts", "delayMs", "errorName", "errorMessage", "statusCode":
			p.Raw(key, m.Value())
		}
	}
	r.emit(events.TypeStepRetrying, p)
	s.open, s.failed = false, true
	r.emit(events.TypeStepInterrupted, s.fields().Str("reason", "error").Opt("message", r.Str("errorMessage")))
}

// interrupted is turn.step.interrupted.
func (d *decoder) interrupted(r *record) {
	d.turnOf(r, turnID(r.Object["turnId"]))
	s := d.stepOf(r, importer.First(r.Str("stepId"), r.Str("uuid")))
	s.open, s.failed = false, true
	r.emit(events.TypeStepInterrupted, s.fields().Str("reason", importer.First(r.Str("reason"), "error")).Opt("message", r.Str("message")))
}
