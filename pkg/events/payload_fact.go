package events

// Message is one message of the conversation, in the plain-loop family.
type Message struct {
	Role     string           `json:"role"` // user, assistant, tool, system, summary
	Content  any              `json:"content"`
	Metadata *MessageMetadata `json:"metadata,omitempty"`
}

// EventType returns message.
func (Message) EventType() string { return TypeMessage }

// MessageMetadata says more about a message.
type MessageMetadata struct {
	ActionType string        `json:"action_type,omitempty"`
	ToolCalls  []MessageCall `json:"tool_calls,omitempty"`
	ToolCallID string        `json:"tool_call_id,omitempty"`
	ToolName   string        `json:"tool_name,omitempty"`
	Reasoning  string        `json:"reasoning,omitempty"`
	Source     string        `json:"source,omitempty"`
	Recovered  bool          `json:"recovered,omitempty"`
}

// MessageCall is a call of a tool that a message asks for. Arguments is a JSON
// value or its text.
type MessageCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments any    `json:"arguments,omitempty"`
}

// StateTransition is a step of the loop's state machine.
type StateTransition struct {
	FromState string `json:"from_state,omitempty"`
	ToState   string `json:"to_state"`
	Reason    string `json:"reason"`
	Details   any    `json:"details,omitempty"`
}

// EventType returns state_transition.
func (StateTransition) EventType() string { return TypeStateTransition }

// ToolLifecycle is a fact about a tool call; Status is requested, started,
// completed or failed.
type ToolLifecycle struct {
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
	Status     string `json:"status"`
	Args       any    `json:"args,omitempty"`
	Result     any    `json:"result,omitempty"`
	ResultText string `json:"result_text,omitempty"`
	Error      any    `json:"error,omitempty"` // a string or ErrorInfo
}

// EventType returns tool_lifecycle.
func (ToolLifecycle) EventType() string { return TypeToolLifecycle }

// Checkpoint replaces the conversation before the retained place by a
// summary.
type Checkpoint struct {
	CheckpointID       string `json:"checkpoint_id"`
	Summary            string `json:"summary,omitempty"`
	SourceMessageCount *int   `json:"source_message_count,omitempty"`
	RetainStartIdx     *int   `json:"retain_start_idx,omitempty"`
	RetainFromEventID  string `json:"retain_from_event_id,omitempty"`
	MessagesCompacted  *int   `json:"messages_compacted,omitempty"`
	CreatedAt          string `json:"created_at,omitempty"`
	RuntimeState       any    `json:"runtime_state,omitempty"` // an object
	Metadata           any    `json:"metadata,omitempty"`
}

// EventType returns checkpoint.
func (Checkpoint) EventType() string { return TypeCheckpoint }

// Terminal ends a run.
type Terminal struct {
	Reason  string `json:"reason"`
	Details any    `json:"details,omitempty"`
}

// EventType returns terminal.
func (Terminal) EventType() string { return TypeTerminal }
