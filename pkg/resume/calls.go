package resume

import (
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/internal/facts"
	"github.com/stenohq/steno/pkg/reducer"
)

// callTable holds the tool calls in first-seen order, keyed by run and id,
// because ids repeat across runs.
type callTable struct {
	whole  bool
	list   []*call
	index  map[callKey]*call
	size   int
	counts ToolCounts // of all calls, listed or not

	settled, unsettled int // of those listed
	settledSize        int // bytes
}

type callKey struct{ run, id string }

// call is what is known of one.
type call struct {
	callKey
	name      string
	step      int
	args      reducer.Raw
	result    reducer.Raw
	error     *facts.Error
	requested uint64 // seqs; 0 = never
	started   uint64
	completed uint64
	failed    uint64
	by        string
	decided   bool // a person settled it, no fact has
}

func (c *call) class() Class {
	switch {
	case c.completed > 0:
		return ClassCompleted
	case c.failed > 0:
		return ClassFailed
	case c.started > 0:
		return ClassUncertain
	}
	return ClassPending
}

func (c *call) settled() bool { return c.completed > 0 || c.failed > 0 }

func (c *call) size() int {
	n := 200 + len(c.run) + len(c.id) + len(c.name) + len(c.args) + len(c.result) + len(c.by)
	if c.error != nil {
		n += len(c.error.Code) + len(c.error.Message)
	}
	return n
}

// apply takes a fact in and tells in it what the call was and is: Was and Is,
// and the call's name and run.
func (t *callTable) apply(one *facts.Fact) {
	switch one.Kind {
	case facts.Withdrawn:
		if c := t.find(one.Run, one.CallID); c != nil && c.started == 0 && !c.settled() && c.requested > 0 {
			one.Was, one.Name = string(c.class()), c.name
			t.remove(c)
		}
	case facts.Decided:
		if c := t.undecided(one); c != nil {
			t.change(c, one, func() { c.decide(one) })
		}
	default:
		c := t.find(one.Run, one.CallID)
		if c == nil {
			c = t.add(one)
		}
		t.change(c, one, func() { c.learn(one) })
	}
	t.bound()
}

// change counts what f does to a call.
func (t *callTable) change(c *call, one *facts.Fact, f func()) {
	t.size -= c.size()
	t.tally(c, -1)
	if c.requested+c.started+c.completed+c.failed > 0 {
		one.Was = string(c.class())
		*t.counter(c.class())--
	}
	f()
	*t.counter(c.class())++
	t.tally(c, 1)
	t.size += c.size()
	one.Is, one.Name, one.Run = string(c.class()), c.name, c.run
	if one.Error == nil {
		one.Error = c.error
	}
}

// tally keeps how many of the listed calls are settled.
func (t *callTable) tally(c *call, n int) {
	if c.settled() {
		t.settled += n
		t.settledSize += n * c.size()
	} else {
		t.unsettled += n
	}
}

func (t *callTable) counter(class Class) *int {
	switch class {
	case ClassCompleted:
		return &t.counts.Completed
	case ClassFailed:
		return &t.counts.Failed
	case ClassPending:
		return &t.counts.Pending
	case ClassUncertain:
	}
	return &t.counts.Uncertain
}

func (t *callTable) find(run, id string) *call { return t.index[callKey{run, id}] }

// undecided finds the call that a decision is about: one that no fact has
// settled. Without a run it is the newest of that id.
func (t *callTable) undecided(one *facts.Fact) *call {
	for _, c := range slices.Backward(t.list) {
		if c.id == one.CallID && (one.OfRun == "" || c.run == one.OfRun) && (!c.settled() || c.decided) {
			return c
		}
	}
	return nil
}

func (t *callTable) add(one *facts.Fact) *call {
	c := &call{callKey: callKey{strings.Clone(one.Run), strings.Clone(one.CallID)}, step: one.Step}
	t.list = append(t.list, c)
	if t.index == nil {
		t.index = map[callKey]*call{}
	}
	t.index[c.callKey] = c
	t.size += c.size()
	t.tally(c, 1)
	return c
}

func (t *callTable) remove(c *call) {
	*t.counter(c.class())--
	t.forget(c)
}

// forget takes a call out of the list; the counts keep it.
func (t *callTable) forget(c *call) {
	t.leave(c)
	t.list = slices.DeleteFunc(t.list, func(o *call) bool { return o == c })
}

// leave takes a call out of everything but the list and the counts.
func (t *callTable) leave(c *call) {
	t.size -= c.size()
	t.tally(c, -1)
	delete(t.index, c.callKey)
}

// learn takes a lifecycle fact in. What is settled stays settled: a started
// that is delivered again does not undo a completed.
func (c *call) learn(one *facts.Fact) {
	if c.name == "" {
		c.name = strings.Clone(one.Name)
	}
	if one.Args != "" && (c.args == "" || one.Status == facts.Started) {
		c.args = clone(one.Args)
	}
	if c.requested == 0 && (one.Status == facts.Requested || one.Status == facts.Started) {
		c.requested = one.Seq
	}
	switch one.Status {
	case facts.Started:
		if c.started == 0 {
			c.started = one.Seq
		}
	case facts.Completed:
		if c.completed == 0 || c.decided {
			c.settle()
			c.completed, c.result = one.Seq, clone(one.Result)
		}
	case facts.Failed:
		if c.completed == 0 && c.failed == 0 || c.decided {
			c.settle()
			c.failed, c.result, c.error = one.Seq, clone(one.Result), cloneError(one.Error)
		}
	}
}

// settle clears what settled the call before.
func (c *call) settle() {
	c.completed, c.failed, c.result, c.error, c.by, c.decided = 0, 0, "", nil, "", false
}

// decide takes in what a person decided.
func (c *call) decide(one *facts.Fact) {
	c.settle()
	c.by, c.decided = strings.Clone(one.By), true
	switch one.Status {
	case "done":
		c.completed, c.result = one.Seq, clone(one.Result)
	case "failed":
		c.failed, c.result = one.Seq, clone(one.Result)
		message := one.Text
		if message == "" {
			message = "A person decided that the action failed."
		}
		c.error = &facts.Error{Message: strings.Clone(message)}
	case "retry":
		c.started, c.decided = 0, false
		c.requested = max(c.requested, 1)
	}
}

func cloneError(e *facts.Error) *facts.Error {
	if e == nil {
		return &facts.Error{}
	}
	return &facts.Error{Code: strings.Clone(e.Code), Message: strings.Clone(e.Message)}
}

// fill adds the arguments that a step streamed for calls that were never
// started.
func (t *callTable) fill(one *facts.Fact) {
	if !one.Live {
		return
	}
	for _, asked := range one.Calls {
		if c := t.find(one.Run, asked.ID); c != nil && c.args == "" && c.requested > 0 {
			t.size -= c.size()
			t.tally(c, -1)
			c.args = clone(facts.Streamed(asked.Args))
			t.tally(c, 1)
			t.size += c.size()
		}
	}
}

// bound drops the oldest settled calls beyond the bounds, then the arguments
// of the oldest unsettled ones, then these. It waits until twice as much as is
// kept has come together, so that a long log pays little for it.
func (t *callTable) bound() {
	if t.whole || t.size <= 2*maxCallBytes && t.settledSize <= 2*maxSettledBytes &&
		t.settled <= 2*maxSettled && t.unsettled <= 2*maxUnsettled {
		return
	}
	t.list = slices.DeleteFunc(t.list, func(c *call) bool {
		drop := c.settled() && (t.size > maxCallBytes || t.settledSize > maxSettledBytes || t.settled > maxSettled)
		if drop {
			t.leave(c)
		}
		return drop
	})
	for _, c := range t.list {
		if t.size <= maxCallBytes {
			break
		}
		if !c.settled() {
			t.size -= len(c.args)
			c.args = ""
		}
	}
	t.list = slices.DeleteFunc(t.list, func(c *call) bool {
		drop := t.size > maxCallBytes || !c.settled() && t.unsettled > maxUnsettled
		if drop {
			t.leave(c)
		}
		return drop
	})
}

// toolCall is the call as it is reported.
func (c *call) toolCall(policy Policy) ToolCall {
	out := ToolCall{
		RunID: c.run, ToolCallID: c.id, ToolName: c.name, Step: c.step, Class: c.class(), Args: raw(c.args),
		ReplayAllowed: policy(c.name), RequestedSeq: c.requested, StartedSeq: c.started,
		SettledSeq: max(c.completed, c.failed), SettledBy: c.by,
	}
	if c.result != "" {
		out.Result = raw(c.result)
	}
	if c.error != nil && c.class() == ClassFailed {
		out.Error = &ToolError{Code: c.error.Code, Message: c.error.Message}
	}
	return out
}
