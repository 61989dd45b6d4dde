// Package resume derives from an agent's log the state that a runtime needs to
// go on after a crash: the conversation in a form that a model accepts, every
// tool call with what is known of it, and where the loop stood. It is a pure
// fold; continuing from an encoded state gives the same as folding from the
// start.
package resume

import (
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/internal/facts"
	"github.com/stenohq/steno/pkg/reducer"
)

// The bounds of a Fold that is not Whole.
const (
	MaxHistory      = 512 << 10 // bytes of messages
	maxCallBytes    = 512 << 10 // of tool calls
	maxSettledBytes = 128 << 10 // of those completed or failed
	maxUnsettled    = 1000      // calls neither completed nor failed
	maxSettled      = 1000      // calls that are
	maxChildren     = 1000
	maxCallID       = 4096      // bytes of the call that spawned a child
	maxRuntime      = 256 << 10 // bytes of runtime state
)

// Options choose what a Fold keeps.
type Options struct {
	Session events.SessionID
	Agent   events.AgentID

	// Run limits the fold to one run: its messages, its calls. Empty is the
	// whole session.
	Run string
	// Whole keeps all messages and calls, however many.
	Whole bool
}

// Fold is the resume state as it grows with the log. One goroutine uses it at
// a time.
type Fold struct {
	opt    Options
	reader facts.Reader

	lastSeq uint64
	run     string // the current one

	messages  []*message
	places    map[string]*message // those of live steps, by step key
	nextIndex int                 // of the next recorded message
	dropped   int                 // messages before the first that is kept
	size      int                 // bytes of messages
	users     int
	step      int // the largest seen

	lastMessage, lastEnd uint64 // seq, in the current run
	checkpoint           reducer.Raw
	summary              string
	retained             int // index of the first message the last checkpoint kept
	terminal             reducer.Raw
	transition           string
	details              reducer.Raw
	runtime              []keyed

	calls    callTable
	children []child
	leftOut  int // events that could not be folded whole
}

// keyed is one member of the runtime state.
type keyed struct {
	key   string
	value reducer.Raw
}

type child struct{ agent, call, state string }

// message is one message of the conversation, or the place of one that a live
// step will leave.
type message struct {
	index     int
	seq       uint64
	eventID   string
	run       string
	turn      int // -1 none
	stepKey   string
	role      string // "" while the step has no content
	content   reducer.Raw
	metadata  reducer.Raw
	blobs     []events.Blob
	calls     []facts.MessageCall
	callID    string // of a tool message
	recovered bool
	live      bool
	failed    bool // a live tool message of a failed call
}

// New returns the fold of an empty log.
func New(opt Options) *Fold {
	f := &Fold{opt: opt, run: opt.Run, places: map[string]*message{}}
	f.calls.whole = opt.Whole
	if opt.Whole {
		f.reader.Limit = 1 << 40
	}
	return f
}

// Step folds one admitted event with the operations that the tree made of it.
// It returns the facts, with what they changed, for the session memory; they
// are valid until the next call.
func (f *Fold) Step(in facts.Input) []facts.Fact {
	f.lastSeq = in.Seq
	if in.Run != "" && !in.Late && in.Run != f.run && f.opt.Run == "" {
		f.run, f.lastMessage, f.lastEnd = strings.Clone(in.Run), 0, 0
	}
	list := f.reader.Read(in)
	kept := list[:0]
	for i := range list {
		if f.opt.Run != "" && list[i].Run != f.opt.Run && list[i].OfRun != f.opt.Run {
			continue
		}
		f.apply(&list[i])
		kept = append(kept, list[i])
	}
	if in.Event.HasStep {
		f.step = max(f.step, in.Event.Step)
	}
	f.step = max(f.step, f.reader.Step())
	if len(list) > 0 {
		f.bound()
	}
	return kept
}

// CurrentStep is the number of the step an event belongs to.
func (f *Fold) CurrentStep(ev *events.Event) int {
	if ev.HasStep {
		return ev.Step
	}
	return f.reader.Step()
}

// LastSeq is the seq of the last record folded.
func (f *Fold) LastSeq() uint64 { return f.lastSeq }

// LeftOut counts an event that could not be folded whole, because of a defect.
func (f *Fold) LeftOut() { f.leftOut++ }

// Advance records that the log was folded up to seq although nothing was
// admitted.
func (f *Fold) Advance(seq uint64) { f.lastSeq = max(f.lastSeq, seq) }

func (f *Fold) apply(one *facts.Fact) {
	if !one.Late {
		f.step = max(f.step, one.Step)
	}
	switch one.Kind {
	case facts.Begun:
		f.begun(one)
	case facts.Message:
		f.put(one)
		f.calls.fill(one)
	case facts.Undone:
		f.undo(one.Turn)
	case facts.Call, facts.Withdrawn, facts.Decided:
		f.calls.apply(one)
	case facts.Approval:
		if c := f.calls.find(one.Run, one.CallID); c != nil {
			one.Name = c.name
		}
	case facts.Checkpoint:
		f.compact(one)
	case facts.Terminal:
		f.terminal = clone(one.Content)
		if one.Run == f.run {
			f.lastEnd = one.Seq
		}
	case facts.Transition:
		f.transition, f.details = strings.Clone(one.Text), clone(one.Content)
	case facts.Child:
		f.child(one)
	default: // matters to memory only
	}
}

// spoke records that the current run said something.
func (f *Fold) spoke(run string, seq uint64) {
	if run == f.run {
		f.lastMessage = max(f.lastMessage, seq)
	}
}

// begun makes the place of a live step's message.
func (f *Fold) begun(one *facts.Fact) {
	f.spoke(one.Run, one.Seq)
	if f.places[one.StepKey] != nil {
		return
	}
	f.add(&message{
		seq: one.Seq, eventID: strings.Clone(one.EventID), run: strings.Clone(one.Run),
		turn: one.Turn, stepKey: strings.Clone(one.StepKey), live: true,
	})
}

func (f *Fold) add(m *message) {
	m.index = f.nextIndex
	f.nextIndex++
	f.messages = append(f.messages, m)
	f.size += m.size()
	if m.stepKey != "" {
		f.places[m.stepKey] = m
	}
}

// put adds a message, or fills the place that its step has.
func (f *Fold) put(one *facts.Fact) {
	m := f.places[one.StepKey] // nil without a key
	if one.Live && one.StepKey != "" && m == nil {
		return // its place was beyond the bound
	}
	if m == nil {
		m = &message{turn: one.Turn, seq: one.Seq, run: strings.Clone(one.Run), eventID: strings.Clone(one.EventID)}
		if one.Role == "user" {
			f.users++
		}
		f.add(m)
		f.spoke(one.Run, one.Seq)
	}
	if one.Live && m.role != "" && !m.live {
		return // a message fact is authoritative
	}
	f.size -= m.size()
	m.fill(one)
	f.size += m.size()
	if one.Over {
		f.dropThrough(m)
	}
	if !one.Live {
		m.seq, m.eventID, m.run = one.Seq, strings.Clone(one.EventID), strings.Clone(one.Run)
		f.spoke(one.Run, one.Seq)
	}
}

func (m *message) fill(one *facts.Fact) {
	m.role, m.content, m.metadata = strings.Clone(one.Role), clone(one.Content), clone(one.Metadata)
	m.callID, m.recovered, m.live = strings.Clone(one.CallID), one.Recovered, one.Live
	m.failed = one.Live && one.Status == facts.Failed
	if one.Live && m.role == "assistant" && m.content == "" {
		m.role = "" // nothing in it yet, or no longer
	}
	m.blobs = nil
	for _, b := range one.Blobs {
		b.Path, b.SHA256, b.MediaType = strings.Clone(b.Path), strings.Clone(b.SHA256), strings.Clone(b.MediaType)
		m.blobs = append(m.blobs, b)
	}
	m.calls = nil
	for _, c := range one.Calls {
		m.calls = append(m.calls, facts.MessageCall{ID: strings.Clone(c.ID), Name: strings.Clone(c.Name)})
	}
}

// size counts a message against the bound.
func (m *message) size() int {
	n := 100 + len(m.content) + len(m.metadata) + len(m.eventID) + len(m.run) + 200*len(m.blobs)
	for _, c := range m.calls {
		n += 50 + len(c.ID) + len(c.Name)
	}
	return n
}

// child follows an agent that was spawned. What cannot be the id of an agent
// has no log to go on with.
func (f *Fold) child(one *facts.Fact) {
	if _, err := events.ParseAgentID(one.ID); err != nil {
		return
	}
	call := one.CallID
	if len(call) > maxCallID {
		call = ""
	}
	for i := range f.children {
		if c := &f.children[i]; c.agent == one.ID {
			c.state = one.Status
			if call != "" {
				c.call = strings.Clone(call)
			}
			return
		}
	}
	if len(f.children) >= maxChildren && !f.opt.Whole {
		f.children = slices.Delete(f.children, 0, 1)
	}
	f.children = append(f.children, child{strings.Clone(one.ID), strings.Clone(call), one.Status})
}

func clone(raw reducer.Raw) reducer.Raw { return reducer.Raw(strings.Clone(string(raw))) }
