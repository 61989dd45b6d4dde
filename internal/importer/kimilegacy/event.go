package kimilegacy

import (
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// event is one message of the wire.
func (d *decoder) event(r *record) {
	a := r.a
	switch r.kind {
	case "TurnBegin":
		implied := "completed"
		if d.ends {
			implied = "cancelled" // only an interrupted turn has no end
		}
		a.prompt(r, r.Object["user_input"], implied)
	case "TurnEnd":
		d.ends = true
		a.endTurn(r, r.time, "completed")
	case "StepBegin":
		a.newStep(r)
	case "StepInterrupted":
		a.endTurn(r, r.time, "cancelled")
	case "SteerInput":
		a.steer(r)
	case "ContentPart":
		a.content(r, importer.Part{Object: r.Object, Kind: r.Str("type"), Raw: r.raw})
	case "ToolCall":
		a.call(r, r.Object)
	case "ToolCallPart":
		a.callPart(r)
	case "ToolResult":
		d.toolResult(r)
	case "SubagentEvent":
		d.subagentEvent(r)
	default:
		if !a.surroundings(r) {
			r.pass(r.kind)
		}
	}
}

// prompt opens a turn with what a person said.
func (a *agent) prompt(r *record, content []byte, implied string) {
	parts := importer.PartsOf(content)
	var p importer.Fields
	a.startTurn(r, p.Str("prompt", importer.TextOf(parts)).Raw("attachments", importer.Attachments(parts)), implied)
}

// steer is input for the turn that runs.
func (a *agent) steer(r *record) {
	a.needTurn(r)
	parts := importer.PartsOf(r.Object["user_input"])
	var p importer.Fields
	p.Int("turnId", a.turn)
	if a.step != nil {
		p.Int("step", a.step.number)
	}
	r.emit(events.TypeUserMessage, p.Str("text", importer.TextOf(parts)).Raw("attachments", importer.Attachments(parts)))
}

// content is a piece of what the model said: pieces of one kind that follow
// each other are one text.
func (a *agent) content(r *record, p importer.Part) {
	kind, text := events.TypeAssistantDelta, p.Object["text"]
	switch p.Kind {
	case "text":
	case "think", "thinking":
		kind, text = events.TypeThinkingDelta, p.Object["think"]
		if text == nil {
			text = p.Object["thinking"]
		}
	default:
		r.pass("content." + importer.First(p.Kind, "part"))
		return
	}
	if importer.IsText(text) {
		r.emit(kind, a.needStep(r).fields().Raw("delta", text))
	}
}

// surroundings handles what is said about a turn beside its content.
func (a *agent) surroundings(r *record) bool {
	var p importer.Fields
	switch r.kind {
	case "StatusUpdate":
		a.status(r)
	case "ApprovalRequest":
		a.ask(r, "approval")
	case "QuestionRequest":
		a.ask(r, "question")
	case "ApprovalResponse", "ApprovalRequestResolved":
		decision := "cancelled"
		switch r.Str("response") {
		case "approve", "approve_for_session":
			decision = "approved"
		case "reject":
			decision = "rejected"
		}
		var response importer.Fields
		response.Str("decision", decision).Raw("response", r.Object["response"]).Opt("feedback", r.Str("feedback"))
		r.emit(events.TypeInteractionResolved, p.Str("id", r.Str("request_id")).Raw("response", response.Object()))
	case "QuestionResponse":
		var response importer.Fields
		r.emit(events.TypeInteractionResolved, p.Str("id", r.Str("request_id")).
			Raw("response", response.Raw("answers", r.Object["answers"]).Object()))
	case "CompactionBegin":
		r.emit(events.TypeCompactionStarted, &p)
	case "CompactionEnd":
		r.emit(events.TypeCompactionCompleted, &p)
	case "HookResolved":
		if r.Str("action") != "block" {
			return false // it let pass what it looked at
		}
		for m := scan.ObjectOf(r.body); m.Next(); {
			p.Raw(m.Key(), m.Value())
		}
		r.emit(events.TypeHookResult, &p)
	case "Notification":
		r.emit(events.TypeTaskNotified, p.Str("title", r.Str("title")).Str("body", r.Str("body")).
			Str("sourceId", r.Str("source_id")).Opt("category", r.Str("category")).Opt("severity", r.Str("severity")))
	default:
		return false
	}
	return true
}

// ask is a question to a person.
func (a *agent) ask(r *record, kind string) {
	id := r.Str("id")
	if id == "" {
		r.out.Skip("a request without an id")
		r.pass(r.kind)
		return
	}
	a.whole(r)
	call := r.Str("tool_call_id")
	var p importer.Fields
	p.Str("id", id).Str("kind", kind).Opt("toolCallId", importer.First(a.calls.Name(call), call))
	r.emit(events.TypeInteractionRequest, p.Raw("request", importer.WithoutBytes(r.body)))
}

// status tells how full the context is, and the tokens of the step.
func (a *agent) status(r *record) {
	var usage, p importer.Fields
	tokens := r.Object.Object("token_usage")
	for _, names := range [...][2]string{
		{"inputOther", "input_other"},
		{"output", "output"},
		{"inputCacheRead", "input_cache_read"},
		{"inputCacheCreation", "input_cache_creation"},
	} {
		usage.Raw(names[0], tokens.Number(names[1]))
	}
	if counts := usage.Object(); len(counts) > len("{}") && a.step != nil {
		a.step.usage = counts
	}
	a.changed(&p, "contextTokens", r.Number("context_tokens"))
	a.changed(&p, "maxContextTokens", r.Number("max_context_tokens"))
	a.changed(&p, "contextUsage", r.Number("context_usage"))
	if on, ok := scan.BoolOf(r.Object["plan_mode"]); ok && on != a.plan {
		a.plan = on
		p.Bool("planMode", on)
	}
	if payload := p.Object(); len(payload) > len("{}") {
		r.emit(events.TypeAgentStatusUpdated, &p)
	}
}
