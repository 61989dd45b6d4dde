package events

import "github.com/stenohq/steno/pkg/events/scan"

// ToolCallDelta streams the arguments of a call.
type ToolCallDelta struct {
	TurnID        *int   `json:"turnId,omitempty"`
	Step          *int   `json:"step,omitempty"`
	ToolCallID    string `json:"toolCallId"`
	Name          string `json:"name,omitempty"`
	ArgumentsPart string `json:"argumentsPart,omitempty"`
}

// EventType returns tool.call.delta.
func (ToolCallDelta) EventType() string { return TypeToolCallDelta }

func (p ToolCallDelta) appendPayload(dst []byte) []byte {
	dst = appendWhere(append(dst, '{'), p.TurnID, p.Step)
	dst = scan.AppendQuote(append(dst, `"toolCallId":`...), p.ToolCallID)
	dst = appendString(dst, "name", p.Name)
	if p.ArgumentsPart != "" {
		dst = scan.AppendQuoteWTF8(append(dst, `,"argumentsPart":`...), p.ArgumentsPart)
	}
	return append(dst, '}')
}

// ToolCallStarted announces a call with its arguments; its effect begins
// now, unless the runtime uses ToolCallExecuting.
type ToolCallStarted struct {
	TurnID     *int   `json:"turnId,omitempty"`
	Step       *int   `json:"step,omitempty"`
	ToolCallID string `json:"toolCallId"`
	Name       string `json:"name"`
	Args       any    `json:"args,omitempty"`
	Display    any    `json:"display,omitempty"`
	View       string `json:"view,omitempty"`
	TaskID     string `json:"taskId,omitempty"`
}

// EventType returns tool.call.started.
func (ToolCallStarted) EventType() string { return TypeToolCallStarted }

// ToolCallExecuting says that a call's effect begins now.
type ToolCallExecuting struct {
	ToolCallID string `json:"toolCallId"`
}

// EventType returns tool.call.executing.
func (ToolCallExecuting) EventType() string { return TypeToolCallExecuting }

// ToolProgress is the latest word of a running tool.
type ToolProgress struct {
	ToolCallID string         `json:"toolCallId"`
	Update     ProgressUpdate `json:"update"`
}

// EventType returns tool.progress.
func (ToolProgress) EventType() string { return TypeToolProgress }

// ProgressUpdate has Kind stdout, stderr, progress, status or custom.
type ProgressUpdate struct {
	Kind       string   `json:"kind"`
	Text       string   `json:"text,omitempty"`
	Percent    *float64 `json:"percent,omitempty"`
	CustomKind string   `json:"customKind,omitempty"`
	CustomData any      `json:"customData,omitempty"`
}

// ToolResult is what a call returned.
type ToolResult struct {
	ToolCallID string `json:"toolCallId"`
	Output     any    `json:"output"`
	IsError    bool   `json:"isError,omitempty"`
	Synthetic  bool   `json:"synthetic,omitempty"` // made up by the runtime, not by the tool
}

// EventType returns tool.result.
func (ToolResult) EventType() string { return TypeToolResult }

// TodoUpdated replaces the todo document.
type TodoUpdated struct {
	Items []TodoItem `json:"items"`
}

// EventType returns todo.updated.
func (TodoUpdated) EventType() string { return TypeTodoUpdated }

// TodoItem has Status pending, in_progress or done.
type TodoItem struct {
	Title  string `json:"title"`
	Status string `json:"status"`
}

// TaskStarted begins work beside the turns.
type TaskStarted struct {
	Info TaskInfo `json:"info"`
}

// EventType returns task.started.
func (TaskStarted) EventType() string { return TypeTaskStarted }

// TaskTerminated ends it.
type TaskTerminated struct {
	Info       TaskInfo `json:"info"`
	OutputTail string   `json:"outputTail,omitempty"`
}

// EventType returns task.terminated.
func (TaskTerminated) EventType() string { return TypeTaskTerminated }

// TaskInfo describes a task. Times are Unix milliseconds.
type TaskInfo struct {
	TaskID      string `json:"taskId"`
	Kind        string `json:"kind,omitempty"` // process, agent or another word
	Description string `json:"description,omitempty"`
	Status      string `json:"status,omitempty"` // running, completed, failed, timed_out, killed, lost
	Detached    *bool  `json:"detached,omitempty"`
	AgentID     string `json:"agentId,omitempty"`
	ToolCallID  string `json:"toolCallId,omitempty"`
	StartedAt   *int64 `json:"startedAt,omitempty"`
	EndedAt     *int64 `json:"endedAt,omitempty"`
}

// TaskNotified is a word from a task that the model gets to see.
type TaskNotified struct {
	Title    string `json:"title,omitempty"`
	Body     string `json:"body,omitempty"`
	SourceID string `json:"sourceId,omitempty"`
}

// EventType returns task.notified.
func (TaskNotified) EventType() string { return TypeTaskNotified }

// ShellStarted ties a shell command to its task.
type ShellStarted struct {
	CommandID string `json:"commandId"`
	TaskID    string `json:"taskId,omitempty"`
}

// EventType returns shell.started.
func (ShellStarted) EventType() string { return TypeShellStarted }

// ShellOutput is output of a shell command.
type ShellOutput struct {
	CommandID string         `json:"commandId"`
	TaskID    string         `json:"taskId,omitempty"`
	Update    ProgressUpdate `json:"update"`
}

// EventType returns shell.output.
func (ShellOutput) EventType() string { return TypeShellOutput }

// ShellCompleted ends a shell command.
type ShellCompleted struct {
	CommandID string `json:"commandId"`
	TaskID    string `json:"taskId,omitempty"`
	IsError   bool   `json:"isError"`
}

// EventType returns shell.completed.
func (ShellCompleted) EventType() string { return TypeShellCompleted }

// SubagentSpawned begins a sub-agent.
type SubagentSpawned struct {
	SubagentID       string `json:"subagentId"`
	SubagentName     string `json:"subagentName,omitempty"`
	ParentToolCallID string `json:"parentToolCallId,omitempty"`
	Description      string `json:"description,omitempty"`
	SwarmIndex       *int   `json:"swarmIndex,omitempty"`
	RunInBackground  bool   `json:"runInBackground"`
	TaskID           string `json:"taskId,omitempty"`
}

// EventType returns subagent.spawned.
func (SubagentSpawned) EventType() string { return TypeSubagentSpawned }

// SubagentStarted says that a sub-agent is at work.
type SubagentStarted struct {
	SubagentID string `json:"subagentId"`
}

// EventType returns subagent.started.
func (SubagentStarted) EventType() string { return TypeSubagentStarted }

// SubagentCompleted ends a sub-agent well.
type SubagentCompleted struct {
	SubagentID    string `json:"subagentId"`
	ResultSummary string `json:"resultSummary,omitempty"`
	Usage         *Usage `json:"usage,omitempty"`
}

// EventType returns subagent.completed.
func (SubagentCompleted) EventType() string { return TypeSubagentCompleted }

// SubagentFailed ends a sub-agent badly.
type SubagentFailed struct {
	SubagentID string `json:"subagentId"`
	Error      string `json:"error,omitempty"`
}

// EventType returns subagent.failed.
func (SubagentFailed) EventType() string { return TypeSubagentFailed }

// SubagentSuspended says that a sub-agent waits.
type SubagentSuspended struct {
	SubagentID string `json:"subagentId"`
	Reason     string `json:"reason,omitempty"`
}

// EventType returns subagent.suspended.
func (SubagentSuspended) EventType() string { return TypeSubagentSuspended }
