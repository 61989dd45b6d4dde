package fold

import (
	"cmp"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// Info is what the list of sessions and the pacing of heads need to know.
type Info struct {
	Title       string            // label title, else the first prompt of a user
	FirstPrompt string            // at most 200 bytes
	Labels      map[string]string // of the last agent.started; nil when there are none
	Source      string            // label source of the first agent.started, "sdk" when absent

	Events      uint64 // admitted
	Turns       int    // not undone
	Open        bool   // a turn runs
	Failed      bool   // the last turn failed
	Pending     int    // interactions that wait for a person
	RunningTool int    // tool calls that run

	// Tokens and Cost (USD) are sums over all steps.
	InputTokens, OutputTokens, CachedTokens, Cost float64

	// First and Last are the times of admitted events, Unix milliseconds; 0
	// before the first. They are data of publishers and need not be in order.
	First, Last int64
	Disposed    bool
}

// Info describes the agent as of the last record.
func (a *Agent) Info() Info {
	s := a.tree.Stats()
	d, _ := a.tree.Descriptor()
	info := Info{
		FirstPrompt: s.FirstPrompt, Labels: a.labels(), Source: cmp.Or(a.tree.Source(), "sdk"),
		Events: a.events, Turns: s.Turns, Open: s.RunningTurns > 0, Pending: s.Pending, RunningTool: s.RunningTools,
		InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, CachedTokens: s.CachedTokens, Cost: s.Cost,
		First: a.first, Last: a.last.millis(), Disposed: d.DisposedAt != "",
	}
	if last := a.tree.LastTurn(); last != nil {
		info.Failed = last.State == reducer.TurnFailed
	}
	info.Title = info.Labels["title"]
	if info.Title == "" {
		info.Title = info.FirstPrompt
	}
	return info
}

func (a *Agent) labels() map[string]string {
	raw := a.tree.Labels()
	if raw == "" {
		return nil
	}
	ev := events.Event{Labels: scan.Trim([]byte(raw))}
	labels, err := ev.LabelMap()
	if err != nil { // was checked when it was folded
		return nil
	}
	return labels
}
