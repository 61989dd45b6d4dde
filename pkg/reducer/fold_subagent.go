package reducer

import "github.com/stenohq/steno/pkg/events"

// subagentSpawned folds subagent.spawned.
func (f *Fold) subagentSpawned(p *foldPayload) {
	agent, call, key := p.key("subagentId"), p.word("parentToolCallId"), p.word("taskId")
	name, description := p.text("subagentName"), p.text("description")
	swarm := p.number("swarmIndex").Set
	background := p.flag("runInBackground").V
	if agent == "" {
		return
	}
	if key == "" {
		key = agent
	}
	f.agents.set(agent, key)
	label := description
	if !label.Set {
		label = name
	}
	if _, err := events.ParseAgentID(agent); err != nil {
		p.bad("subagentId", "cannot be the id of an agent: it has no transcript")
	} else {
		f.addChild(AgentDescriptor{
			AgentID: agent, Type: "sub", ParentAgentID: f.agentID, ParentToolCallID: call, Label: label, CreatedAt: f.now(),
		})
	}
	turn := f.refAgent(call, agent, swarm, background, key)
	e := f.task(key)
	h := e.nowTask()
	h.Kind, h.State, h.AgentID, h.Detached = "subagent", taskRunning, agent, background
	over(&h.Description, label)
	if h.StartedAt == "" || e.ended != stillOpen {
		h.StartedAt = f.now()
	}
	h.EndedAt, h.ResultSummary, h.Error, h.StateReason = "", Opt[string]{}, Opt[string]{}, Opt[string]{}
	f.putTask(e, h, turn)
}

// refAgent links the tool frame that spawned an agent to it and returns the
// frame's turn.
func (f *Fold) refAgent(call, agent string, swarm, background bool, task string) *foldTurn {
	fr := f.findCall(call)
	if call == "" || fr == nil {
		return nil
	}
	h := fr.now()
	known := false
	for _, ref := range h.AgentRefs {
		known = known || ref.AgentID == agent
	}
	if !known {
		role := "child"
		if swarm {
			role = "member"
		}
		h.AgentRefs = append(append([]AgentRef(nil), h.AgentRefs...), AgentRef{AgentID: agent, Role: role})
	}
	if background {
		h.TaskID = task
	}
	if !known || h.TaskID != fr.head.TaskID {
		f.putFrame(fr, h)
	}
	return fr.step.turn
}

// agentTask finds or makes the task that stands for an agent.
func (f *Fold) agentTask(agent string) (*foldEntity, Task) {
	id := f.agents.get(agent)
	if id == "" {
		id = agent
	}
	e := f.task(id)
	h := e.nowTask()
	if e.size == 0 {
		h.Kind, h.AgentID, h.StartedAt = "subagent", agent, f.now()
	}
	return e, h
}

// subagentStarted folds subagent.started.
func (f *Fold) subagentStarted(p *foldPayload) { f.subagentRuns(p) }

// subagentSuspended folds subagent.suspended: it goes on later.
func (f *Fold) subagentSuspended(p *foldPayload) { f.subagentRuns(p) }

func (f *Fold) subagentRuns(p *foldPayload) {
	agent, reason := p.key("subagentId"), p.text("reason")
	if agent == "" {
		return
	}
	e, h := f.agentTask(agent)
	h.State, h.EndedAt, h.StateReason = taskRunning, "", reason
	f.putTask(e, h, nil)
}

// subagentCompleted folds subagent.completed.
func (f *Fold) subagentCompleted(p *foldPayload) { f.subagentEnds(p, taskCompleted) }

// subagentFailed folds subagent.failed.
func (f *Fold) subagentFailed(p *foldPayload) { f.subagentEnds(p, taskFailed) }

func (f *Fold) subagentEnds(p *foldPayload, state string) {
	agent := p.key("subagentId")
	summary, usage, failure, reason := p.text("resultSummary"), p.usage("usage"), p.failure("error"), p.text("reason")
	if agent == "" {
		return
	}
	e, h := f.agentTask(agent)
	h.State, h.EndedAt, h.StateReason = state, f.now(), Opt[string]{}
	over(&h.ResultSummary, summary)
	over(&h.Error, failure)
	over(&h.StateReason, reason)
	if usage != nil {
		h.Usage = usage
	}
	f.putTask(e, h, nil)
}
