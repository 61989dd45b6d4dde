package kimi

import (
	"maps"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// settings learns from a record what describes the agent.
func (d *decoder) settings(r *record) {
	switch r.kind {
	case "metadata":
		d.learn("protocol", r.Str("protocol_version"))
	case "config.update":
		d.learn("cwd", r.Str("cwd"))
		d.learn("profile", r.Str("profileName"))
		d.learn("model", r.Str("modelAlias"))
	case "profile.bind":
		d.ends = true
		d.learn("cwd", r.Object.Object("environmentDisclosure").Str("cwd"))
		d.learn("profile", r.Str("profileName"))
		d.learn("model", r.Str("modelAlias"))
	case "runtime.set_binding", "agent.turn.started", "agent.turn.ended", "turn.ended":
		d.ends = true
	case "llm.request":
		if r.Str("kind") != "compaction" {
			d.model = strings.Clone(importer.First(r.Str("model"), r.Str("modelAlias")))
		}
	case "usage.record":
		if d.model == "" {
			d.model = strings.Clone(r.Str("model"))
		}
	}
}

func (d *decoder) learn(name, value string) {
	if value != "" && d.labels[name] == "" {
		d.labels[name] = strings.Clone(value)
		d.learnt = true
	}
}

// start publishes the agent's start, and again when more is known of it.
func (d *decoder) start(r *record) {
	if d.begun && !d.learnt {
		return
	}
	if !d.begun {
		maps.Copy(d.labels, d.src.Labels)
	}
	d.begun, d.learnt = true, false
	kind := "sub"
	if d.src.Agent == events.MainAgent {
		kind = "main"
	}
	s := d.src.Spawn
	var p importer.Fields
	p.Str("type", kind).Opt("parentAgentId", string(s.Parent)).Opt("parentToolCallId", s.ToolCallID).Opt("label", s.Label)
	r.out.Event(importer.Draft{
		Agent: r.agent, Type: events.TypeAgentStarted, Payload: p.Object(), Labels: importer.Labels(Name, d.labels),
	})
}

// status publishes what changed of the agent's settings; the record itself
// passes too when it says more than that.
func (d *decoder) status(r *record) bool {
	var p importer.Fields
	switch r.kind {
	case "config.update", "profile.bind":
		d.changed(&p, "model", r.Object["modelAlias"])
		d.changed(&p, "thinkingEffort", r.Object["thinkingEffort"])
	case "permission.set_mode":
		if mode := r.Str("mode"); mode == "manual" || mode == "yolo" || mode == "auto" {
			d.changed(&p, "permission", r.Object["mode"])
		}
	case "token_counting.measured":
		d.changed(&p, "contextTokens", r.Number("tokens"))
	default:
		return false
	}
	if len(p.Object()) > len("{}") {
		r.emit(events.TypeAgentStatusUpdated, &p)
	}
	return r.kind == "permission.set_mode" || r.kind == "token_counting.measured"
}

func (d *decoder) changed(p *importer.Fields, name string, value []byte) {
	if value == nil || scan.IsNull(value) || d.told[name] == string(value) {
		return
	}
	d.told[name] = string(value)
	p.Raw(name, value)
}
