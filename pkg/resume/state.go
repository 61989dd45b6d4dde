package resume

import (
	"encoding/json"

	"github.com/stenohq/steno/pkg/events"
)

// Class is what is known of a tool call, and so what a runtime may do about
// it.
type Class string

// The classes.
const (
	ClassCompleted Class = "completed" // use the recorded result, never run it again
	ClassFailed    Class = "failed"    // report it, never run it again by itself
	ClassPending   Class = "pending"   // it never began: plan again freely
	ClassUncertain Class = "uncertain" // it began: only if ReplayAllowed, else a person decides
)

// State is what a runtime needs to go on. Its JSON form is deterministic
// (AppendJSON); clients decode it with encoding/json. All of it is immutable.
type State struct {
	SessionID events.SessionID `json:"session_id"`
	AgentID   events.AgentID   `json:"agent_id"`
	RunID     string           `json:"run_id"`
	Epoch     string           `json:"epoch"`
	LastSeq   uint64           `json:"last_seq"`

	// Open: the current run has had no end since its last message.
	Open bool `json:"open"`

	History []Message `json:"history_messages"`
	Model   []Message `json:"model_messages"`

	Checkpoint   json.RawMessage            `json:"checkpoint"` // the last one's payload, or null
	Terminal     json.RawMessage            `json:"terminal"`   // the last one's payload, or null
	RuntimeState map[string]json.RawMessage `json:"runtime_state"`
	LoopState    LoopState                  `json:"loop_state"`

	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCounts ToolCounts `json:"tool_counts"` // also of calls no longer listed
	Children   []Child    `json:"children"`

	NextTurnID          int       `json:"next_turn_id"`
	OpenTurn            *OpenTurn `json:"open_turn"`
	PendingInteractions []string  `json:"pending_interactions"`

	// HistoryDropped counts older messages that are not in History: before the
	// checkpoint's retained place, or beyond the bound.
	HistoryDropped int `json:"history_dropped,omitempty"`

	// LeftOut counts events that could not be folded whole because of a defect
	// of this program; what the state says may lack them.
	LeftOut int `json:"left_out,omitempty"`
}

// Message is one message of the conversation. Content is a JSON string or an
// array of parts, Metadata a JSON object.
type Message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Metadata  json.RawMessage `json:"metadata"`
	RunID     string          `json:"run_id"`
	Seq       uint64          `json:"seq"` // 0 of a synthetic message
	Blobs     []events.Blob   `json:"blobs,omitempty"`
	Recovered bool            `json:"recovered,omitempty"`
}

// LoopState is the state of a plain agent loop.
type LoopState struct {
	Messages   []Message  `json:"messages"` // those of History
	Step       int        `json:"step"`     // the largest seen
	TurnCount  int        `json:"turn_count"`
	ToolChoice string     `json:"tool_choice"`
	Transition Transition `json:"transition"`
}

// Transition is the last state transition. An unknown reason is
// unrecoverable_error; an empty one means that there was none.
type Transition struct {
	Reason  string          `json:"reason"`
	Details json.RawMessage `json:"details"`
}

// ToolCall is one tool call of a run.
type ToolCall struct {
	RunID         string          `json:"run_id"`
	ToolCallID    string          `json:"tool_call_id"`
	ToolName      string          `json:"tool_name"`
	Step          int             `json:"step"`
	Class         Class           `json:"class"`
	Args          json.RawMessage `json:"args"`
	Result        json.RawMessage `json:"result,omitempty"`
	Error         *ToolError      `json:"error,omitempty"`
	ReplayAllowed bool            `json:"replay_allowed"`
	RequestedSeq  uint64          `json:"requested_seq,omitempty"`
	StartedSeq    uint64          `json:"started_seq,omitempty"`
	SettledSeq    uint64          `json:"settled_seq,omitempty"`
	SettledBy     string          `json:"settled_by,omitempty"` // the person who decided
}

// ToolError is why a call failed.
type ToolError struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// ToolCounts counts the calls by class.
type ToolCounts struct {
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Pending   int `json:"pending"`
	Uncertain int `json:"uncertain"`
}

// Child is an agent that this one spawned. State is what its parent's log
// says; ChildState, from the child's own, is added by who serves the state.
type Child struct {
	AgentID    string `json:"agent_id"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	State      string `json:"state"` // spawned, running, completed, failed
	ChildState string `json:"child_state,omitempty"`
}

// OpenTurn is a turn that runs: turn.started with its number reopens it.
type OpenTurn struct {
	TurnID   int    `json:"turnId"`
	NextStep int    `json:"next_step"`
	Prompt   string `json:"prompt"`
}

// Uncertain returns the calls a person has to decide about.
func (s *State) Uncertain() []ToolCall {
	var list []ToolCall
	for _, c := range s.ToolCalls {
		if c.Class == ClassUncertain && !c.ReplayAllowed {
			list = append(list, c)
		}
	}
	return list
}
