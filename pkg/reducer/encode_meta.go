package reducer

// AppendJSON appends the meta.
func (m *Meta) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if m.Goal != nil {
		dst = putObject(dst, "goal", m.Goal)
	}
	if m.Modes != nil {
		dst = putObject(dst, "modes", m.Modes)
	}
	dst = putID(dst, "activity", m.Activity)
	if m.Agent != nil {
		dst = putObject(dst, "agent", m.Agent)
	}
	return closeObject(dst)
}

// AppendJSON appends the patch; null clears.
func (p *MetaPatch) AppendJSON(dst []byte) []byte {
	dst = putPatch(append(dst, '{'), "goal", p.Goal)
	if p.Modes != nil {
		dst = append(name(dst, "modes"), '{')
		dst = putPatch(dst, "plan", p.Modes.Plan)
		dst = putPatch(dst, "swarm", p.Modes.Swarm)
		dst = putPatch(dst, "tower", p.Modes.Tower)
		dst = append(closeObject(dst), ',')
	}
	dst = putID(dst, "activity", p.Activity)
	if p.Agent != nil {
		dst = putObject(dst, "agent", p.Agent)
	}
	return closeObject(dst)
}

func putPatch[T any, P interface {
	*T
	jsonWriter
}](b []byte, key string, p Patch[T]) []byte {
	switch {
	case p.To != nil:
		return putObject(b, key, P(p.To))
	case p.Clear:
		return append(name(b, key), "null,"...)
	}
	return b
}

// AppendJSON appends the goal.
func (g *Goal) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "objective", g.Objective)
	dst = putString(dst, "status", g.Status)
	dst = putOptString(dst, "completionCriterion", g.CompletionCriterion)
	dst = putOptNumber(dst, "budgetUsed", g.BudgetUsed)
	return closeObject(putOptNumber(dst, "budgetLimit", g.BudgetLimit))
}

// AppendJSON appends the modes that are on.
func (m *Modes) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if m.Plan != nil {
		dst = putObject(dst, "plan", m.Plan)
	}
	if m.Swarm != nil {
		dst = putObject(dst, "swarm", m.Swarm)
	}
	if m.Tower != nil {
		dst = putObject(dst, "tower", m.Tower)
	}
	return closeObject(dst)
}

// AppendJSON appends the plan mode.
func (p *PlanMode) AppendJSON(dst []byte) []byte {
	dst = putOptString(append(dst, '{'), "reviewPath", p.ReviewPath)
	return closeObject(putOptNumber(dst, "version", p.Version))
}

// AppendJSON appends the swarm mode.
func (s *SwarmMode) AppendJSON(dst []byte) []byte {
	return closeObject(putOptString(append(dst, '{'), "trigger", s.Trigger))
}

// AppendJSON appends the tower mode.
func (*TowerMode) AppendJSON(dst []byte) []byte { return append(dst, "{}"...) }

// AppendJSON appends the agent's model and load.
func (a *AgentMeta) AppendJSON(dst []byte) []byte {
	dst = putOptString(append(dst, '{'), "model", a.Model)
	dst = putOptString(dst, "thinkingEffort", a.ThinkingEffort)
	if a.Usage != nil {
		dst = putObject(dst, "usage", a.Usage)
	}
	dst = putOptNumber(dst, "contextTokens", a.ContextTokens)
	dst = putOptNumber(dst, "maxContextTokens", a.MaxContextTokens)
	dst = putOptNumber(dst, "contextUsage", a.ContextUsage)
	dst = putID(dst, "permission", a.Permission)
	if a.Phase != nil {
		dst = putObject(dst, "phase", a.Phase)
	}
	return closeObject(dst)
}

// AppendJSON appends the usage.
func (u *AgentUsage) AppendJSON(dst []byte) []byte {
	dst = putRaw(append(dst, '{'), "byModel", u.ByModel)
	dst = putRaw(dst, "currentTurn", u.CurrentTurn)
	return closeObject(putRaw(dst, "total", u.Total))
}

// AppendJSON appends the phase.
func (p *Phase) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "kind", p.Kind)
	dst = putOptNumber(dst, "turnId", p.TurnID)
	dst = putOptNumber(dst, "step", p.Step)
	dst = putOptString(dst, "stepId", p.StepID)
	dst = putID(dst, "stream", p.Stream)
	dst = putOptString(dst, "toolCallId", p.ToolCallID)
	dst = putOptString(dst, "toolName", p.ToolName)
	dst = putOptString(dst, "name", p.Name)
	dst = putOptNumber(dst, "failedAttempt", p.FailedAttempt)
	dst = putOptNumber(dst, "nextAttempt", p.NextAttempt)
	dst = putOptNumber(dst, "maxAttempts", p.MaxAttempts)
	dst = putOptNumber(dst, "delayMs", p.DelayMs)
	dst = putOptString(dst, "errorName", p.ErrorName)
	dst = putOptNumber(dst, "statusCode", p.StatusCode)
	dst = putRaw(dst, "approval", p.Approval)
	dst = putOptString(dst, "reason", p.Reason)
	dst = putOptString(dst, "message", p.Message)
	dst = putOptNumber(dst, "durationMs", p.DurationMs)
	dst = putOptNumber(dst, "since", p.Since)
	return closeObject(putOptNumber(dst, "at", p.At))
}
