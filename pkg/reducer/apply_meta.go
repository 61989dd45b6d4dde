package reducer

// mergeMeta patches the agent's condition.
func (t *Transcript) mergeMeta(p *MetaPatch) bool {
	m := t.meta
	patch(&m.Goal, p.Goal)
	if p.Modes != nil {
		m.Modes = mergeModes(m.Modes, p.Modes)
	}
	if p.Activity != "" {
		m.Activity = p.Activity
	}
	if p.Agent != nil {
		m.Agent = mergeAgent(m.Agent, p.Agent)
	}
	if sameMeta(&m, &t.meta) {
		return false
	}
	t.meta = m
	return true
}

// patch patches an optional value.
func patch[T any](field **T, p Patch[T]) {
	switch {
	case p.To != nil:
		*field = p.To
	case p.Clear:
		*field = nil
	}
}

// mergeModes returns nil when no mode is left.
func mergeModes(old *Modes, p *ModesPatch) *Modes {
	var m Modes
	if old != nil {
		m = *old
	}
	patch(&m.Plan, p.Plan)
	patch(&m.Swarm, p.Swarm)
	patch(&m.Tower, p.Tower)
	if m == (Modes{}) {
		return nil
	}
	return &m
}

// mergeAgent lays the patch's present fields over the old ones, one level
// deep.
func mergeAgent(old, p *AgentMeta) *AgentMeta {
	var m AgentMeta
	if old != nil {
		m = *old
	}
	over(&m.Model, p.Model)
	over(&m.ThinkingEffort, p.ThinkingEffort)
	over(&m.ContextTokens, p.ContextTokens)
	over(&m.MaxContextTokens, p.MaxContextTokens)
	over(&m.ContextUsage, p.ContextUsage)
	if p.Usage != nil {
		m.Usage = p.Usage
	}
	if p.Permission != "" {
		m.Permission = p.Permission
	}
	if p.Phase != nil {
		m.Phase = p.Phase
	}
	return &m
}

func over[T comparable](field *Opt[T], p Opt[T]) {
	if p.Set {
		*field = p
	}
}

func sameMeta(a, b *Meta) bool {
	return same(a.Goal, b.Goal) && a.Activity == b.Activity && sameModes(a.Modes, b.Modes) && sameAgent(a.Agent, b.Agent)
}

func sameModes(a, b *Modes) bool {
	if a == nil || b == nil {
		return a == b
	}
	return same(a.Plan, b.Plan) && same(a.Swarm, b.Swarm) && same(a.Tower, b.Tower)
}

func sameAgent(a, b *AgentMeta) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Model == b.Model && a.ThinkingEffort == b.ThinkingEffort && same(a.Usage, b.Usage) &&
		a.ContextTokens == b.ContextTokens && a.MaxContextTokens == b.MaxContextTokens &&
		a.ContextUsage == b.ContextUsage && a.Permission == b.Permission && same(a.Phase, b.Phase)
}

// MergePatches returns the patch that does what first and then second do. The
// arguments stay as they are.
func MergePatches(first, second *MetaPatch) *MetaPatch {
	p := *first
	p.Goal = laterPatch(p.Goal, second.Goal)
	if second.Modes != nil {
		modes := *second.Modes
		if p.Modes != nil {
			modes.Plan = laterPatch(p.Modes.Plan, modes.Plan)
			modes.Swarm = laterPatch(p.Modes.Swarm, modes.Swarm)
			modes.Tower = laterPatch(p.Modes.Tower, modes.Tower)
		}
		p.Modes = &modes
	}
	if second.Activity != "" {
		p.Activity = second.Activity
	}
	if second.Agent != nil {
		p.Agent = mergeAgent(p.Agent, second.Agent)
	}
	return &p
}

func laterPatch[T any](first, second Patch[T]) Patch[T] {
	if second.Clear || second.To != nil {
		return second
	}
	return first
}
