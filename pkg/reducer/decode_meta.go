package reducer

import "github.com/stenohq/steno/pkg/events/scan"

func (d *decoder) meta(raw []byte) Meta {
	var m Meta
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "goal":
			m.Goal = d.goal(v)
		case "modes":
			m.Modes = d.modes(v)
		case "activity":
			m.Activity = d.activity(v)
		case "agent":
			m.Agent = d.agentMeta(v)
		}
	})
	return m
}

func (d *decoder) activity(raw []byte) string {
	return oneOf(d, raw, "idle", "turn", "disposing", "unknown")
}

// modes reads the modes of a state; none is the same as absence.
func (d *decoder) modes(raw []byte) *Modes {
	return mergeModes(nil, d.modesPatch(raw))
}

func (d *decoder) metaPatch(raw []byte) *MetaPatch {
	p := &MetaPatch{}
	d.objectNulls(raw, "", func(name string, v []byte) {
		if name == "goal" {
			p.Goal = patchOf(v, d.goal)
			return
		}
		if scan.IsNull(v) {
			return
		}
		switch name {
		case "modes":
			p.Modes = d.modesPatch(v)
		case "activity":
			p.Activity = d.activity(v)
		case "agent":
			p.Agent = d.agentMeta(v)
		}
	})
	return p
}

func patchOf[T any](v []byte, read func([]byte) *T) Patch[T] {
	if scan.IsNull(v) {
		return Patch[T]{Clear: true}
	}
	return Patch[T]{To: read(v)}
}

func (d *decoder) modesPatch(raw []byte) *ModesPatch {
	p := &ModesPatch{}
	d.objectNulls(raw, "", func(name string, v []byte) {
		switch name {
		case "plan":
			p.Plan = patchOf(v, d.planMode)
		case "swarm":
			p.Swarm = patchOf(v, d.swarmMode)
		case "tower":
			p.Tower = patchOf(v, d.towerMode)
		}
	})
	return p
}

func (d *decoder) planMode(raw []byte) *PlanMode {
	p := &PlanMode{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "reviewPath":
			p.ReviewPath = d.optText(v)
		case "version":
			p.Version = d.optNumber(v)
		}
	})
	return p
}

func (d *decoder) swarmMode(raw []byte) *SwarmMode {
	s := &SwarmMode{}
	d.object(raw, "", func(name string, v []byte) {
		if name == "trigger" {
			s.Trigger = d.optText(v)
		}
	})
	return s
}

func (d *decoder) towerMode(raw []byte) *TowerMode {
	d.object(raw, "", func(string, []byte) {})
	return &TowerMode{}
}

func (d *decoder) goal(raw []byte) *Goal {
	g := &Goal{}
	d.object(raw, "objective status", func(name string, v []byte) {
		switch name {
		case "objective":
			g.Objective = d.text(v)
		case "status":
			g.Status = oneOf(d, v, "active", "paused", "blocked", "complete")
		case "completionCriterion":
			g.CompletionCriterion = d.optText(v)
		case "budgetUsed":
			g.BudgetUsed = d.optNumber(v)
		case "budgetLimit":
			g.BudgetLimit = d.optNumber(v)
		}
	})
	return g
}

func (d *decoder) agentMeta(raw []byte) *AgentMeta {
	a := &AgentMeta{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "model":
			a.Model = d.optText(v)
		case "thinkingEffort":
			a.ThinkingEffort = d.optText(v)
		case "usage":
			a.Usage = d.agentUsage(v)
		case "contextTokens":
			a.ContextTokens = d.optNumber(v)
		case "maxContextTokens":
			a.MaxContextTokens = d.optNumber(v)
		case "contextUsage":
			a.ContextUsage = d.optNumber(v)
		case "permission":
			a.Permission = oneOf(d, v, "manual", "yolo", "auto")
		case "phase":
			a.Phase = d.phase(v)
		}
	})
	return a
}

func (d *decoder) agentUsage(raw []byte) *AgentUsage {
	u := &AgentUsage{}
	d.object(raw, "", func(name string, v []byte) {
		switch name {
		case "byModel":
			u.ByModel = d.opaque(v)
		case "currentTurn":
			u.CurrentTurn = d.opaque(v)
		case "total":
			u.Total = d.opaque(v)
		}
	})
	return u
}
