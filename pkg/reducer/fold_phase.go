package reducer

import "github.com/stenohq/steno/pkg/events/scan"

// activityUpdated folds agent.activity.updated in its two forms: the whole
// activity state of a runtime, with lifecycle, or activity and phase.
func (f *Fold) activityUpdated(p *foldPayload) {
	if p.has("lifecycle") {
		f.lifecycleUpdated(p)
		return
	}
	patch := MetaPatch{Activity: p.oneOf("activity", "idle", "turn", "disposing", "unknown")}
	if phase := p.phase("phase"); phase != nil {
		patch.Agent = &AgentMeta{Phase: phase}
	}
	f.putMeta(patch)
}

func (f *Fold) lifecycleUpdated(p *foldPayload) {
	lifecycle := p.oneOf("lifecycle", "initializing", "ready", "disposing", "disposed")
	if lifecycle == "" || lifecycle == "disposed" {
		return
	}
	patch := MetaPatch{Activity: "idle"}
	phase := &Phase{Kind: "idle"}
	turn, running := p.object("turn")
	last, ended := p.object("lastTurn")
	switch {
	case running:
		patch.Activity = "turn"
		phase = turn.turnPhase()
	case ended:
		phase = last.endedPhase()
	}
	if lifecycle == "disposing" {
		patch.Activity = "disposing"
	}
	if phase != nil {
		patch.Agent = &AgentMeta{Phase: phase}
	}
	f.putMeta(patch)
}

// turnPhase derives the phase from the state of a running turn.
func (p *foldPayload) turnPhase() *Phase {
	phase := &Phase{Kind: "running", TurnID: p.number("turnId"), Step: p.number("step"), Since: p.number("since")}
	if !phase.TurnID.Set {
		p.bad("turnId", "is missing")
		return nil
	}
	phase.Step = Some(phase.Step.V)
	phase.Since = Some(phase.Since.V)
	if approvals := p.objects("pendingApprovals"); len(approvals) > 0 {
		first, _ := p.list("pendingApprovals")
		since := approvals[0].number("since")
		if !since.Set {
			since = phase.Since
		}
		return &Phase{Kind: "awaiting_approval", TurnID: phase.TurnID, Step: phase.Step, Approval: Raw(first[0]), Since: since}
	}
	if reason := p.oneOf("endingReason", "aborted", "max_steps", "error"); reason != "" && p.flag("ending").V {
		return &Phase{
			Kind: "interrupted", TurnID: phase.TurnID, Step: phase.Step, Reason: Some(reason),
			At: Some(float64(p.f.millis())),
		}
	}
	phase.StepID = Some("")
	p.detail(phase)
	return phase
}

// detail adds what a running turn does just now.
func (p *foldPayload) detail(phase *Phase) {
	calls := p.objects("activeToolCalls")
	switch p.oneOf("phase", "running", "streaming", "tool_call", "retrying") {
	case "streaming":
		phase.Stream = p.oneOf("stream", "assistant", "thinking", "tool_call")
		if phase.Stream == "" {
			return
		}
		phase.Kind = "streaming"
		if n := len(calls); n > 0 && phase.Stream == "tool_call" {
			phase.ToolCallID, phase.ToolName = calls[n-1].text("toolCallId"), calls[n-1].text("name")
		}
	case "tool_call":
		n := len(calls)
		if n == 0 {
			return
		}
		phase.Kind, phase.StepID = "tool_call", Opt[string]{}
		phase.ToolCallID, phase.Name = Some(calls[n-1].word("toolCallId")), Some(calls[n-1].word("name"))
		over(&phase.Since, calls[n-1].number("since"))
	case "retrying":
		retry, ok := p.object("retry")
		if !ok {
			return
		}
		phase.Kind = "retrying"
		phase.FailedAttempt, phase.NextAttempt = Some(retry.number("failedAttempt").V), Some(retry.number("nextAttempt").V)
		phase.MaxAttempts, phase.DelayMs = Some(retry.number("maxAttempts").V), Some(retry.number("delayMs").V)
		phase.ErrorName, phase.StatusCode = retry.text("errorName"), retry.number("statusCode")
	}
}

func (p *foldPayload) endedPhase() *Phase {
	phase := &Phase{
		Kind: "ended", TurnID: p.number("turnId"), DurationMs: p.number("durationMs"), At: p.number("at"),
		Reason: Some(p.oneOf("reason", "completed", "cancelled", "failed", "blocked")),
	}
	if !phase.TurnID.Set || phase.Reason.V == "" {
		return &Phase{Kind: "idle"}
	}
	phase.At = Some(phase.At.V)
	return phase
}

// phase reads a phase as it is; nil when it is absent or not valid.
func (p *foldPayload) phase(name string) *Phase {
	s, ok := p.object(name)
	if !ok {
		return nil
	}
	kind := s.oneOf("kind", "idle", "running", "streaming", "tool_call", "retrying", "awaiting_approval", "interrupted", "ended")
	phase := &Phase{Kind: kind}
	switch kind {
	case "":
		if !s.has("kind") {
			s.bad("kind", "is missing")
		}
		return nil
	case "idle":
		return phase
	case "interrupted", "ended":
		phase.TurnID, phase.At = s.need("turnId"), s.need("at")
	default:
		phase.TurnID, phase.Since = s.need("turnId"), s.need("since")
	}
	if !s.phaseOf(phase) || !phase.TurnID.Set || !phase.Since.Set && !phase.At.Set {
		return nil
	}
	return phase
}

// phaseOf reads the fields of one kind of phase; not ok when a required one is
// missing.
func (p *foldPayload) phaseOf(phase *Phase) bool {
	switch phase.Kind {
	case "running", "streaming", "retrying":
		phase.Step, phase.StepID = p.need("step"), Some(p.word("stepId"))
		if !phase.Step.Set {
			return false
		}
	case "tool_call":
		phase.Step = p.need("step")
		phase.ToolCallID, phase.Name = p.required("toolCallId"), p.required("name")
		return phase.Step.Set && phase.ToolCallID.Set && phase.Name.Set
	case "awaiting_approval":
		phase.Step, phase.Approval = p.number("step"), p.raw("approval")
	case "interrupted":
		phase.Step, phase.Message = p.number("step"), p.text("message")
		phase.Reason = Some(p.oneOf("reason", "aborted", "max_steps", "error"))
		return phase.Reason.V != ""
	case "ended":
		phase.DurationMs = p.number("durationMs")
		phase.Reason = Some(p.oneOf("reason", "completed", "cancelled", "failed", "blocked"))
		return phase.Reason.V != ""
	}
	switch phase.Kind {
	case "streaming":
		phase.Stream = p.oneOf("stream", "assistant", "thinking", "tool_call")
		phase.ToolCallID, phase.ToolName = p.text("toolCallId"), p.text("toolName")
		return phase.Stream != ""
	case "retrying":
		phase.FailedAttempt, phase.NextAttempt = p.need("failedAttempt"), p.need("nextAttempt")
		phase.MaxAttempts, phase.DelayMs = p.need("maxAttempts"), p.need("delayMs")
		phase.ErrorName, phase.StatusCode = p.text("errorName"), p.number("statusCode")
		return phase.FailedAttempt.Set && phase.NextAttempt.Set && phase.MaxAttempts.Set && phase.DelayMs.Set
	}
	return true
}

// need returns a required number.
func (p *foldPayload) need(name string) Opt[float64] {
	if !p.has(name) {
		p.bad(name, "is missing")
	}
	return p.number(name)
}

// all returns the object as it is.
func (p *foldPayload) all() Raw {
	if p.f.ev == nil {
		return ""
	}
	return Raw(scan.Trim(p.f.ev.Payload))
}
