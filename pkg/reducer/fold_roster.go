package reducer

import (
	"strings"

	"github.com/stenohq/steno/pkg/events"
)

// The bounds of the agents that are remembered as spawned by this one.
const (
	maxChildren  = 1000
	maxLabel     = 1000 // bytes; a description may be a whole prompt
	maxCallBytes = 1000 // of the call that spawned one
)

// foldRoster is what the agent's own log says about the roster.
type foldRoster struct {
	started  bool
	self     AgentDescriptor
	children []AgentDescriptor // in the order in which they were first spawned
	labels   Raw               // of the last agent.started, an object of strings, or ""
	source   string            // label source of the first one
}

// agentStarted folds agent.started.
func (f *Fold) agentStarted(p *foldPayload) {
	d := AgentDescriptor{
		AgentID: f.agentID, Type: p.oneOf("type", "main", "sub", "independent"),
		ParentAgentID: p.word("parentAgentId"), ParentToolCallID: p.word("parentToolCallId"),
		Label: p.text("label"), CreatedAt: f.now(),
	}
	switch {
	case d.Type != "":
	case d.ParentAgentID != "":
		d.Type = "sub"
	default:
		d.Type = defaultType(f.agentID)
	}
	if f.roster.started {
		d.CreatedAt = f.roster.self.CreatedAt
	}
	labels, err := f.ev.LabelMap()
	if err != nil {
		f.badField("labels", err.Error())
	} else if f.ev.Labels != nil {
		f.roster.labels = Raw(f.ev.Labels)
	}
	if !f.roster.started {
		f.roster.source = strings.Clone(labels["source"])
	}
	f.roster.started, f.roster.self = true, d
}

func defaultType(agentID string) string {
	if agentID == string(events.MainAgent) {
		return "main"
	}
	return "independent"
}

// addChild remembers an agent that this one spawned.
func (f *Fold) addChild(d AgentDescriptor) {
	if label, rest := cutText(d.Label.V, maxLabel); rest != "" {
		d.Label = Some(strings.Clone(label))
	}
	if len(d.ParentToolCallID) > maxCallBytes {
		d.ParentToolCallID = ""
	}
	for i, c := range f.roster.children {
		if c.AgentID == d.AgentID {
			d.CreatedAt = c.CreatedAt
			f.roster.children[i] = d
			return
		}
	}
	if len(f.roster.children) >= maxChildren {
		f.roster.children = append(f.roster.children[:0], f.roster.children[1:]...)
	}
	f.roster.children = append(f.roster.children, d)
}

// Descriptor returns the agent's row of the roster as its own log has it;
// Started is false when only a parent's log can know better.
func (f *Fold) Descriptor() (d AgentDescriptor, started bool) {
	d = f.roster.self
	d.AgentID = f.agentID
	if !f.roster.started {
		d.Type = defaultType(f.agentID)
	}
	return d, f.roster.started
}

// Children returns the rows of the agents that this one spawned, oldest first.
func (f *Fold) Children() []AgentDescriptor {
	return append([]AgentDescriptor(nil), f.roster.children...)
}

// Source returns the label source of the first agent.started, "" when it has
// none: what a session is fed by never changes.
func (f *Fold) Source() string { return f.roster.source }

// Labels returns the labels of the last agent.started as JSON, "" when there
// are none.
func (f *Fold) Labels() Raw { return f.roster.labels }
