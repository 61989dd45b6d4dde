package codex

import (
	"maps"
	"slices"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// start is what the agent's start tells.
type start struct {
	labels map[string]string
	sent   bool
}

// learn takes from a record what belongs to the agent's start, and says
// whether that is to be told.
func (s *start) learn(d *decoder, r *record, first bool) bool {
	if s.labels == nil {
		s.labels = map[string]string{"source": "import:" + Name, "runtime": Name}
		maps.Copy(s.labels, d.src.Labels)
	}
	changed := !s.sent
	switch {
	case r.kind == "session_meta" && first:
		changed = s.set("cwd", r.Str("cwd")) || changed
		changed = s.set("version", r.Str("cli_version")) || changed
		changed = s.set("git_branch", r.Object("git").Str("branch")) || changed
		changed = s.set("originator", r.Str("originator")) || changed
		changed = s.set("forked_from", r.Str("forked_from_id")) || changed
	case r.kind == "turn_context":
		changed = s.set("cwd", r.Str("cwd")) || changed
		changed = s.set("model", r.Str("model")) || changed
	case r.sub == "thread_name_updated":
		if title := r.Str("thread_name"); title != "" && title != s.labels["title"] {
			s.labels["title"] = strings.Clone(title)
			changed = true
		}
	}
	s.sent = true
	return changed
}

// set sets a label once.
func (s *start) set(name, value string) bool {
	if value == "" || s.labels[name] != "" {
		return false
	}
	s.labels[name] = strings.Clone(value)
	return true
}

// told publishes the agent's start when something of it is new.
func (d *decoder) told(r *record, changed bool) {
	if !changed {
		return
	}
	var p, labels importer.Fields
	kind := "sub"
	if d.src.Agent == events.MainAgent {
		kind = "main"
	}
	p.Str("type", kind).Opt("parentAgentId", string(d.src.Spawn.Parent)).
		Opt("parentToolCallId", d.src.Spawn.ToolCallID).Opt("label", d.src.Spawn.Label)
	for _, name := range slices.Sorted(maps.Keys(d.start.labels)) {
		labels.Str(name, d.start.labels[name])
	}
	r.out.Event(importer.Draft{
		Agent: d.src.Agent, Type: "agent.started", Payload: p.Object(), SourceRun: d.run, Labels: labels.Object(),
	})
}

// meta is a session_meta. The first one is the file's; others are those of the
// session it was forked from, or mark that the program began again.
func (d *decoder) meta(r *record, first bool) {
	switch {
	case first:
		d.fork.begin(r)
	case r.Str("id") == d.run:
		d.closeTurn(r)
	default:
		d.fork.parent()
		d.pass(r, "session_meta")
	}
}

// settings are what a turn runs with.
type settings struct {
	model, effort, permission string
	plan                      bool
}

// context follows the settings: those that changed are told.
func (d *decoder) context(r *record, o object) {
	if r.kind == "turn_context" {
		d.fork.turn(o.Str("turn_id"), nil)
	}
	s := &d.settings
	mode := o.Object("collaboration_mode")
	inner := mode.Object("settings")
	var p importer.Fields
	change := func(name string, old *string, now string) {
		if now != "" && now != *old {
			*old = strings.Clone(now)
			p.Str(name, now)
		}
	}
	change("model", &s.model, o.Str("model"))
	change("thinkingEffort", &s.effort, importer.First(o.Either("effort", "reasoning_effort"), inner.Str("reasoning_effort"), mode.Str("reasoning_effort")))
	change("permission", &s.permission, permission(o))
	if payload := p.Object(); len(payload) > len("{}") {
		d.emit(r, "agent.status.updated", &p)
	}
	if kind := mode.Str("mode"); kind != "" && (kind == "plan") != s.plan {
		s.plan = kind == "plan"
		if s.plan {
			d.emit(r, "plan_mode.enter", &importer.Fields{})
		} else {
			d.emit(r, "plan_mode.exit", &importer.Fields{})
		}
	}
}

// permission translates when the program asks; "" for what is not known.
func permission(o object) string {
	switch o.Str("approval_policy") {
	case "untrusted", "unless-trusted", "on-request":
		return "manual"
	case "on-failure":
		return "auto"
	case "never":
		policy := o.Object("sandbox_policy")
		if policy.Either("type", "mode") == "danger-full-access" {
			return "yolo"
		}
		return "auto"
	}
	return ""
}
