package reducer

// AppendJSON appends the turn with its steps.
func (t *Turn) AppendJSON(dst []byte) []byte {
	dst = t.appendHead(append(dst, '{'), t.HasMoreSteps)
	dst = append(dst, `"steps":[`...)
	for _, s := range t.Steps {
		dst = append(s.AppendJSON(dst), ',')
	}
	return closeObject(closeArray(dst))
}

// appendHead appends the members of the header.
func (t *Turn) appendHead(b []byte, more bool) []byte {
	b = append(b, `"kind":"turn",`...)
	b = putString(b, "turnId", t.TurnID)
	b = putInt(b, "ordinal", int64(t.Ordinal))
	b = putString(b, "state", string(t.State))
	b = putObject(b, "origin", t.Origin)
	b = putOptString(b, "prompt", t.Prompt)
	b = putIDs(b, "attachmentIds", t.AttachmentIDs)
	b = putID(b, "startedAt", t.StartedAt)
	b = putID(b, "endedAt", t.EndedAt)
	if t.Usage != nil {
		b = putObject(b, "usage", t.Usage)
	}
	b = putOptNumber(b, "durationMs", t.DurationMs)
	b = putOptString(b, "error", t.Error)
	if more {
		b = putBool(b, "hasMoreSteps", true)
	}
	return b
}

func (n *turnNode) AppendJSON(dst []byte) []byte {
	dst = n.head.appendHead(append(dst, '{'), n.more)
	dst = append(dst, `"steps":[`...)
	for w := n.steps.from(0); w.ok; w.next() {
		dst = append(w.val.AppendJSON(dst), ',')
	}
	return closeObject(closeArray(dst))
}

// appendBare appends the turn as it is seen without its steps.
func (n *turnNode) appendBare(dst []byte) []byte {
	dst = n.head.appendHead(append(dst, '{'), n.more)
	return append(dst, `"steps":[]}`...)
}

// AppendJSON appends the origin.
func (o Origin) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "kind", string(o.Kind))
	dst = putID(dst, "taskId", o.TaskID)
	dst = putRaw(dst, "payload", o.Payload)
	return closeObject(dst)
}

// AppendJSON appends the usage.
func (u *TurnUsage) AppendJSON(dst []byte) []byte {
	dst = putOptNumber(append(dst, '{'), "inputTokens", u.InputTokens)
	dst = putOptNumber(dst, "outputTokens", u.OutputTokens)
	dst = putOptNumber(dst, "cachedTokens", u.CachedTokens)
	dst = putOptNumber(dst, "cost", u.Cost)
	return closeObject(dst)
}

// AppendJSON appends the step with its frames.
func (s *Step) AppendJSON(dst []byte) []byte {
	dst = s.appendHead(append(dst, '{'))
	dst = append(dst, `"frames":[`...)
	for _, f := range s.Frames {
		dst = append(f.AppendJSON(dst), ',')
	}
	return closeObject(closeArray(dst))
}

func (s *Step) appendHead(b []byte) []byte {
	b = append(b, `"kind":"step",`...)
	b = putString(b, "stepId", s.StepID)
	b = putString(b, "turnId", s.TurnID)
	b = putInt(b, "ordinal", int64(s.Ordinal))
	b = putString(b, "state", string(s.State))
	b = putID(b, "startedAt", s.StartedAt)
	b = putID(b, "endedAt", s.EndedAt)
	if s.Usage != nil {
		b = putObject(b, "usage", s.Usage)
	}
	b = putOptString(b, "model", s.Model)
	b = putOptNumber(b, "cost", s.Cost)
	b = putOptString(b, "finishReason", s.FinishReason)
	if s.Timing != nil {
		b = putObject(b, "timing", s.Timing)
	}
	if s.Retry != nil {
		b = putObject(b, "retry", s.Retry)
	}
	b = putOptString(b, "endReason", s.EndReason)
	return putOptString(b, "endMessage", s.EndMessage)
}

func (n *stepNode) AppendJSON(dst []byte) []byte {
	dst = n.head.appendHead(append(dst, '{'))
	dst = append(dst, `"frames":[`...)
	for w := n.frames.from(0); w.ok; w.next() {
		dst = append(w.val.AppendJSON(dst), ',')
	}
	return closeObject(closeArray(dst))
}

// AppendJSON appends the usage.
func (u *StepUsage) AppendJSON(dst []byte) []byte {
	dst = putNumber(append(dst, '{'), "inputOther", u.InputOther)
	dst = putNumber(dst, "output", u.Output)
	dst = putNumber(dst, "inputCacheRead", u.InputCacheRead)
	dst = putNumber(dst, "inputCacheCreation", u.InputCacheCreation)
	return closeObject(dst)
}

// AppendJSON appends the timing.
func (t *StepTiming) AppendJSON(dst []byte) []byte {
	dst = putOptNumber(append(dst, '{'), "llmFirstTokenLatencyMs", t.LLMFirstTokenLatencyMs)
	dst = putOptNumber(dst, "llmStreamDurationMs", t.LLMStreamDurationMs)
	dst = putOptNumber(dst, "llmRequestBuildMs", t.LLMRequestBuildMs)
	dst = putOptNumber(dst, "llmServerFirstTokenMs", t.LLMServerFirstTokenMs)
	dst = putOptNumber(dst, "llmServerDecodeMs", t.LLMServerDecodeMs)
	dst = putOptNumber(dst, "llmClientConsumeMs", t.LLMClientConsumeMs)
	return closeObject(dst)
}

// AppendJSON appends the retry.
func (r *StepRetry) AppendJSON(dst []byte) []byte {
	dst = putNumber(append(dst, '{'), "failedAttempt", r.FailedAttempt)
	dst = putNumber(dst, "nextAttempt", r.NextAttempt)
	dst = putNumber(dst, "maxAttempts", r.MaxAttempts)
	dst = putNumber(dst, "delayMs", r.DelayMs)
	dst = putString(dst, "errorName", r.ErrorName)
	dst = putString(dst, "errorMessage", r.ErrorMessage)
	dst = putOptNumber(dst, "statusCode", r.StatusCode)
	return closeObject(dst)
}
