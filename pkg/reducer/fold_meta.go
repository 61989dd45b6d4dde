package reducer

// putMeta merges a patch into the agent's condition; one that changes nothing
// makes no operation.
func (f *Fold) putMeta(p MetaPatch) {
	m := f.meta
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
	if sameMeta(&m, &f.meta) {
		return
	}
	f.meta = m
	f.push(OpMetaMerge).Meta = &p
}

func (f *Fold) putModes(p ModesPatch) {
	if p != (ModesPatch{}) {
		f.putMeta(MetaPatch{Modes: &p})
	}
}

func (f *Fold) modes() Modes {
	if f.meta.Modes == nil {
		return Modes{}
	}
	return *f.meta.Modes
}

// goalUpdated folds goal.updated.
func (f *Fold) goalUpdated(p *foldPayload) {
	if p.isNull("snapshot") {
		f.putMeta(MetaPatch{Goal: Patch[Goal]{Clear: true}})
		f.addMarker("goal", p.all())
		return
	}
	if !p.has("snapshot") {
		p.bad("snapshot", "is missing")
		return
	}
	s, ok := p.object("snapshot")
	if !ok {
		return
	}
	goal := Goal{
		Objective: s.required("objective").V, Status: s.oneOf("status", "active", "paused", "blocked", "complete"),
		CompletionCriterion: s.text("completionCriterion"), BudgetUsed: s.number("tokensUsed"),
	}
	if !s.has("status") {
		s.bad("status", "is missing")
	}
	if budget, ok := s.object("budget"); ok {
		goal.BudgetLimit = budget.number("tokenBudget")
	}
	if goal.Status == "" {
		goal.Status = "active"
		if f.meta.Goal != nil {
			goal.Status = f.meta.Goal.Status
		}
	}
	f.putMeta(MetaPatch{Goal: Patch[Goal]{To: &goal}})
	f.addMarker("goal", p.all())
}

// statusUpdated folds agent.status.updated.
func (f *Fold) statusUpdated(p *foldPayload) {
	patch := MetaPatch{}
	modes := ModesPatch{}
	on := f.modes()
	modes.Plan = modeFlag(p.flag("planMode"), on.Plan)
	modes.Swarm = modeFlag(p.flag("swarmMode"), on.Swarm)
	modes.Tower = modeFlag(p.flag("towerMode"), on.Tower)
	if modes != (ModesPatch{}) {
		patch.Modes = &modes
	}
	agent := AgentMeta{
		Model: p.text("model"), ThinkingEffort: p.text("thinkingEffort"),
		ContextTokens: p.number("contextTokens"), MaxContextTokens: p.number("maxContextTokens"),
		ContextUsage: p.number("contextUsage"), Permission: p.oneOf("permission", "manual", "yolo", "auto"),
	}
	if u, ok := p.object("usage"); ok {
		agent.Usage = &AgentUsage{ByModel: u.raw("byModel"), CurrentTurn: u.raw("currentTurn"), Total: u.raw("total")}
	}
	if agent != (AgentMeta{}) {
		patch.Agent = &agent
	}
	f.putMeta(patch)
}

// modeFlag switches a mode; one that is on keeps what it knows.
func modeFlag[T any](v Opt[bool], on *T) Patch[T] {
	switch {
	case !v.Set:
		return Patch[T]{}
	case !v.V:
		return Patch[T]{Clear: true}
	case on != nil:
		return Patch[T]{}
	}
	return Patch[T]{To: new(T)}
}

// planEnter folds plan_mode.enter.
func (f *Fold) planEnter(p *foldPayload) {
	f.addMarker("plan.enter", p.all())
	f.putModes(ModesPatch{Plan: Patch[PlanMode]{To: &PlanMode{}}})
}

// planExit folds plan_mode.exit and plan_mode.cancel.
func (f *Fold) planExit(p *foldPayload) {
	f.addMarker("plan.exit", p.all())
	f.putModes(ModesPatch{Plan: Patch[PlanMode]{Clear: true}})
}

// swarmEnter folds swarm_mode.enter.
func (f *Fold) swarmEnter(p *foldPayload) {
	trigger := p.text("trigger")
	f.addMarker("swarm.enter", p.all())
	f.putModes(ModesPatch{Swarm: Patch[SwarmMode]{To: &SwarmMode{Trigger: trigger}}})
}

// swarmExit folds swarm_mode.exit.
func (f *Fold) swarmExit(p *foldPayload) {
	f.addMarker("swarm.exit", p.all())
	f.putModes(ModesPatch{Swarm: Patch[SwarmMode]{Clear: true}})
}

// towerEnter folds tower_mode.enter.
func (f *Fold) towerEnter(*foldPayload) {
	f.putModes(ModesPatch{Tower: Patch[TowerMode]{To: &TowerMode{}}})
}

// towerExit folds tower_mode.exit.
func (f *Fold) towerExit(*foldPayload) {
	f.putModes(ModesPatch{Tower: Patch[TowerMode]{Clear: true}})
}

// planRevision folds plan.revision.
func (f *Fold) planRevision(p *foldPayload) {
	path, version := p.text("path"), p.number("version")
	p.text("id")
	p.text("sha256")
	p.number("bytes")
	f.addMarker("plan.revision", p.all())
	if f.modes().Plan != nil {
		f.putModes(ModesPatch{Plan: Patch[PlanMode]{To: &PlanMode{ReviewPath: path, Version: version}}})
	}
}
