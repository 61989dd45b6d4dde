package reducer

func (c *foldCoder) marker(m *Marker) {
	c.text(&m.MarkerID)
	c.text(&m.Marker)
	codeWord(c, &m.Payload)
	c.text(&m.At)
}

func (c *foldCoder) taskRef(r *TaskRef) {
	c.text(&r.RefID)
	c.text(&r.TaskID)
	c.text(&r.At)
}

func (c *foldCoder) task(t *Task) {
	c.text(&t.TaskID)
	c.text(&t.Kind)
	c.text(&t.State)
	c.bool(&t.Detached)
	c.optText(&t.Description)
	c.text(&t.AgentID)
	c.text(&t.OutputTail)
	c.text(&t.StartedAt)
	c.text(&t.EndedAt)
	c.optText(&t.ResultSummary)
	c.optText(&t.Error)
	c.optText(&t.StateReason)
	codePtr(c, &t.Usage, c.stepUsage)
}

func (c *foldCoder) interaction(i *Interaction) {
	c.text(&i.InteractionID)
	c.text(&i.InteractionKind)
	c.text(&i.ToolCallID)
	c.text(&i.State)
	codeWord(c, &i.Request)
	codeWord(c, &i.Response)
}

func (c *foldCoder) attachment(a *Attachment) {
	c.text(&a.AttachmentID)
	c.text(&a.MediaType)
	c.optText(&a.Name)
	c.optFloat(&a.Size)
	codePtr(c, &a.Source, func(s *AttachmentSource) { c.text(&s.Kind); c.text(&s.URL); c.text(&s.FileID) })
	c.optText(&a.Placeholder)
}

func (c *foldCoder) todoDoc(t *Todo) {
	c.text(&t.TodoID)
	codeList(c, &t.Items, func(i *TodoItem) { c.text(&i.Title); c.text(&i.Status) })
	c.text(&t.UpdatedAt)
}

func (c *foldCoder) prompt(p *Prompt) {
	c.text(&p.PromptID)
	c.text(&p.Status)
	c.text(&p.UserMessageID)
	codeWord(c, &p.Content)
	c.text(&p.CreatedAt)
	c.text(&p.FinishedAt)
	c.text(&p.SteeredAt)
}

func (c *foldCoder) descriptor(d *AgentDescriptor) {
	c.text(&d.AgentID)
	c.text(&d.Type)
	c.text(&d.ParentAgentID)
	c.text(&d.ParentToolCallID)
	c.optText(&d.Label)
	c.text(&d.CreatedAt)
	c.text(&d.DisposedAt)
	c.text(&d.State)
	codeOpt(c, &d.Live, c.bool)
}

func (c *foldCoder) metaData(m *Meta) {
	codePtr(c, &m.Goal, c.goal)
	codePtr(c, &m.Modes, c.modes)
	c.text(&m.Activity)
	codePtr(c, &m.Agent, c.agentMeta)
}

func (c *foldCoder) goal(g *Goal) {
	c.text(&g.Objective)
	c.text(&g.Status)
	c.optText(&g.CompletionCriterion)
	c.optFloat(&g.BudgetUsed)
	c.optFloat(&g.BudgetLimit)
}

func (c *foldCoder) modes(m *Modes) {
	codePtr(c, &m.Plan, func(p *PlanMode) { c.optText(&p.ReviewPath); c.optFloat(&p.Version) })
	codePtr(c, &m.Swarm, func(s *SwarmMode) { c.optText(&s.Trigger) })
	codePtr(c, &m.Tower, func(*TowerMode) {})
}

func (c *foldCoder) agentMeta(a *AgentMeta) {
	c.optText(&a.Model)
	c.optText(&a.ThinkingEffort)
	codePtr(c, &a.Usage, func(u *AgentUsage) {
		codeWord(c, &u.ByModel)
		codeWord(c, &u.CurrentTurn)
		codeWord(c, &u.Total)
	})
	c.optFloat(&a.ContextTokens)
	c.optFloat(&a.MaxContextTokens)
	c.optFloat(&a.ContextUsage)
	c.text(&a.Permission)
	codePtr(c, &a.Phase, c.phase)
}

func (c *foldCoder) phase(p *Phase) {
	c.text(&p.Kind)
	c.optFloat(&p.TurnID)
	c.optFloat(&p.Step)
	c.optText(&p.StepID)
	c.optFloat(&p.Since)
	c.optFloat(&p.At)
	c.text(&p.Stream)
	c.optText(&p.ToolCallID)
	c.optText(&p.ToolName)
	c.optText(&p.Name)
	c.optFloat(&p.FailedAttempt)
	c.optFloat(&p.NextAttempt)
	c.optFloat(&p.MaxAttempts)
	c.optFloat(&p.DelayMs)
	c.optText(&p.ErrorName)
	c.optFloat(&p.StatusCode)
	codeWord(c, &p.Approval)
	c.optText(&p.Reason)
	c.optText(&p.Message)
	c.optFloat(&p.DurationMs)
}

func (c *foldCoder) statsData(s *Stats) {
	c.int(&s.Turns)
	c.float(&s.InputTokens)
	c.float(&s.OutputTokens)
	c.float(&s.CachedTokens)
	c.float(&s.Cost)
	c.text(&s.FirstPrompt)
}
