package events

// GoalUpdated states the goal; a nil Snapshot clears it.
type GoalUpdated struct {
	Snapshot *GoalSnapshot `json:"snapshot"`
}

// EventType returns goal.updated.
func (GoalUpdated) EventType() string { return TypeGoalUpdated }

// GoalSnapshot has Status active, paused, blocked or complete.
type GoalSnapshot struct {
	Objective           string     `json:"objective"`
	Status              string     `json:"status"`
	CompletionCriterion string     `json:"completionCriterion,omitempty"`
	TokensUsed          int64      `json:"tokensUsed"`
	Budget              GoalBudget `json:"budget"`
}

// GoalBudget limits a goal; nil is no limit.
type GoalBudget struct {
	TokenBudget *int64 `json:"tokenBudget"`
}

// AgentStatusUpdated reports what changed of the agent's condition.
type AgentStatusUpdated struct {
	PlanMode         *bool    `json:"planMode,omitempty"`
	SwarmMode        *bool    `json:"swarmMode,omitempty"`
	TowerMode        *bool    `json:"towerMode,omitempty"`
	Model            string   `json:"model,omitempty"`
	ThinkingEffort   string   `json:"thinkingEffort,omitempty"`
	Usage            any      `json:"usage,omitempty"` // {byModel?, currentTurn?, total?}
	ContextTokens    *float64 `json:"contextTokens,omitempty"`
	MaxContextTokens *float64 `json:"maxContextTokens,omitempty"`
	ContextUsage     *float64 `json:"contextUsage,omitempty"`
	Permission       string   `json:"permission,omitempty"` // manual, yolo, auto
}

// EventType returns agent.status.updated.
func (AgentStatusUpdated) EventType() string { return TypeAgentStatusUpdated }

// AgentActivityUpdated reports what the agent does at the moment. Lifecycle is
// the detailed form, from which the phase is derived; else Activity and Phase
// are taken as they are.
type AgentActivityUpdated struct {
	Lifecycle  string `json:"lifecycle,omitempty"`
	Turn       any    `json:"turn,omitempty"`
	LastTurn   any    `json:"lastTurn,omitempty"`
	Background any    `json:"background,omitempty"`
	Activity   string `json:"activity,omitempty"` // idle, turn, disposing, unknown
	Phase      any    `json:"phase,omitempty"`
}

// EventType returns agent.activity.updated.
func (AgentActivityUpdated) EventType() string { return TypeAgentActivityUpdated }

// PlanModeEnter turns plan mode on.
type PlanModeEnter struct{}

// EventType returns plan_mode.enter.
func (PlanModeEnter) EventType() string { return TypePlanModeEnter }

// PlanModeExit turns plan mode off.
type PlanModeExit struct{}

// EventType returns plan_mode.exit.
func (PlanModeExit) EventType() string { return TypePlanModeExit }

// PlanModeCancel turns plan mode off without a plan.
type PlanModeCancel struct{}

// EventType returns plan_mode.cancel.
func (PlanModeCancel) EventType() string { return TypePlanModeCancel }

// SwarmModeEnter turns swarm mode on.
type SwarmModeEnter struct {
	Trigger string `json:"trigger,omitempty"`
}

// EventType returns swarm_mode.enter.
func (SwarmModeEnter) EventType() string { return TypeSwarmModeEnter }

// SwarmModeExit turns swarm mode off.
type SwarmModeExit struct{}

// EventType returns swarm_mode.exit.
func (SwarmModeExit) EventType() string { return TypeSwarmModeExit }

// TowerModeEnter turns tower mode on.
type TowerModeEnter struct{}

// EventType returns tower_mode.enter.
func (TowerModeEnter) EventType() string { return TypeTowerModeEnter }

// TowerModeExit turns tower mode off.
type TowerModeExit struct{}

// EventType returns tower_mode.exit.
func (TowerModeExit) EventType() string { return TypeTowerModeExit }

// PlanRevision is a new version of the plan.
type PlanRevision struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
}

// EventType returns plan.revision.
func (PlanRevision) EventType() string { return TypePlanRevision }

// PromptSubmitted is an input given to the agent. Times are RFC 3339; absent
// ones are the event's.
type PromptSubmitted struct {
	PromptID      string `json:"promptId"`
	UserMessageID string `json:"userMessageId,omitempty"`
	Status        string `json:"status"` // running, queued, blocked
	Content       any    `json:"content,omitempty"`
	CreatedAt     string `json:"createdAt,omitempty"`
}

// EventType returns prompt.submitted.
func (PromptSubmitted) EventType() string { return TypePromptSubmitted }

// PromptCompleted ends a prompt; Reason is completed, failed or blocked.
type PromptCompleted struct {
	PromptID   string `json:"promptId"`
	FinishedAt string `json:"finishedAt,omitempty"`
	Reason     string `json:"reason"`
}

// EventType returns prompt.completed.
func (PromptCompleted) EventType() string { return TypePromptCompleted }

// PromptAborted withdraws a prompt.
type PromptAborted struct {
	PromptID  string `json:"promptId"`
	AbortedAt string `json:"abortedAt,omitempty"`
}

// EventType returns prompt.aborted.
func (PromptAborted) EventType() string { return TypePromptAborted }

// PromptSteered joins queued prompts into the active one.
type PromptSteered struct {
	ActivePromptID string   `json:"activePromptId"`
	PromptIDs      []string `json:"promptIds"`
	Content        any      `json:"content"`
	SteeredAt      string   `json:"steeredAt,omitempty"`
}

// EventType returns prompt.steered.
func (PromptSteered) EventType() string { return TypePromptSteered }

// InteractionRequest asks a person; Kind is approval or question.
type InteractionRequest struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Request    any    `json:"request,omitempty"`
}

// EventType returns interaction.request.
func (InteractionRequest) EventType() string { return TypeInteractionRequest }

// InteractionResolved is the answer; nil dismisses a question.
type InteractionResolved struct {
	ID       string `json:"id"`
	Response any    `json:"response"`
}

// EventType returns interaction.resolved.
func (InteractionResolved) EventType() string { return TypeInteractionResolved }

// ActionDecided is what a person decided about an uncertain call: done, failed
// or retry.
type ActionDecided struct {
	RunID      string `json:"run_id"`
	ToolCallID string `json:"toolCallId"`
	Decision   string `json:"decision"`
	Result     any    `json:"result,omitempty"`
	By         string `json:"by,omitempty"`
	Note       string `json:"note,omitempty"`
}

// EventType returns action.decided.
func (ActionDecided) EventType() string { return TypeActionDecided }
