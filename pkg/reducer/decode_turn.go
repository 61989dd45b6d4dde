package reducer

// turn reads a turn; its steps only when they are asked for.
func (d *decoder) turn(raw []byte, steps bool) *Turn {
	t := &Turn{}
	d.object(raw, "turnId ordinal state origin", func(name string, v []byte) {
		switch name {
		case "turnId":
			t.TurnID = d.id(v)
		case "ordinal":
			t.Ordinal = d.whole(v)
		case "state":
			t.State = oneOf(d, v, TurnQueued, TurnRunning, TurnCompleted, TurnFailed, TurnCancelled)
		case "origin":
			t.Origin = d.origin(v)
		case "prompt":
			t.Prompt = d.optText(v)
		case "attachmentIds":
			t.AttachmentIDs = d.ids(v)
		case "steps":
			if steps {
				t.Steps = list0(d, v, d.step)
			}
		case "startedAt":
			t.StartedAt = d.text(v)
		case "endedAt":
			t.EndedAt = d.text(v)
		case "usage":
			t.Usage = d.turnUsage(v)
		case "durationMs":
			t.DurationMs = d.optNumber(v)
		case "error":
			t.Error = d.optText(v)
		case "hasMoreSteps":
			t.HasMoreSteps = d.boolean(v)
		}
	})
	return t
}

// list0 reads an array, never nil.
func list0[T any](d *decoder, raw []byte, element func(v []byte) T) []T {
	out := []T{}
	d.array(raw, func(v []byte) { out = append(out, element(v)) })
	return out
}

func (d *decoder) origin(raw []byte) Origin {
	var o Origin
	d.object(raw, "kind", func(name string, v []byte) {
		switch name {
		case "kind":
			o.Kind = oneOf(d, v, OriginUser, OriginCron, OriginTask, OriginHook, OriginCompaction, OriginSide, OriginOther)
		case "taskId":
			o.TaskID = d.text(v)
		case "payload":
			o.Payload = d.opaque(v)
		}
	})
	return o
}

func (d *decoder) turnUsage(raw []byte) *TurnUsage {
	u := &TurnUsage{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "inputTokens":
			u.InputTokens = d.optNumber(v)
		case "outputTokens":
			u.OutputTokens = d.optNumber(v)
		case "cachedTokens":
			u.CachedTokens = d.optNumber(v)
		case "cost":
			u.Cost = d.optNumber(v)
		}
	})
	return u
}

func (d *decoder) stepHeader(raw []byte) *Step { return d.stepWith(raw, false) }

func (d *decoder) step(raw []byte) *Step { return d.stepWith(raw, true) }

func (d *decoder) stepWith(raw []byte, frames bool) *Step {
	s := &Step{}
	d.object(raw, "stepId turnId ordinal state", func(name string, v []byte) {
		switch name {
		case "stepId":
			s.StepID = d.id(v)
		case "turnId":
			s.TurnID = d.id(v)
		case "ordinal":
			s.Ordinal = d.whole(v)
		case "state":
			s.State = oneOf(d, v, StepRunning, StepCompleted, StepInterrupted, StepFailed)
		case "frames":
			if frames {
				s.Frames = list0(d, v, d.frame)
			}
		default:
			d.stepDetail(s, name, v)
		}
	})
	return s
}

func (d *decoder) stepDetail(s *Step, name string, v []byte) {
	switch name {
	case "startedAt":
		s.StartedAt = d.text(v)
	case "endedAt":
		s.EndedAt = d.text(v)
	case "usage":
		s.Usage = d.stepUsage(v)
	case "model":
		s.Model = d.optText(v)
	case "cost":
		s.Cost = d.optNumber(v)
	case "finishReason":
		s.FinishReason = d.optText(v)
	case "timing":
		s.Timing = d.timing(v)
	case "retry":
		s.Retry = d.retry(v)
	case "endReason":
		s.EndReason = d.optText(v)
	case "endMessage":
		s.EndMessage = d.optText(v)
	}
}

func (d *decoder) stepUsage(raw []byte) *StepUsage {
	u := &StepUsage{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "inputOther":
			u.InputOther = d.number(v)
		case "output":
			u.Output = d.number(v)
		case "inputCacheRead":
			u.InputCacheRead = d.number(v)
		case "inputCacheCreation":
			u.InputCacheCreation = d.number(v)
		}
	})
	return u
}

func (d *decoder) timing(raw []byte) *StepTiming {
	t := &StepTiming{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "llmFirstTokenLatencyMs":
			t.LLMFirstTokenLatencyMs = d.optNumber(v)
		case "llmStreamDurationMs":
			t.LLMStreamDurationMs = d.optNumber(v)
		case "llmRequestBuildMs":
			t.LLMRequestBuildMs = d.optNumber(v)
		case "llmServerFirstTokenMs":
			t.LLMServerFirstTokenMs = d.optNumber(v)
		case "llmServerDecodeMs":
			t.LLMServerDecodeMs = d.optNumber(v)
		case "llmClientConsumeMs":
			t.LLMClientConsumeMs = d.optNumber(v)
		}
	})
	return t
}

func (d *decoder) retry(raw []byte) *StepRetry {
	r := &StepRetry{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "failedAttempt":
			r.FailedAttempt = d.number(v)
		case "nextAttempt":
			r.NextAttempt = d.number(v)
		case "maxAttempts":
			r.MaxAttempts = d.number(v)
		case "delayMs":
			r.DelayMs = d.number(v)
		case "errorName":
			r.ErrorName = d.text(v)
		case "errorMessage":
			r.ErrorMessage = d.text(v)
		case "statusCode":
			r.StatusCode = d.optNumber(v)
		}
	})
	return r
}
