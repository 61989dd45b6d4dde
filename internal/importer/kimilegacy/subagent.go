package kimilegacy

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// asked is a call that asks for a sub-agent.
type asked struct {
	kind, what string
	behind     bool           // in the background
	agent      events.AgentID // "" while it has done nothing
}

func askedBy(args []byte) *asked {
	o := importer.ObjectOf(args)
	return &asked{
		kind: strings.Clone(o.Either("subagent_type", "subagent_name")), what: strings.Clone(o.Str("description")),
		behind: o.Flag("run_in_background"),
	}
}

// subagentEvent is an event of a sub-agent inside the log of the one that
// asked for it.
func (d *decoder) subagentEvent(r *record) {
	parent := r.a
	call := importer.First(r.Str("parent_tool_call_id"), r.Str("task_tool_call_id"))
	inner := r.Object.Object("event")
	id, err := events.ParseAgentID(importer.First(r.Str("agent_id"), named(call)))
	if err != nil || id == parent.id || inner.Str("type") == "" {
		r.out.Skip("an event of a sub-agent that is not named")
		r.pass(r.kind)
		return
	}
	id = events.AgentID(strings.Clone(string(id)))
	name := importer.First(parent.calls.Name(call), call)
	a := d.agents[id]
	if a == nil {
		spawn := parent.spawned(r, id, name, r.Str("subagent_type"))
		a = d.agentOf(id, spawn)
	}
	if ask := parent.asked[name]; ask != nil {
		ask.agent = id
	}
	of := &record{
		Object: inner.Object("payload"), body: inner["payload"], raw: r.raw, kind: inner.Str("type"), time: r.time, out: r.out, a: a,
	}
	a.start(of, d)
	d.event(of)
	if r.time != "" {
		a.last = r.time
	}
}

// named makes an id of a call's for a sub-agent that has none.
func named(call string) string {
	if call == "" {
		return ""
	}
	id, err := importer.SessionNamed("sub-" + call)
	if err != nil {
		return ""
	}
	return string(id)
}

// spawned links a call to its sub-agent.
func (a *agent) spawned(r *record, id events.AgentID, name, kind string) importer.Spawn {
	ask := a.asked[name]
	if ask == nil {
		ask = &asked{}
	}
	kind = importer.First(kind, ask.kind)
	var p importer.Fields
	r.emit(events.TypeSubagentSpawned, p.Str("subagentId", string(id)).Opt("subagentName", kind).
		Opt("parentToolCallId", name).Opt("description", ask.what).Bool("runInBackground", ask.behind))
	return importer.Spawn{Parent: a.id, ToolCallID: strings.Clone(name), Label: strings.Clone(importer.First(ask.what, kind))}
}

// reported tells what became of a sub-agent when its call is answered.
func (a *agent) reported(r *record, name string, output []byte, isError bool) {
	ask := a.asked[name]
	if ask == nil || ask.agent == "" || ask.behind {
		return
	}
	delete(a.asked, name)
	text, _ := scan.Unquote(output)
	var p importer.Fields
	p.Str("subagentId", string(ask.agent))
	if isError {
		r.emit(events.TypeSubagentFailed, p.Str("error", importer.Clip(text)))
		return
	}
	r.emit(events.TypeSubagentCompleted, p.Opt("resultSummary", importer.Clip(text)))
}
