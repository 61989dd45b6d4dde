package reducer

import "math"

// upsertTurn replaces a turn's header or inserts a new turn.
func (t *Transcript) upsertTurn(turn *Turn) bool {
	key, n := t.turns.find(t.owner, turn.TurnID)
	if key == 0 {
		if t.below(turn.Ordinal) {
			return false
		}
		t.dropMark(turn.TurnID)
		t.insertTurn(headOf(turn), turn.HasMoreSteps)
		return true
	}
	// Whether older steps exist is a property of the steps held here, not of
	// the header: an operation can set it and not clear it.
	more := n.more || turn.HasMoreSteps
	if more == n.more && sameTurn(n.head, turn) {
		return false
	}
	n = t.editTurn(key, n)
	if n.head.Ordinal != turn.Ordinal {
		t.sorted = false
	}
	n.head, n.more = headOf(turn), more
	return true
}

// headOf returns the turn without what a turnNode keeps beside it.
func headOf(turn *Turn) *Turn {
	if turn.Steps == nil && !turn.HasMoreSteps {
		return turn
	}
	h := *turn
	h.Steps, h.HasMoreSteps = nil, false
	return &h
}

func stepHead(step *Step) *Step {
	if step.Frames == nil {
		return step
	}
	h := *step
	h.Frames = nil
	return &h
}

// floor returns the ordinal below which turns are not loaded.
func (t *Transcript) floor() (ordinal int, ok bool) {
	if !t.hasMoreOlder || t.turns.n == 0 {
		return 0, false
	}
	return t.turns.from(0).val.head.Ordinal, true
}

func (t *Transcript) below(ordinal int) bool {
	floor, ok := t.floor()
	return ok && ordinal < floor
}

// insertTurn puts a turn before the first one with a larger ordinal.
func (t *Transcript) insertTurn(head *Turn, more bool) (key uint64, n *turnNode) {
	key = t.endLabel()
	if next := t.firstTurn(head.Ordinal + 1); next != 0 {
		key = t.labelBefore(next)
	}
	n = &turnNode{ed: t.ed, head: head, more: more}
	t.turns.insert(t.owner, t.ed, key, n)
	return key, n
}

// firstTurn returns the label of the first turn whose ordinal is at least
// that, 0 when there is none.
func (t *state) firstTurn(ordinal int) uint64 {
	_, last, ok := t.turns.last()
	if !ok || t.sorted && last.head.Ordinal < ordinal {
		return 0
	}
	start := uint64(0)
	if t.sorted {
		start = t.turns.lastBelow(func(n *turnNode) bool { return n.head.Ordinal < ordinal })
	}
	for w := t.turns.from(start); w.ok; w.next() {
		if w.val.head.Ordinal >= ordinal {
			return w.key
		}
	}
	return 0
}

func (t *state) turnsSorted() bool {
	last := math.MinInt
	for w := t.turns.from(0); w.ok; w.next() {
		if w.val.head.Ordinal < last {
			return false
		}
		last = w.val.head.Ordinal
	}
	return true
}

// upsertStep replaces a step's header or inserts a new step, in a skeleton
// turn when the turn is missing.
func (t *Transcript) upsertStep(turnID string, step *Step) bool {
	key, turn := t.turns.find(t.owner, turnID)
	if key == 0 {
		if t.below(TurnOrdinal(turnID)) {
			return false
		}
		key, turn = t.skeletonTurn(turnID)
	}
	stepKey, old := turn.steps.find(t.owner, step.StepID)
	if stepKey == 0 {
		if turn.belowSteps(step.Ordinal) {
			return false
		}
		t.insertStep(key, turn, stepHead(step))
		return true
	}
	if sameStep(old.head, step) {
		return false
	}
	turn = t.editTurn(key, turn)
	n := t.editStep(turn, stepKey, old)
	if n.head.Ordinal != step.Ordinal {
		turn.shuffled = true
	}
	n.head = stepHead(step)
	return true
}

// belowSteps reports a step older than the first one of a window of steps.
func (n *turnNode) belowSteps(ordinal int) bool {
	return n.more && n.steps.n > 0 && ordinal < n.steps.from(0).val.head.Ordinal
}

func (t *Transcript) skeletonTurn(id string) (uint64, *turnNode) {
	t.dropMark(id)
	head := &Turn{TurnID: id, Ordinal: TurnOrdinal(id), State: TurnRunning, Origin: Origin{Kind: OriginOther}}
	return t.insertTurn(head, false)
}

func (t *Transcript) insertStep(turnKey uint64, turn *turnNode, head *Step) (uint64, *turnNode, *stepNode) {
	turn = t.editTurn(turnKey, turn)
	n := &stepNode{ed: t.ed, head: head}
	key := turn.steps.lastLabel() + labelGap
	if next := turn.firstStep(head.Ordinal + 1); next != 0 {
		key = turn.steps.labelBefore(t.owner, t.ed, next)
	}
	turn.steps.insert(t.owner, t.ed, key, n)
	return key, turn, n
}

// firstStep is firstTurn for the steps of a turn.
func (n *turnNode) firstStep(ordinal int) uint64 {
	_, last, ok := n.steps.last()
	if !ok || !n.shuffled && last.head.Ordinal < ordinal {
		return 0
	}
	start := uint64(0)
	if !n.shuffled {
		start = n.steps.lastBelow(func(s *stepNode) bool { return s.head.Ordinal < ordinal })
	}
	for w := n.steps.from(start); w.ok; w.next() {
		if w.val.head.Ordinal >= ordinal {
			return w.key
		}
	}
	return 0
}

// upsertFrame replaces a frame in place or appends it, in skeletons when the
// turn or the step is missing.
func (t *Transcript) upsertFrame(turnID, stepID string, f *Frame) bool {
	turnKey, turn := t.turns.find(t.owner, turnID)
	if turnKey == 0 {
		if t.below(TurnOrdinal(turnID)) {
			return false
		}
		turnKey, turn = t.skeletonTurn(turnID)
	}
	stepKey, step := turn.steps.find(t.owner, stepID)
	if stepKey == 0 {
		ordinal := StepOrdinal(stepID)
		if turn.belowSteps(ordinal) {
			return false
		}
		head := &Step{StepID: stepID, TurnID: turnID, Ordinal: ordinal, State: StepRunning}
		stepKey, turn, step = t.insertStep(turnKey, turn, head)
	}
	key, old := step.frames.find(t.owner, f.FrameID)
	n := newFrameNode(t.ed, f)
	if key != 0 && sameFrame(old.head, f) && old.text.same(&n.text) {
		return false
	}
	step = t.editStep(t.editTurn(turnKey, turn), stepKey, step)
	if key == 0 {
		step.frames.push(t.owner, t.ed, n)
	} else {
		step.frames.set(t.ed, key, n)
	}
	return true
}

// editTurn returns the turn at key, changeable in place.
func (t *Transcript) editTurn(key uint64, n *turnNode) *turnNode {
	if n.ed != t.ed {
		c := *n
		c.ed = t.ed
		n = &c
		t.turns.set(t.ed, key, n)
	}
	return n
}

// editStep returns the step at key of a changeable turn, changeable in place.
func (t *Transcript) editStep(turn *turnNode, key uint64, n *stepNode) *stepNode {
	if n.ed != t.ed {
		c := *n
		c.ed = t.ed
		n = &c
		turn.steps.set(t.ed, key, n)
	}
	return n
}
