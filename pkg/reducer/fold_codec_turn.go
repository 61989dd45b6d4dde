package reducer

func (c *foldCoder) turn(t *Turn) {
	c.text(&t.TurnID)
	c.int(&t.Ordinal)
	codeWord(c, &t.State)
	c.origin(&t.Origin)
	c.optText(&t.Prompt)
	codeList(c, &t.AttachmentIDs, c.text)
	c.text(&t.StartedAt)
	c.text(&t.EndedAt)
	codePtr(c, &t.Usage, c.turnUsage)
	c.optFloat(&t.DurationMs)
	c.optText(&t.Error)
}

func (c *foldCoder) origin(o *Origin) {
	codeWord(c, &o.Kind)
	c.text(&o.TaskID)
	codeWord(c, &o.Payload)
}

func (c *foldCoder) turnUsage(u *TurnUsage) {
	c.optFloat(&u.InputTokens)
	c.optFloat(&u.OutputTokens)
	c.optFloat(&u.CachedTokens)
	c.optFloat(&u.Cost)
}

func (c *foldCoder) step(s *Step) {
	c.text(&s.StepID)
	c.text(&s.TurnID)
	c.int(&s.Ordinal)
	codeWord(c, &s.State)
	c.text(&s.StartedAt)
	c.text(&s.EndedAt)
	codePtr(c, &s.Usage, c.stepUsage)
	c.optText(&s.Model)
	c.optFloat(&s.Cost)
	c.optText(&s.FinishReason)
	codePtr(c, &s.Timing, c.stepTiming)
	codePtr(c, &s.Retry, c.stepRetry)
	c.optText(&s.EndReason)
	c.optText(&s.EndMessage)
}

func (c *foldCoder) stepUsage(u *StepUsage) {
	c.float(&u.InputOther)
	c.float(&u.Output)
	c.float(&u.InputCacheRead)
	c.float(&u.InputCacheCreation)
}

func (c *foldCoder) stepTiming(t *StepTiming) {
	for _, v := range [...]*Opt[float64]{
		&t.LLMFirstTokenLatencyMs, &t.LLMStreamDurationMs, &t.LLMRequestBuildMs,
		&t.LLMServerFirstTokenMs, &t.LLMServerDecodeMs, &t.LLMClientConsumeMs,
	} {
		c.optFloat(v)
	}
}

func (c *foldCoder) stepRetry(r *StepRetry) {
	c.float(&r.FailedAttempt)
	c.float(&r.NextAttempt)
	c.float(&r.MaxAttempts)
	c.float(&r.DelayMs)
	c.text(&r.ErrorName)
	c.text(&r.ErrorMessage)
	c.optFloat(&r.StatusCode)
}

func (c *foldCoder) frame(f *Frame) {
	codeWord(c, &f.Kind)
	c.text(&f.FrameID)
	switch f.Kind {
	case FrameText, FrameThinking:
		c.text(&f.Text)
		codeWord(c, &f.Role)
		codeList(c, &f.AttachmentIDs, c.text)
		codePtr(c, &f.TextBlob, c.blob)
		c.text(&f.TaskID)
	case FrameTool:
		c.toolFrame(f)
	case FrameNotice:
		codeWord(c, &f.Level)
		c.text(&f.Source)
		c.text(&f.Message)
		codeWord(c, &f.Detail)
	default:
		c.fail()
	}
}

func (c *foldCoder) toolFrame(f *Frame) {
	c.text(&f.TaskID)
	c.text(&f.ToolCallID)
	c.text(&f.Name)
	c.text(&f.View)
	codeWord(c, &f.State)
	codeWord(c, &f.Input)
	codeWord(c, &f.Output)
	codeWord(c, &f.Display)
	c.optText(&f.Error)
	c.optText(&f.InputText)
	codePtr(c, &f.Progress, c.progress)
	c.text(&f.ApprovalID)
	c.text(&f.TodoID)
	codeList(c, &f.AgentRefs, func(r *AgentRef) { c.text(&r.AgentID); c.text(&r.Role) })
	codePtr(c, &f.InputBlob, c.blob)
	codePtr(c, &f.OutputBlob, c.blob)
}

func (c *foldCoder) progress(p *Progress) {
	c.text(&p.Kind)
	c.optText(&p.Text)
	c.optFloat(&p.Percent)
	c.optText(&p.CustomKind)
	codeWord(c, &p.CustomData)
}

func (c *foldCoder) blob(b *BlobRef) {
	size := int(b.Size)
	c.text(&b.SHA256)
	c.int(&size)
	c.text(&b.MediaType)
	b.Size = int64(size)
}
