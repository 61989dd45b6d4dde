package claudecode

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// task is a tool call that asks for a sub-agent.
type task struct {
	by     *agent
	call   string
	prompt string
	kind   string
	what   string
	behind bool           // in the background
	agent  events.AgentID // "" while not known
	done   bool
}

// asked remembers a call of the Task tool.
func (d *decoder) asked(r *record, call string, b block) {
	if name := b.Str("name"); name != "Task" && name != "Agent" {
		return
	}
	input := b.Object("input")
	d.tasks = append(d.tasks, &task{
		by: r.a, call: call, prompt: strings.Clone(input.Str("prompt")),
		kind: strings.Clone(input.Str("subagent_type")), what: strings.Clone(input.Str("description")),
		behind: input.Flag("run_in_background"),
	})
}

func (d *decoder) taskOf(a *agent, call string) *task {
	for _, t := range d.tasks {
		if t.by == a && t.call == call {
			return t
		}
	}
	return nil
}

// spawned links a call to its sub-agent, once.
func (d *decoder) spawned(r *record, t *task, id events.AgentID) {
	if t.agent != "" {
		return
	}
	t.agent = id
	var p importer.Fields
	p.Str("subagentId", string(id)).Opt("subagentName", t.kind).Str("parentToolCallId", t.call).
		Opt("description", t.what).Bool("runInBackground", t.behind)
	r.out.Event(importer.Draft{Agent: t.by.id, Type: "subagent.spawned", Payload: p.Object(), SourceRun: t.by.run})
}

// spawnOf tells who started the record's agent, as far as the file knows when
// the agent begins.
func (d *decoder) spawnOf(r *record) importer.Spawn {
	a := r.a
	if a.id == events.MainAgent || a.id == d.src.Agent {
		return d.src.Spawn
	}
	if r.kind != "user" {
		return importer.Spawn{Parent: d.src.Agent}
	}
	blocks, _ := blocksOf(r.Object("message")["content"])
	for _, t := range d.tasks {
		if t.by != a && t.agent == "" && !t.done && t.prompt != "" && t.prompt == textOf(blocks) {
			d.spawned(r, t, a.id)
			return importer.Spawn{Parent: t.by.id, ToolCallID: t.call, Label: importer.First(t.what, t.kind)}
		}
	}
	return importer.Spawn{Parent: d.src.Agent}
}

// agentProgress learns from a call's progress which agent works on it.
func (d *decoder) agentProgress(r *record, call string, data object) {
	t := d.taskOf(r.a, call)
	id, err := events.ParseAgentID(data.Str("agentId"))
	if t == nil || err != nil {
		return
	}
	d.spawned(r, t, events.AgentID(strings.Clone(string(id))))
}

// taskResult tells what became of a sub-agent when its call is answered.
func (d *decoder) taskResult(r *record, call string, b block) {
	t := d.taskOf(r.a, call)
	if t == nil || t.done {
		return
	}
	twin := r.Object("toolUseResult")
	if id, err := events.ParseAgentID(twin.Str("agentId")); err == nil {
		d.spawned(r, t, events.AgentID(strings.Clone(string(id))))
	}
	if t.agent == "" || twin.Str("status") == "async_launched" {
		return
	}
	t.done = true
	var p importer.Fields
	p.Str("subagentId", string(t.agent))
	text, _ := scan.Unquote(outputOf(b))
	if b.Flag("is_error") {
		r.emit("subagent.failed", p.Str("error", importer.Clip(text)))
		return
	}
	r.emit("subagent.completed", p.Opt("resultSummary", importer.Clip(text)).Raw("usage", usageOf(twin.Object("usage"))))
}
