package reducer

// phaseRequired names the members that each kind of phase must have.
func phaseRequired(kind string) string {
	switch kind {
	case "running":
		return "kind turnId step stepId since"
	case "streaming":
		return "kind turnId step stepId since stream"
	case "tool_call":
		return "kind turnId step toolCallId name since"
	case "retrying":
		return "kind turnId step stepId failedAttempt nextAttempt maxAttempts delayMs since"
	case "awaiting_approval":
		return "kind turnId since"
	case "interrupted", "ended":
		return "kind turnId reason at"
	}
	return "kind"
}

func (d *decoder) phase(raw []byte) *Phase {
	p := &Phase{Kind: d.peek(raw, "kind", "idle", "running", "streaming", "tool_call", "retrying",
		"awaiting_approval", "interrupted", "ended")}
	if d.err != nil {
		return p
	}
	d.object(raw, phaseRequired(p.Kind), func(name string, v []byte) {
		switch name {
		case "turnId":
			p.TurnID = d.optNumber(v)
		case "step":
			p.Step = d.optNumber(v)
		case "stepId":
			p.StepID = d.optText(v)
		case "since":
			p.Since = d.optNumber(v)
		case "at":
			p.At = d.optNumber(v)
		case "stream":
			p.Stream = oneOf(d, v, "assistant", "thinking", "tool_call")
		case "toolCallId":
			p.ToolCallID = d.optText(v)
		case "toolName":
			p.ToolName = d.optText(v)
		case "name":
			p.Name = d.optText(v)
		default:
			d.phaseDetail(p, name, v)
		}
	})
	return p
}

func (d *decoder) phaseDetail(p *Phase, name string, v []byte) {
	switch name {
	case "failedAttempt":
		p.FailedAttempt = d.optNumber(v)
	case "nextAttempt":
		p.NextAttempt = d.optNumber(v)
	case "maxAttempts":
		p.MaxAttempts = d.optNumber(v)
	case "delayMs":
		p.DelayMs = d.optNumber(v)
	case "errorName":
		p.ErrorName = d.optText(v)
	case "statusCode":
		p.StatusCode = d.optNumber(v)
	case "approval":
		p.Approval = d.opaque(v)
	case "reason":
		p.Reason = d.optText(v)
	case "message":
		p.Message = d.optText(v)
	case "durationMs":
		p.DurationMs = d.optNumber(v)
	}
}
