// Package reducer holds the transcript of one agent: the entities, the 14
// operations that change them, and Apply, the only way in. Server and client
// run the same code. The package has no clock, no randomness, no I/O.
package reducer

// Transcript is the mutable state of one agent. It is used by one goroutine at
// a time; the Snapshots it gives out may be read by any number at the same
// time. Make it with NewTranscript.
type Transcript struct {
	owner *owner
	ed    *edit
	state
	near     nearTarget
	accepted []int
}

// state is what a Snapshot copies. Turns and marks (markers and task refs)
// share one space of labels: merged by label they are the timeline.
type state struct {
	agentID      string
	turns        list[*turnNode]
	marks        list[Item]
	tasks        list[*taskNode]
	interactions list[*Interaction]
	attachments  list[*Attachment]
	todos        list[*Todo]
	prompts      list[*Prompt]
	meta         Meta
	hasMoreOlder bool
	sorted       bool // turns stand in the order of their ordinals
}

// nearTarget remembers the frame or task that was appended to last. It holds
// while its node may be changed in place; every other operation forgets it.
type nearTarget struct {
	target Target
	frame  *frameNode
	task   *taskNode
}

// NewTranscript returns the empty transcript of an agent.
func NewTranscript(agentID string) *Transcript {
	return &Transcript{owner: new(owner), ed: new(edit), state: state{agentID: agentID, sorted: true}}
}

// AgentID returns the agent the transcript belongs to.
func (t *Transcript) AgentID() string { return t.agentID }

// Apply applies operations in their order. An operation that does not fit is
// skipped; it never stops the ones behind it. The entities the operations
// point to are taken over and must not change any more.
//
// Result.Accepted is valid until the next Apply.
func (t *Transcript) Apply(ops []Op) Result {
	res := Result{Accepted: t.accepted[:0]}
	for i := range ops {
		gap, ok := t.apply(&ops[i])
		if ok {
			res.Accepted = append(res.Accepted, i)
		}
		if gap != nil {
			res.Gap = gap
		}
	}
	t.accepted = res.Accepted
	return res
}

// apply reports whether the operation changed anything, and the gap of an
// append that did not fit.
func (t *Transcript) apply(op *Op) (gap *Gap, changed bool) {
	if op.Kind == OpAppend {
		return t.grow(op)
	}
	t.near = nearTarget{}
	switch op.Kind {
	case OpReset:
		return nil, t.reset(op)
	case OpTurnUpsert:
		return nil, op.Turn != nil && t.upsertTurn(op.Turn)
	case OpStepUpsert:
		return nil, op.Step != nil && t.upsertStep(op.TurnID, op.Step)
	case OpFrameUpsert:
		return nil, op.Frame != nil && t.upsertFrame(op.TurnID, op.StepID, op.Frame)
	case OpMarkerUpsert:
		return nil, op.Marker != nil && t.upsertMark(Item{Marker: op.Marker}, op.BeforeTurn)
	case OpTaskRefUpsert:
		return nil, op.TaskRef != nil && t.upsertMark(Item{TaskRef: op.TaskRef}, op.BeforeTurn)
	case OpItemsRemove:
		return nil, t.removeItems(op.IDs)
	case OpMetaMerge:
		return nil, op.Meta != nil && t.mergeMeta(op.Meta)
	case OpTaskUpsert, OpInteractionUpsert, OpAttachmentUpsert, OpTodoUpsert, OpPromptUpsert:
		return nil, t.upsertEntity(op)
	case OpAppend: // above
	}
	return nil, false
}

// upsertEntity replaces or adds a whole entity by its id.
func (t *Transcript) upsertEntity(op *Op) bool {
	switch {
	case op.Task != nil:
		return t.upsertTask(op.Task)
	case op.Interaction != nil:
		return upsert(t, &t.interactions, op.Interaction, same[Interaction])
	case op.Attachment != nil:
		return upsert(t, &t.attachments, op.Attachment, sameAttachment)
	case op.Todo != nil:
		return upsert(t, &t.todos, op.Todo, sameTodo)
	case op.Prompt != nil:
		return upsert(t, &t.prompts, op.Prompt, same[Prompt])
	}
	return false
}

func upsert[T keyed](t *Transcript, l *list[T], v T, equal func(a, b T) bool) bool {
	key, old := l.find(t.owner, v.key())
	switch {
	case key == 0:
		l.push(t.owner, t.ed, v)
	case equal(old, v):
		return false
	default:
		l.set(t.ed, key, v)
	}
	return true
}

func (t *Transcript) upsertTask(task *Task) bool {
	key, old := t.tasks.find(t.owner, task.TaskID)
	if key == 0 {
		t.tasks.push(t.owner, t.ed, newTaskNode(t.ed, task))
		return true
	}
	n := newTaskNode(t.ed, task)
	if sameTask(old.head, task) && old.text.same(&n.text) {
		return false
	}
	t.tasks.set(t.ed, key, n)
	return true
}

// reset replaces everything by a snapshot, whichever agent it is of.
func (t *Transcript) reset(op *Op) bool {
	agent := t.agentID
	s := op.Snapshot
	if s == nil {
		s = &Snapshot{}
	}
	t.owner, t.ed = new(owner), new(edit)
	t.state = s.whole()
	t.agentID = agent
	return true
}

// Clone returns an independent transcript with the same state, in O(1) but
// for the lookup tables, which it makes as it needs them.
func (t *Transcript) Clone() *Transcript {
	c := *t
	t.ed = new(edit)
	t.near = nearTarget{}
	c.owner, c.ed = new(owner), new(edit)
	c.near, c.accepted = nearTarget{}, nil
	return &c
}

// removeItems removes timeline entries by id, and the interactions anchored to
// a tool frame of a removed turn. Unknown ids are ignored.
func (t *Transcript) removeItems(ids []string) bool {
	calls := map[string]bool{}
	removed := false
	for _, id := range ids {
		if key, turn := t.turns.find(t.owner, id); key != 0 {
			turn.toolCalls(calls)
			t.turns.remove(t.owner, t.ed, key, id)
			removed = true
		}
		if key, _ := t.marks.find(t.owner, id); key != 0 {
			t.marks.remove(t.owner, t.ed, key, id)
			removed = true
		}
	}
	if len(calls) > 0 {
		t.removeAnchored(calls)
	}
	return removed
}

func (n *turnNode) toolCalls(into map[string]bool) {
	for s := n.steps.from(0); s.ok; s.next() {
		for f := s.val.frames.from(0); f.ok; f.next() {
			if f.val.head.Kind == FrameTool {
				into[f.val.head.ToolCallID] = true
			}
		}
	}
}

func (t *Transcript) removeAnchored(calls map[string]bool) {
	type entry struct {
		key uint64
		id  string
	}
	var gone []entry
	for w := t.interactions.from(0); w.ok; w.next() {
		if c := w.val.ToolCallID; c != "" && calls[c] {
			gone = append(gone, entry{w.key, w.val.InteractionID})
		}
	}
	for _, g := range gone {
		t.interactions.remove(t.owner, t.ed, g.key, g.id)
	}
}
