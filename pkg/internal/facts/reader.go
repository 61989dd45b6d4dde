package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// The bounds of a Reader's state.
const (
	maxSteps     = 64      // steps whose content is kept
	maxTurns     = 64      // turns whose numbers are kept
	maxPending   = 1000    // interactions and withheld calls
	maxName      = 4096    // bytes of the ids of an interaction
	defaultLimit = 1 << 19 // bytes of a step's content
)

// Reader turns inputs into facts. The zero value, with Limit set, is that of
// an empty log.
type Reader struct {
	// Limit bounds the content of a step that is kept, in bytes; 0 is 512 KiB.
	// What is longer than a history may be makes no message.
	Limit int

	run       string
	executing bool // the current run uses tool.call.executing
	step      int  // the current one
	steps     []*step
	size      int     // bytes of their content
	turns     []*turn // by ordinal
	nextTurn  int
	pending   []pending
	withheld  []callKey // calls that begin when an approval is given

	settle bool // a step may have to be reported
	facts  []Fact
	in     Input
}

type callKey struct{ run, id string }

// pending is an interaction that waits.
type pending struct {
	id, kind string
	call     string
	run      string
}

// turn is what is known of a turn.
type turn struct {
	ordinal int
	running bool
	prompt  string // of the newest running turn
	highest int    // step
}

// Read returns the facts of one input. The slice is valid until the next call.
func (r *Reader) Read(in Input) []Fact {
	r.facts, r.in = r.facts[:0], in
	if in.Run != "" && in.Run != r.run && !in.Late {
		r.run, r.executing = strings.Clone(in.Run), false
	}
	if !in.Late {
		// What a new run closes comes first, then the event itself, then the
		// end of what it ended.
		r.operations(in.Ops)
		if in.Undone >= 0 {
			r.undo(in.Undone)
		}
	}
	r.event(in.Event)
	if !in.Late {
		r.finish()
	}
	r.in = Input{}
	return r.facts
}

// add appends a fact with what all have in common, and returns it. The
// pointer is valid until the next add.
func (r *Reader) add(kind Kind) *Fact {
	r.facts = append(r.facts, Fact{
		Kind: kind, Run: r.in.Run, Seq: r.in.Seq, EventID: eventID(r.in), Late: r.in.Late,
		Step: r.stepOf(), RetainIndex: -1, RetainUsers: -1, Turn: -1,
	})
	return &r.facts[len(r.facts)-1]
}

func (r *Reader) stepOf() int {
	if r.in.Event.HasStep {
		return r.in.Event.Step
	}
	return r.step
}

// OpenTurn describes the newest turn that runs.
type OpenTurn struct {
	Ordinal  int
	NextStep int
	Prompt   string
}

// OpenTurn returns the newest turn that runs; ok is false when none does.
func (r *Reader) OpenTurn() (t OpenTurn, ok bool) {
	for _, v := range slices.Backward(r.turns) {
		if one := v; one.running {
			return OpenTurn{one.ordinal, one.highest + 1, one.prompt}, true
		}
	}
	return t, false
}

// NextTurn is the number that the next turn gets.
func (r *Reader) NextTurn() int { return r.nextTurn }

// Step is the number of the current step.
func (r *Reader) Step() int { return r.step }

// Pending returns the ids of the interactions that wait, oldest first.
func (r *Reader) Pending() []string {
	ids := make([]string, 0, len(r.pending))
	for _, p := range r.pending {
		ids = append(ids, p.id)
	}
	return ids
}

// Unfinished returns the messages of steps that have content and no end yet,
// as they would be if they ended now. Find one by its StepKey.
func (r *Reader) Unfinished() []Fact {
	var list []Fact
	for _, s := range r.steps {
		if s.begun && !s.ended && !s.fact {
			list = append(list, s.message())
		}
	}
	return list
}

// event reads the event itself.
func (r *Reader) event(ev *events.Event) {
	switch ev.Type {
	case events.TypeAssistantDelta, events.TypeThinkingDelta:
		return // all of them is in the operations
	case events.TypeToolCallDelta, events.TypeToolCallStarted, events.TypeToolCallExecuting, events.TypeToolResult,
		events.TypeToolLifecycle, events.TypeActionDecided:
		r.callEvent(ev)
		if ev.Type == events.TypeToolResult && !r.in.Late {
			r.resultMessage(ev)
		}
		return
	}
	if r.in.Late {
		return
	}
	switch ev.Type {
	case events.TypeTurnStarted, events.TypeUserMessage, events.TypePromptSteered:
		r.userEvent(ev)
	case events.TypeTurnEnded, events.TypeTerminal, events.TypeStateTransition:
		r.loopEvent(ev)
	case events.TypeMessage:
		r.factMessage(ev)
	case events.TypeCheckpoint, events.TypeCompactionCompleted:
		r.checkpointEvent(ev)
	case events.TypeGoalUpdated, events.TypePlanRevision:
		r.goalEvent(ev)
	case events.TypeSubagentSpawned, events.TypeSubagentStarted, events.TypeSubagentSuspended,
		events.TypeSubagentCompleted, events.TypeSubagentFailed:
		r.childEvent(ev)
	}
}

func turnOrdinal(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "t"))
	if err != nil {
		return -1
	}
	return n
}

// turnOf returns the ordinal of the turn that the input's operations are
// about, else that of the newest turn.
func (r *Reader) turnOf() int {
	for i := range r.in.Ops {
		if op := &r.in.Ops[i]; op.Kind == reducer.OpTurnUpsert && op.Turn.State == reducer.TurnRunning {
			return op.Turn.Ordinal
		}
	}
	if len(r.turns) > 0 {
		return r.turns[len(r.turns)-1].ordinal
	}
	return -1
}
