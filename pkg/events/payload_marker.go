package events

// CompactionStarted says that the context is about to be compacted.
type CompactionStarted struct {
	Trigger string `json:"trigger,omitempty"`
}

// EventType returns compaction.started.
func (CompactionStarted) EventType() string { return TypeCompactionStarted }

// CompactionBlocked says that it could not be.
type CompactionBlocked struct {
	Reason string `json:"reason,omitempty"`
}

// EventType returns compaction.blocked.
func (CompactionBlocked) EventType() string { return TypeCompactionBlocked }

// CompactionCancelled says that it was given up.
type CompactionCancelled struct {
	Reason string `json:"reason,omitempty"`
}

// EventType returns compaction.cancelled.
func (CompactionCancelled) EventType() string { return TypeCompactionCancelled }

// CompactionCompleted replaces the context before the last
// KeptUserMessageCount user messages by a summary.
type CompactionCompleted struct {
	Summary              string `json:"summary,omitempty"`
	ContextSummary       string `json:"contextSummary,omitempty"`
	KeptUserMessageCount *int   `json:"keptUserMessageCount,omitempty"`
	TokensBefore         *int64 `json:"tokensBefore,omitempty"`
	TokensAfter          *int64 `json:"tokensAfter,omitempty"`
}

// EventType returns compaction.completed.
func (CompactionCompleted) EventType() string { return TypeCompactionCompleted }

// HookResult is what a hook said.
type HookResult struct {
	Name    string `json:"name,omitempty"`
	Event   string `json:"event,omitempty"`
	Output  any    `json:"output,omitempty"`
	IsError bool   `json:"isError,omitempty"`
}

// EventType returns hook.result.
func (HookResult) EventType() string { return TypeHookResult }

// SkillActivated says that a skill was loaded.
type SkillActivated struct {
	Name string `json:"name"`
	Args any    `json:"args,omitempty"`
}

// EventType returns skill.activated.
func (SkillActivated) EventType() string { return TypeSkillActivated }

// PluginCommandActivated says that a plugin's command was used.
type PluginCommandActivated struct {
	Name string `json:"name"`
	Args any    `json:"args,omitempty"`
}

// EventType returns plugin_command.activated.
func (PluginCommandActivated) EventType() string { return TypePluginCommandActivated }

// CronFired says that a scheduled job began.
type CronFired struct {
	JobID string `json:"jobId,omitempty"`
	Name  string `json:"name,omitempty"`
}

// EventType returns cron.fired.
func (CronFired) EventType() string { return TypeCronFired }

// ContextSpliced reports an edit of the context.
type ContextSpliced struct {
	Start       int `json:"start"`
	DeleteCount int `json:"deleteCount"`
	Messages    any `json:"messages,omitempty"`
}

// EventType returns context.spliced.
func (ContextSpliced) EventType() string { return TypeContextSpliced }

// ContextUndo takes back the last Count turns of the user.
type ContextUndo struct {
	Count int `json:"count"`
}

// EventType returns context.undo.
func (ContextUndo) EventType() string { return TypeContextUndo }

// ContextClear empties the context.
type ContextClear struct{}

// EventType returns context.clear.
func (ContextClear) EventType() string { return TypeContextClear }

// Error reports an error outside of a turn's end.
type Error struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	Detail  any    `json:"detail,omitempty"`
}

// EventType returns error.
func (Error) EventType() string { return TypeError }

// Warning reports what is not quite an error.
type Warning struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	Detail  any    `json:"detail,omitempty"`
}

// EventType returns warning.
func (Warning) EventType() string { return TypeWarning }

// Skipped stands in the place of an event that could not be stored.
type Skipped struct {
	N      uint64 `json:"n,omitempty"`
	Type   string `json:"event_type"`
	Reason string `json:"reason"`
}

// EventType returns steno.skipped.
func (Skipped) EventType() string { return TypeSkipped }
