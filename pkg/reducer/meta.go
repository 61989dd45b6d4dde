package reducer

// Meta is the agent's present condition.
type Meta struct {
	Goal     *Goal
	Modes    *Modes
	Activity string // idle, turn, disposing, unknown; "" absent
	Agent    *AgentMeta
}

// Goal is what the agent works towards.
type Goal struct {
	Objective           string
	Status              string // active, paused, blocked, complete
	CompletionCriterion Opt[string]
	BudgetUsed          Opt[float64]
	BudgetLimit         Opt[float64]
}

// Modes holds the modes that are on; a nil one is off.
type Modes struct {
	Plan  *PlanMode
	Swarm *SwarmMode
	Tower *TowerMode
}

// PlanMode refers to the plan under review.
type PlanMode struct {
	ReviewPath Opt[string]
	Version    Opt[float64]
}

// SwarmMode says what started the swarm.
type SwarmMode struct{ Trigger Opt[string] }

// TowerMode has no fields.
type TowerMode struct{}

// AgentMeta is the agent's model and load. Usage members are opaque.
type AgentMeta struct {
	Model            Opt[string]
	ThinkingEffort   Opt[string]
	Usage            *AgentUsage
	ContextTokens    Opt[float64]
	MaxContextTokens Opt[float64]
	ContextUsage     Opt[float64]
	Permission       string // manual, yolo, auto; "" absent
	Phase            *Phase
}

// AgentUsage passes the runtime's own counters through.
type AgentUsage struct{ ByModel, CurrentTurn, Total Raw }

// Phase is a union by Kind (idle, running, streaming, tool_call, retrying,
// awaiting_approval, interrupted, ended); Since and At are epoch milliseconds.
type Phase struct {
	Kind          string
	TurnID        Opt[float64]
	Step          Opt[float64]
	StepID        Opt[string]
	Since, At     Opt[float64]
	Stream        string // assistant, thinking, tool_call
	ToolCallID    Opt[string]
	ToolName      Opt[string] // streaming
	Name          Opt[string] // tool_call
	FailedAttempt Opt[float64]
	NextAttempt   Opt[float64]
	MaxAttempts   Opt[float64]
	DelayMs       Opt[float64]
	ErrorName     Opt[string]
	StatusCode    Opt[float64]
	Approval      Raw
	Reason        Opt[string]
	Message       Opt[string]
	DurationMs    Opt[float64]
}

// MetaPatch is the argument of meta.merge. Goal and each mode: Keep leaves it,
// Clear removes it, Set replaces it. Activity "" keeps. Agent is merged one
// level deep; nil keeps.
type MetaPatch struct {
	Goal     Patch[Goal]
	Modes    *ModesPatch
	Activity string
	Agent    *AgentMeta
}

// ModesPatch patches each mode by itself.
type ModesPatch struct {
	Plan  Patch[PlanMode]
	Swarm Patch[SwarmMode]
	Tower Patch[TowerMode]
}

// Patch is absent (the zero Patch), null (Clear) or a value (To).
type Patch[T any] struct {
	Clear bool
	To    *T
}
