package fold

import "github.com/stenohq/steno/pkg/events"

// State is an encoded Agent. Memory and Resume are empty until there is
// something in them.
type State struct {
	Head, Memory, Resume []byte
}

// Encode returns the state in a deterministic form: equal folds have equal
// bytes.
func (a *Agent) Encode() State { return State{} }

// Decode returns the Agent that Encode was called on. The error wraps
// ErrVersion or ErrCorrupt; in both cases the log is folded from its start.
// Decode does not keep the state's bytes.
func Decode(session events.SessionID, agent events.AgentID, s State, opts ...Option) (*Agent, error) {
	return nil, ErrVersion
}
