package resume

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/internal/facts"
	"github.com/stenohq/steno/pkg/reducer"
)

// ReadOptions choose what State returns.
type ReadOptions struct {
	Epoch  string
	Policy Policy // nil: Allow()

	// All returns the whole history, which only a Fold that is Whole has;
	// otherwise it begins at the last checkpoint's retained place and has at
	// most MaxHistory bytes.
	All bool
}

// knownReason reports whether a runtime may act on a transition's reason.
func knownReason(reason string) bool {
	switch reason {
	case "", "user_input", "model_returned_tool_calls", "tools_executed", "model_returned_final", "stop_hook_blocking",
		"context_compacted", "model_recovery_failed", "model_recovery_retry", "max_steps", "token_budget",
		"interrupted", "completion_gate_blocked", "completed", "cancelled", "unrecoverable_error":
		return true
	}
	return false
}

// State returns the resume state as of the last event.
func (f *Fold) State(opt ReadOptions) *State {
	if opt.Policy == nil {
		opt.Policy = Allow()
	}
	s := &State{
		SessionID: f.opt.Session, AgentID: f.opt.Agent, RunID: f.run, Epoch: opt.Epoch, LastSeq: f.lastSeq,
		Open: f.lastMessage > f.lastEnd, Checkpoint: raw(f.checkpoint), Terminal: raw(f.terminal),
		NextTurnID: f.reader.NextTurn(), PendingInteractions: f.reader.Pending(),
		ToolCalls: []ToolCall{}, ToolCounts: f.calls.counts, Children: []Child{}, RuntimeState: map[string]json.RawMessage{},
		LeftOut: f.leftOut,
	}
	f.readHistory(s, opt.All)
	s.LoopState = LoopState{
		Messages: s.History, Step: f.step, TurnCount: f.users, ToolChoice: "auto",
		Transition: Transition{Reason: f.transition, Details: raw(f.details)},
	}
	if !knownReason(f.transition) {
		s.LoopState.Transition.Reason = "unrecoverable_error"
	}
	for _, one := range f.runtime {
		s.RuntimeState[one.key] = raw(one.value)
	}
	streamed := f.streamed()
	for _, c := range f.calls.list {
		out := c.toolCall(opt.Policy)
		if args, ok := streamed[c.callKey]; ok && c.args == "" {
			out.Args = raw(args)
		}
		s.ToolCalls = append(s.ToolCalls, out)
	}
	for _, c := range f.children {
		s.Children = append(s.Children, Child{AgentID: c.agent, ToolCallID: c.call, State: c.state})
	}
	if t, ok := f.reader.OpenTurn(); ok {
		s.OpenTurn = &OpenTurn{TurnID: t.Ordinal, NextStep: t.NextStep, Prompt: t.Prompt}
	}
	return s
}

// streamed returns the arguments that unfinished steps have streamed.
func (f *Fold) streamed() map[callKey]reducer.Raw {
	args := map[callKey]reducer.Raw{}
	for _, one := range f.reader.Unfinished() {
		for _, c := range one.Calls {
			args[callKey{one.Run, c.ID}] = facts.Streamed(c.Args)
		}
	}
	return args
}

func (f *Fold) readHistory(s *State, all bool) {
	from := f.retained
	if all {
		from = 0
	}
	list := f.current(from)
	if !all {
		list, _ = clip(list)
	}
	s.HistoryDropped = f.dropped + len(f.current(0)) - len(list)
	s.History = f.conversation(list)
	s.Model = f.model()
}

// merge takes the members of a checkpoint's runtime state in; later ones win.
func (f *Fold) merge(state reducer.Raw) {
	m := scan.ObjectOf([]byte(state))
	for m.Next() {
		f.set(strings.Clone(m.Key()), reducer.Raw(m.Value()))
	}
	size := 0
	for i, v := range slices.Backward(f.runtime) {
		size += len(v.key) + len(v.value)
		if size > maxRuntime && !f.opt.Whole {
			f.runtime = append([]keyed(nil), f.runtime[i+1:]...)
			return
		}
	}
}

// set puts a member last.
func (f *Fold) set(key string, value reducer.Raw) {
	for i := range f.runtime {
		if f.runtime[i].key == key {
			f.runtime = append(f.runtime[:i], f.runtime[i+1:]...)
			break
		}
	}
	f.runtime = append(f.runtime, keyed{key, value})
}
