package reducer

import "strconv"

// stepStarted folds turn.step.started.
func (f *Fold) stepStarted(p *foldPayload) {
	turn, step, ok := p.place()
	if !ok {
		return
	}
	t := f.contentTurn(turn)
	if t == nil {
		return
	}
	if !step.Set {
		t.alias = foldAlias{}
		f.openStep(t, t.highest+1)
		return
	}
	if s := t.findStep(step.V); s != nil && step.V > t.floor {
		f.restartStep(t, s)
		return
	}
	n := step.V
	t.alias = foldAlias{}
	if n <= t.shut || n <= t.floor {
		n = t.highest + 1
		t.alias = foldAlias{true, step.V, n}
		f.count(Notice{
			Key: "step number", Level: LevelWarning, Event: "turn.step.started", Field: "step",
			Message: "step number " + strconv.Itoa(step.V) + " of turn " + t.head.TurnID +
				" is closed already; step " + strconv.Itoa(n) + " begins instead",
		})
	}
	f.openStep(t, n)
}

// restartStep makes a step that is held run again.
func (f *Fold) restartStep(t *foldTurn, s *foldStep) {
	f.flush()
	t.alias = foldAlias{}
	if c := t.current; c != nil && c != s && c.head.State == StepRunning {
		f.endStep(c, StepCompleted)
	}
	t.current = s
	if s.head.State == StepRunning {
		return
	}
	h := *s.head
	h.State, h.EndedAt, h.EndReason, h.EndMessage = StepRunning, "", Opt[string]{}, Opt[string]{}
	f.putStep(s, h)
}

// endedStep finds the step that an event about its end names, or opens one.
// Unlike content, such an event reopens no turn.
func (p *foldPayload) endedStep() *foldStep {
	turn, step, ok := p.place()
	if !ok {
		return nil
	}
	if t := p.f.namedTurn(turn); t != nil && t.head.State != TurnRunning {
		return p.f.stepIn(t, step)
	}
	return p.f.contentStep(turn, step)
}

// putEnded puts the end of a step, and what it used into a turn that has ended
// before it.
func (f *Fold) putEnded(s *foldStep, h Step) {
	f.putStep(s, h)
	if t := s.turn; t.head.State != TurnRunning {
		head := *t.head
		head.Usage = t.usage()
		f.putTurn(t, head)
	}
}

// stepCompleted folds turn.step.completed.
func (f *Fold) stepCompleted(p *foldPayload) {
	usage, model, cost := p.usage("usage"), p.text("model"), p.number("cost")
	finish := p.firstText("finishReason", "rawFinishReason", "providerFinishReason")
	timing := p.timing()
	s := p.endedStep()
	if s == nil {
		return
	}
	f.flush()
	h := *s.head
	h.State, h.EndedAt, h.Retry = StepCompleted, f.now(), nil
	h.EndReason, h.EndMessage = Opt[string]{}, Opt[string]{}
	if usage != nil {
		h.Usage = usage
	}
	over(&h.Model, model)
	over(&h.Cost, cost)
	over(&h.FinishReason, finish)
	if timing != nil {
		h.Timing = timing
	}
	f.putEnded(s, h)
}

// stepInterrupted folds turn.step.interrupted.
func (f *Fold) stepInterrupted(p *foldPayload) {
	reason, message := p.text("reason"), p.text("message")
	s := p.endedStep()
	if s == nil {
		return
	}
	f.flush()
	h := *s.head
	h.State, h.EndedAt, h.Retry = StepInterrupted, f.now(), nil
	h.EndReason, h.EndMessage = reason, message
	f.putEnded(s, h)
}

// stepRetrying folds turn.step.retrying: what the failed attempt streamed is
// emptied, and the retry opens new frames.
func (f *Fold) stepRetrying(p *foldPayload) {
	retry := StepRetry{
		FailedAttempt: p.number("failedAttempt").V, NextAttempt: p.number("nextAttempt").V,
		MaxAttempts: p.number("maxAttempts").V, DelayMs: p.number("delayMs").V,
		ErrorName: p.word("errorName"), ErrorMessage: p.word("errorMessage"),
		StatusCode: p.number("statusCode"),
	}
	s := p.where()
	if s == nil {
		return
	}
	for _, fr := range s.frames {
		f.voidFrame(fr)
	}
	h := *s.head
	h.State, h.EndedAt, h.Retry = StepRunning, "", &retry
	h.EndReason, h.EndMessage = Opt[string]{}, Opt[string]{}
	f.putStep(s, h)
}

// voidFrame empties what a failed attempt streamed into a frame.
func (f *Fold) voidFrame(fr *foldFrame) {
	if fr.void {
		return
	}
	h := *fr.head
	switch {
	case h.Kind == FrameTool && h.Input == "" && h.Output == "" && h.State == ToolRunning && h.InputText.Set:
		h.State, h.Error, h.InputText = ToolError, Some("retried"), Some("")
	case h.Kind == FrameThinking, h.Kind == FrameText && h.Role != RoleUser:
		h.Text, h.TextBlob = "", nil
		if fr.step.open == fr {
			fr.step.open = nil
			f.forget(fr)
			f.tallyStep(fr.step)
		}
	default:
		return
	}
	fr.void = true
	fr.text = foldText{}
	f.putFrame(fr, h)
}

// usage reads the tokens of one model call; a missing component is 0.
func (p *foldPayload) usage(name string) *StepUsage {
	u, ok := p.object(name)
	if !ok {
		return nil
	}
	return &StepUsage{
		InputOther: u.number("inputOther").V, Output: u.number("output").V,
		InputCacheRead: u.number("inputCacheRead").V, InputCacheCreation: u.number("inputCacheCreation").V,
	}
}

func (p *foldPayload) timing() *StepTiming {
	t := StepTiming{
		LLMFirstTokenLatencyMs: p.number("llmFirstTokenLatencyMs"), LLMStreamDurationMs: p.number("llmStreamDurationMs"),
		LLMRequestBuildMs: p.number("llmRequestBuildMs"), LLMServerFirstTokenMs: p.number("llmServerFirstTokenMs"),
		LLMServerDecodeMs: p.number("llmServerDecodeMs"), LLMClientConsumeMs: p.number("llmClientConsumeMs"),
	}
	if t == (StepTiming{}) {
		return nil
	}
	return &t
}

// firstText returns the first of these fields that is present.
func (p *foldPayload) firstText(names ...string) Opt[string] {
	var first Opt[string]
	for _, name := range names {
		if v := p.text(name); !first.Set {
			first = v
		}
	}
	return first
}
