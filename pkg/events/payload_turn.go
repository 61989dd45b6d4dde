package events

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// AgentStarted introduces the agent of the log.
type AgentStarted struct {
	Type             string `json:"type,omitempty"` // main, sub, independent
	ParentAgentID    string `json:"parentAgentId,omitempty"`
	ParentToolCallID string `json:"parentToolCallId,omitempty"`
	Label            string `json:"label,omitempty"`
}

// EventType returns agent.started.
func (AgentStarted) EventType() string { return TypeAgentStarted }

// AgentDisposed says that the agent ended for good.
type AgentDisposed struct {
	Reason string `json:"reason,omitempty"`
}

// EventType returns agent.disposed.
func (AgentDisposed) EventType() string { return TypeAgentDisposed }

// TurnStarted opens a turn.
type TurnStarted struct {
	TurnID      *int         `json:"turnId,omitempty"` // absent: the next number
	Origin      any          `json:"origin,omitempty"` // an object with a kind
	Prompt      *string      `json:"prompt,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// EventType returns turn.started.
func (TurnStarted) EventType() string { return TypeTurnStarted }

// Attachment describes a file that came with a prompt or message; exactly one
// of URL, FileID and SHA256 says where its bytes are.
type Attachment struct {
	Kind      string `json:"kind,omitempty"` // image, video, audio
	MediaType string `json:"mediaType,omitempty"`
	Name      string `json:"name,omitempty"`
	Size      *int64 `json:"size,omitempty"` // bytes
	URL       string `json:"url,omitempty"`
	FileID    string `json:"fileId,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
}

// TurnEnded closes a turn.
type TurnEnded struct {
	TurnID          *int     `json:"turnId,omitempty"`
	Reason          string   `json:"reason"`          // completed, cancelled, failed, blocked
	Error           any      `json:"error,omitempty"` // a string or ErrorInfo
	DurationMs      *float64 `json:"durationMs,omitempty"`
	InterruptReason string   `json:"interruptReason,omitempty"` // such as user_cancelled
}

// EventType returns turn.ended.
func (TurnEnded) EventType() string { return TypeTurnEnded }

// ErrorInfo is an error with its code.
type ErrorInfo struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// StepStarted opens a step: one call of the model.
type StepStarted struct {
	TurnID *int `json:"turnId,omitempty"`
	Step   *int `json:"step,omitempty"` // from 1; absent: the next number
}

// EventType returns turn.step.started.
func (StepStarted) EventType() string { return TypeStepStarted }

// StepCompleted closes a step.
type StepCompleted struct {
	TurnID               *int     `json:"turnId,omitempty"`
	Step                 *int     `json:"step,omitempty"`
	Usage                *Usage   `json:"usage,omitempty"`
	Model                string   `json:"model,omitempty"`
	Cost                 *float64 `json:"cost,omitempty"` // USD
	FinishReason         string   `json:"finishReason,omitempty"`
	RawFinishReason      string   `json:"rawFinishReason,omitempty"`
	ProviderFinishReason string   `json:"providerFinishReason,omitempty"`

	LLMFirstTokenLatencyMs *float64 `json:"llmFirstTokenLatencyMs,omitempty"`
	LLMStreamDurationMs    *float64 `json:"llmStreamDurationMs,omitempty"`
	LLMRequestBuildMs      *float64 `json:"llmRequestBuildMs,omitempty"`
	LLMServerFirstTokenMs  *float64 `json:"llmServerFirstTokenMs,omitempty"`
	LLMServerDecodeMs      *float64 `json:"llmServerDecodeMs,omitempty"`
	LLMClientConsumeMs     *float64 `json:"llmClientConsumeMs,omitempty"`
}

// EventType returns turn.step.completed.
func (StepCompleted) EventType() string { return TypeStepCompleted }

// Usage counts the tokens of one model call.
type Usage struct {
	InputOther         int64 `json:"inputOther"`
	Output             int64 `json:"output"`
	InputCacheRead     int64 `json:"inputCacheRead"`
	InputCacheCreation int64 `json:"inputCacheCreation"`
}

// StepInterrupted ends a step before its time.
type StepInterrupted struct {
	TurnID  *int   `json:"turnId,omitempty"`
	Step    *int   `json:"step,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// EventType returns turn.step.interrupted.
func (StepInterrupted) EventType() string { return TypeStepInterrupted }

// StepRetrying says that the model call failed and will be repeated.
type StepRetrying struct {
	TurnID        *int   `json:"turnId,omitempty"`
	Step          *int   `json:"step,omitempty"`
	FailedAttempt int    `json:"failedAttempt"`
	NextAttempt   int    `json:"nextAttempt"`
	MaxAttempts   int    `json:"maxAttempts"`
	DelayMs       int64  `json:"delayMs"`
	ErrorName     string `json:"errorName"`
	ErrorMessage  string `json:"errorMessage"`
	StatusCode    *int   `json:"statusCode,omitempty"`
}

// EventType returns turn.step.retrying.
func (StepRetrying) EventType() string { return TypeStepRetrying }

// AssistantDelta adds to the answer. Text may be cut anywhere; half of a
// surrogate pair is WTF-8.
type AssistantDelta struct {
	TurnID *int   `json:"turnId,omitempty"`
	Step   *int   `json:"step,omitempty"`
	Delta  string `json:"delta"`
}

// EventType returns assistant.delta.
func (AssistantDelta) EventType() string { return TypeAssistantDelta }

func (p AssistantDelta) appendPayload(dst []byte) []byte {
	return appendDelta(dst, p.TurnID, p.Step, p.Delta)
}

// ThinkingDelta adds to the reasoning, as AssistantDelta to the answer.
type ThinkingDelta struct {
	TurnID *int   `json:"turnId,omitempty"`
	Step   *int   `json:"step,omitempty"`
	Delta  string `json:"delta"`
}

// EventType returns thinking.delta.
func (ThinkingDelta) EventType() string { return TypeThinkingDelta }

func (p ThinkingDelta) appendPayload(dst []byte) []byte {
	return appendDelta(dst, p.TurnID, p.Step, p.Delta)
}

func appendDelta(dst []byte, turn, step *int, delta string) []byte {
	dst = appendWhere(append(dst, '{'), turn, step)
	dst = append(dst, `"delta":`...)
	return append(scan.AppendQuoteWTF8(dst, delta), '}')
}

// appendWhere appends the members that say where content belongs.
func appendWhere(dst []byte, turn, step *int) []byte {
	if turn != nil {
		dst = append(strconv.AppendInt(append(dst, `"turnId":`...), int64(*turn), 10), ',')
	}
	if step != nil {
		dst = append(strconv.AppendInt(append(dst, `"step":`...), int64(*step), 10), ',')
	}
	return dst
}

// AssistantMessage is the whole answer; it corrects what was streamed.
type AssistantMessage struct {
	TurnID      *int         `json:"turnId,omitempty"`
	Step        *int         `json:"step,omitempty"`
	Text        string       `json:"text"`
	Frame       *int         `json:"frame,omitempty"` // from 1: which text of the step it is
	Attachments []Attachment `json:"attachments,omitempty"`
}

// EventType returns assistant.message.
func (AssistantMessage) EventType() string { return TypeAssistantMessage }

// ThinkingMessage is the whole reasoning, as AssistantMessage the answer.
type ThinkingMessage struct {
	TurnID *int   `json:"turnId,omitempty"`
	Step   *int   `json:"step,omitempty"`
	Text   string `json:"text"`
	Frame  *int   `json:"frame,omitempty"`
}

// EventType returns thinking.message.
func (ThinkingMessage) EventType() string { return TypeThinkingMessage }

// UserMessage is text a person or program put into the running step.
type UserMessage struct {
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	TaskID      string       `json:"taskId,omitempty"`
}

// EventType returns user.message.
func (UserMessage) EventType() string { return TypeUserMessage }
