package events

// The event types this version knows. Any other dotted name is recorded and
// counted, and yields no operations.
const (
	TypeAgentStarted  = "agent.started"
	TypeAgentDisposed = "agent.disposed"

	TypeTurnStarted = "turn.started"
	TypeTurnEnded   = "turn.ended"

	TypeStepStarted     = "turn.step.started"
	TypeStepCompleted   = "turn.step.completed"
	TypeStepInterrupted = "turn.step.interrupted"
	TypeStepRetrying    = "turn.step.retrying"

	TypeAssistantDelta   = "assistant.delta"
	TypeThinkingDelta    = "thinking.delta"
	TypeAssistantMessage = "assistant.message"
	TypeThinkingMessage  = "thinking.message"
	TypeUserMessage      = "user.message"

	TypeToolCallDelta     = "tool.call.delta"
	TypeToolCallStarted   = "tool.call.started"
	TypeToolCallExecuting = "tool.call.executing"
	TypeToolProgress      = "tool.progress"
	TypeToolResult        = "tool.result"
	TypeTodoUpdated       = "todo.updated"

	TypeTaskStarted    = "task.started"
	TypeTaskTerminated = "task.terminated"
	TypeTaskNotified   = "task.notified"
	TypeShellStarted   = "shell.started"
	TypeShellOutput    = "shell.output"
	TypeShellCompleted = "shell.completed"

	TypeSubagentSpawned   = "subagent.spawned"
	TypeSubagentStarted   = "subagent.started"
	TypeSubagentCompleted = "subagent.completed"
	TypeSubagentFailed    = "subagent.failed"
	TypeSubagentSuspended = "subagent.suspended"

	TypeGoalUpdated          = "goal.updated"
	TypeAgentStatusUpdated   = "agent.status.updated"
	TypeAgentActivityUpdated = "agent.activity.updated"

	TypePlanModeEnter  = "plan_mode.enter"
	TypePlanModeExit   = "plan_mode.exit"
	TypePlanModeCancel = "plan_mode.cancel"
	TypeSwarmModeEnter = "swarm_mode.enter"
	TypeSwarmModeExit  = "swarm_mode.exit"
	TypeTowerModeEnter = "tower_mode.enter"
	TypeTowerModeExit  = "tower_mode.exit"
	TypePlanRevision   = "plan.revision"

	TypePromptSubmitted = "prompt.submitted"
	TypePromptCompleted = "prompt.completed"
	TypePromptAborted   = "prompt.aborted"
	TypePromptSteered   = "prompt.steered"

	TypeInteractionRequest  = "interaction.request"
	TypeInteractionResolved = "interaction.resolved"
	TypeActionDecided       = "action.decided"

	TypeCompactionStarted   = "compaction.started"
	TypeCompactionBlocked   = "compaction.blocked"
	TypeCompactionCancelled = "compaction.cancelled"
	TypeCompactionCompleted = "compaction.completed"

	TypeHookResult             = "hook.result"
	TypeSkillActivated         = "skill.activated"
	TypePluginCommandActivated = "plugin_command.activated"
	TypeCronFired              = "cron.fired"

	TypeContextSpliced = "context.spliced"
	TypeContextUndo    = "context.undo"
	TypeContextClear   = "context.clear"

	TypeError   = "error"
	TypeWarning = "warning"
	TypeSkipped = "steno.skipped"

	// The five facts of the plain-loop family.
	TypeMessage         = "message"
	TypeStateTransition = "state_transition"
	TypeToolLifecycle   = "tool_lifecycle"
	TypeCheckpoint      = "checkpoint"
	TypeTerminal        = "terminal"
)
