package kimi

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// asked is what a call asks a sub-agent for.
type asked struct {
	kind, what string
	behind     bool // in the background
}

func askedBy(args importer.Object) *asked {
	return &asked{
		kind: strings.Clone(args.Str("subagent_type")), what: strings.Clone(args.Str("description")),
		behind: args.Flag("run_in_background"),
	}
}

// subagent is a record about a sub-agent.
func (d *decoder) subagent(r *record) {
	if r.kind == events.TypeSubagentSpawned {
		d.spawned[strings.Clone(r.Str("subagentId"))] = true
	}
	r.same()
}

// reported links a call to its sub-agent in logs that have no record for that:
// the call's result names it.
func (d *decoder) reported(r *record, name string, output []byte, isError bool) {
	ask := d.asked[name]
	if ask == nil {
		return
	}
	delete(d.asked, name)
	text, _ := scan.Unquote(output)
	id, err := events.ParseAgentID(field(text, "agent_id"))
	if err != nil || d.spawned[string(id)] {
		return
	}
	d.spawned[strings.Clone(string(id))] = true
	var p, end importer.Fields
	r.emit(events.TypeSubagentSpawned, p.Str("subagentId", string(id)).Opt("subagentName", ask.kind).
		Str("parentToolCallId", name).Opt("description", ask.what).Bool("runInBackground", ask.behind))
	end.Str("subagentId", string(id))
	_, summary, _ := strings.Cut(text, "[summary]\n")
	switch {
	case isError || field(text, "status") == "failed":
		r.emit(events.TypeSubagentFailed, end.Str("error", importer.Clip(text)))
	case field(text, "status") == "completed":
		r.emit(events.TypeSubagentCompleted, end.Opt("resultSummary", importer.Clip(strings.TrimSpace(summary))))
	}
}

// field reads a line "name: value" of a result.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
