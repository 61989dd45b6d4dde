package reducer

// The entities of one agent's transcript. Field names and JSON names are the
// wire contract of docs/transcript.md. In every entity the empty string means
// absence for ids, times, enums and Raw values (none of them can be empty);
// free text and numbers that may be absent are Opt. Times are RFC 3339 UTC with
// milliseconds. Entities reached through a Snapshot or an Op are immutable:
// whoever wants another value copies first.

// Turn is one exchange: what opened it and the steps the agent took.
type Turn struct {
	TurnID        string
	Ordinal       int // monotonic per agent; the page cursor
	State         TurnState
	Origin        Origin
	Prompt        Opt[string]
	AttachmentIDs []string
	Steps         []*Step // nil in an operation: turn.upsert carries the header only
	StartedAt     string
	EndedAt       string
	Usage         *TurnUsage
	DurationMs    Opt[float64]
	Error         Opt[string]
	HasMoreSteps  bool // older steps exist beyond this window
}

// TurnState is a closed set.
type TurnState string

// The turn states.
const (
	TurnQueued    TurnState = "queued"
	TurnRunning   TurnState = "running"
	TurnCompleted TurnState = "completed"
	TurnFailed    TurnState = "failed"
	TurnCancelled TurnState = "cancelled"
)

// Origin says what opened a turn.
type Origin struct {
	Kind    OriginKind
	TaskID  string // required for task, optional for cron
	Payload Raw
}

// OriginKind is a closed set.
type OriginKind string

// The origin kinds.
const (
	OriginUser       OriginKind = "user"
	OriginCron       OriginKind = "cron"
	OriginTask       OriginKind = "task"
	OriginHook       OriginKind = "hook"
	OriginCompaction OriginKind = "compaction"
	OriginSide       OriginKind = "side"
	OriginOther      OriginKind = "other"
)

// TurnUsage is the sum over a turn's steps. Cost is in USD.
type TurnUsage struct {
	InputTokens, OutputTokens, CachedTokens Opt[float64]
	Cost                                    Opt[float64]
}

// Step is one call of the model and the tools it asked for.
type Step struct {
	StepID       string
	TurnID       string
	Ordinal      int // from 1
	State        StepState
	Frames       []*Frame // nil in an operation: step.upsert carries the header only
	StartedAt    string
	EndedAt      string
	Usage        *StepUsage
	Model        Opt[string]
	Cost         Opt[float64]
	FinishReason Opt[string]
	Timing       *StepTiming
	Retry        *StepRetry
	EndReason    Opt[string]
	EndMessage   Opt[string]
}

// StepState is a closed set.
type StepState string

// The step states.
const (
	StepRunning     StepState = "running"
	StepCompleted   StepState = "completed"
	StepInterrupted StepState = "interrupted"
	StepFailed      StepState = "failed"
)

// StepUsage counts tokens of one model call; a missing component is 0.
type StepUsage struct {
	InputOther, Output, InputCacheRead, InputCacheCreation float64
}

// StepTiming holds latencies in milliseconds.
type StepTiming struct {
	LLMFirstTokenLatencyMs, LLMStreamDurationMs, LLMRequestBuildMs Opt[float64]
	LLMServerFirstTokenMs, LLMServerDecodeMs, LLMClientConsumeMs   Opt[float64]
}

// StepRetry describes the retry a running step waits for; a missing number is
// 0 and a missing name "".
type StepRetry struct {
	FailedAttempt, NextAttempt, MaxAttempts, DelayMs float64
	ErrorName, ErrorMessage                          string
	StatusCode                                       Opt[float64]
}

// Frame is one visible piece of a step: a union by Kind. Fields of other kinds
// are zero.
type Frame struct {
	Kind    FrameKind
	FrameID string

	// text (Role, AttachmentIDs, TaskID, TextBlob too) and thinking
	Text          string // may hold WTF-8 surrogate halves inside the fold; U+FFFD on output
	Role          FrameRole
	AttachmentIDs []string
	TextBlob      *BlobRef
	TaskID        string // text and tool

	// tool
	ToolCallID string
	Name       string
	View       string
	State      ToolState
	Input      Raw
	Output     Raw
	Display    Raw
	Error      Opt[string]
	InputText  Opt[string]
	Progress   *Progress
	ApprovalID string
	TodoID     string
	AgentRefs  []AgentRef
	InputBlob  *BlobRef
	OutputBlob *BlobRef

	// notice
	Level   NoticeLevel
	Source  string
	Message string
	Detail  Raw
}

// FrameKind is a closed set.
type FrameKind string

// The frame kinds.
const (
	FrameText     FrameKind = "text"
	FrameThinking FrameKind = "thinking"
	FrameTool     FrameKind = "tool"
	FrameNotice   FrameKind = "notice"
)

// FrameRole is a closed set.
type FrameRole string

// The roles of text frames.
const (
	RoleAssistant FrameRole = "assistant"
	RoleUser      FrameRole = "user"
)

// ToolState is a closed set.
type ToolState string

// The tool frame states.
const (
	ToolRunning ToolState = "running"
	ToolDone    ToolState = "done"
	ToolError   ToolState = "error"
)

// NoticeLevel is a closed set.
type NoticeLevel string

// The notice levels.
const (
	LevelError   NoticeLevel = "error"
	LevelWarning NoticeLevel = "warning"
	LevelInfo    NoticeLevel = "info"
)

// Progress is the latest word of a running tool. Kind is one of stdout,
// stderr, progress, status, custom.
type Progress struct {
	Kind       string
	Text       Opt[string]
	Percent    Opt[float64]
	CustomKind Opt[string]
	CustomData Raw
}

// AgentRef links a tool frame to an agent it spawned. Role is child or member.
type AgentRef struct{ AgentID, Role string }

// BlobRef points to a large value stored under its SHA-256 (hex). Size is in
// bytes.
type BlobRef struct {
	SHA256    string
	Size      int64
	MediaType string
}

// Marker is a fact that stands between turns.
type Marker struct {
	MarkerID string
	Marker   string // open set, see docs/transcript.md
	Payload  Raw
	At       string
}

// TaskRef shows where in the timeline a task began.
type TaskRef struct{ RefID, TaskID, At string }

// Item is one entry of the timeline; exactly one field is set.
type Item struct {
	Turn    *Turn
	Marker  *Marker
	TaskRef *TaskRef
}

// ID returns the id of whichever the item is.
func (it Item) ID() string {
	switch {
	case it.Turn != nil:
		return it.Turn.TurnID
	case it.Marker != nil:
		return it.Marker.MarkerID
	case it.TaskRef != nil:
		return it.TaskRef.RefID
	}
	return ""
}

// Task is work beside the turns: a shell command, a sub-agent.
type Task struct {
	TaskID        string
	Kind          string // shell, subagent, tool, other
	State         string // running, completed, failed, timed_out, killed, lost
	Detached      bool
	Description   Opt[string]
	AgentID       string
	OutputTail    string
	StartedAt     string
	EndedAt       string
	ResultSummary Opt[string]
	Error         Opt[string]
	StateReason   Opt[string]
	Usage         *StepUsage
}

// Interaction is a question put to a person.
type Interaction struct {
	InteractionID   string
	InteractionKind string // approval, question
	ToolCallID      string
	State           string // pending, approved, rejected, cancelled, answered, dismissed
	Request         Raw
	Response        Raw
}

// Attachment is the metadata of a file; bytes never travel in operations.
type Attachment struct {
	AttachmentID string
	MediaType    string
	Name         Opt[string]
	Size         Opt[float64]
	Source       *AttachmentSource
	Placeholder  Opt[string]
}

// AttachmentSource says where the bytes are: Kind url (URL), file or
// session_media (FileID, the SHA-256 of a blob).
type AttachmentSource struct{ Kind, URL, FileID string }

// Todo is one todo document.
type Todo struct {
	TodoID    string
	Items     []TodoItem
	UpdatedAt string
}

// TodoItem has Status pending, in_progress or done.
type TodoItem struct{ Title, Status string }

// Prompt is an input waiting for, or given to, the agent.
type Prompt struct {
	PromptID      string
	Status        string // running, queued, blocked, completed, failed, aborted
	UserMessageID string
	Content       Raw
	CreatedAt     string
	FinishedAt    string
	SteeredAt     string
}

// AgentDescriptor is one row of a session's roster.
type AgentDescriptor struct {
	AgentID          string
	Type             string // main, sub, independent
	ParentAgentID    string
	ParentToolCallID string
	Label            Opt[string]
	CreatedAt        string
	DisposedAt       string
	State            string
	Live             Opt[bool]
}
