package fold

import (
	"errors"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/internal/facts"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// derived is what is folded beside the tree: resume state and session memory.
type derived struct {
	resume *resume.Fold
	memory *memory.Fold
}

// deriving says what an Agent folds beside the tree.
type deriving struct {
	off   bool
	run   string
	whole bool
}

// TreeOnly leaves resume state and session memory out: for readers that only
// follow the transcript. Encode then returns a head alone.
func TreeOnly() Option { return func(a *Agent) { a.deriving.off = true } }

// ForRun limits resume state and session memory to one run of the log. Such
// an Agent is folded from the start and not continued from a state.
func ForRun(run string) Option { return func(a *Agent) { a.deriving.run = run } }

// WholeHistory keeps every message and tool call of the log for the resume
// state. Such an Agent is folded from the start and not continued from a
// state.
func WholeHistory() Option { return func(a *Agent) { a.deriving.whole = true } }

func (a *Agent) resumeOptions() resume.Options {
	return resume.Options{Session: a.session, Agent: a.agent, Run: a.deriving.run, Whole: a.deriving.whole}
}

func (a *Agent) derive() {
	if !a.deriving.off {
		a.derived = &derived{resume: resume.New(a.resumeOptions()), memory: new(memory.Fold)}
	}
}

// step folds an admitted event and what the tree made of it. A panic in here
// must not reach the tree, which is the same for readers that fold it alone:
// the rest of the event is left out and counted.
func (d *derived) step(b *Batch, dec admit.Decision, a *Agent) {
	defer func() {
		if recover() != nil {
			d.resume.LeftOut()
		}
	}()
	in := facts.Input{Seq: b.Seq, Event: &a.ev, Run: dec.Run, Late: dec.Late, Ops: b.Ops, Undone: -1}
	if from, ok := a.tree.Undone(); ok {
		in.Undone = from
	}
	list := d.resume.Step(in)
	if run := a.deriving.run; run != "" && dec.Run != run && len(list) == 0 {
		return
	}
	d.memory.Event(a.ev.ID, b.Seq, d.resume.CurrentStep(&a.ev))
	for i := range list {
		d.memory.Fact(&list[i])
	}
}

// Resume returns the resume state as of the last record; nil when the Agent
// folds the tree alone.
func (a *Agent) Resume(opt resume.ReadOptions) *resume.State {
	if a.derived == nil {
		return nil
	}
	return a.derived.resume.State(opt)
}

// Memory returns the session memory as of the last record; nil when the Agent
// folds the tree alone.
func (a *Agent) Memory() *memory.Memory {
	if a.derived == nil {
		return nil
	}
	return a.derived.memory.Memory()
}

// encode adds the derived states to a head.
func (d *derived) encode(s *State) {
	s.Memory, s.Resume = d.memory.Append(nil), d.resume.Append(nil)
}

// decodeDerived continues from the derived states. Without them the Agent
// folds the tree alone. The error wraps ErrVersion or ErrCorrupt.
func (a *Agent) decodeDerived(s State) error {
	if a.deriving.off || len(s.Resume) == 0 && len(s.Memory) == 0 {
		return nil
	}
	r, err := resume.Decode(a.resumeOptions(), s.Resume)
	if errors.Is(err, resume.ErrVersion) {
		return ErrVersion
	}
	if err != nil || r.LastSeq() != a.seq {
		return ErrCorrupt
	}
	m, err := memory.Decode(s.Memory)
	if errors.Is(err, memory.ErrVersion) {
		return ErrVersion
	}
	if err != nil {
		return ErrCorrupt
	}
	a.derived = &derived{resume: r, memory: m}
	return nil
}
