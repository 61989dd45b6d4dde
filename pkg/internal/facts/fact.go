// Package facts reads an agent's admitted events, with the operations that the
// tree made of them, as one stream of facts: messages, tool calls,
// checkpoints, ends. Both families of events, and a mixture of them, yield the
// same facts for the same story. Resume state and session memory are folds of
// this stream.
package facts

import (
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// Input is one admitted event with what the tree made of it.
type Input struct {
	Seq    uint64
	Event  *events.Event
	Run    string // the run it counts under
	Late   bool   // it belongs to an older run: only its calls count
	Ops    []reducer.Op
	Undone int // the tree took back the turns from this one on; -1 none
}

// Kind says what a Fact is about.
type Kind int

// The kinds of facts, and the fields they use beside Run, Seq, EventID and
// Step.
const (
	Message    Kind = iota + 1 // Role, Content, Metadata, Blobs, Calls, CallID, Recovered, Source, Action, StepKey, Turn, Live
	Begun                      // StepKey, Turn: a live step has its first content; its message will stand here
	Final                      // StepKey, Text: the turn ended completed behind this step
	Undone                     // Turn: turns from this one on are taken back
	Call                       // CallID, Name, Status, Args, Result, Error
	Withdrawn                  // CallID: a retry took back what was only streamed
	Decided                    // CallID, OfRun, Status (done, failed, retry), Result, By, Text (note)
	Approval                   // CallID, ID (of the interaction), Status (approved, refused)
	Checkpoint                 // ID, Content (payload), Text (summary), Retain…, Runtime
	Terminal                   // Content (payload), Text (reason)
	Transition                 // Text (reason), Content (details)
	Goal                       // Text (objective), Status; Status "" when it was cleared
	Todos                      // Todos
	Plan                       // Text (path), Turn (version)
	Child                      // ID (agent), CallID, Name, Status (spawned, running, completed, failed), Text
	TurnFailed                 // ID (turn), Text (error)
)

// Fact is one fact. What it points to is not modified afterwards, but may
// alias the event: who keeps it copies.
type Fact struct {
	Kind    Kind
	Run     string
	Seq     uint64
	EventID string
	Step    int
	Late    bool

	ID      string
	Text    string
	Status  string
	Name    string
	CallID  string
	OfRun   string
	By      string
	Turn    int
	StepKey string
	Todos   []reducer.TodoItem

	Role      string
	Content   reducer.Raw
	Metadata  reducer.Raw
	Blobs     []events.Blob
	Calls     []MessageCall
	Recovered bool
	Live      bool // read out of the live family
	Over      bool // a live step's message that is longer than a history may be
	Source    string
	Action    string

	Args   reducer.Raw
	Result reducer.Raw
	Error  *Error

	// What the fact did to its call, by the table of calls in pkg/resume: its
	// class before and after, empty when there was or is none.
	Was, Is string

	RetainEvent string
	RetainIndex int // -1 absent
	RetainUsers int // -1 absent
	Runtime     reducer.Raw
}

// MessageCall is a tool call that an assistant message asks for.
type MessageCall struct {
	ID, Name string
	Args     reducer.Raw
}

// Error is why a call failed.
type Error struct{ Code, Message string }

// The states of a call, as lifecycle facts report them.
const (
	Requested = "requested"
	Started   = "started"
	Completed = "completed"
	Failed    = "failed"
)
