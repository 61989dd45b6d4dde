package reducer

// grow applies an append.
func (t *Transcript) grow(op *Op) (*Gap, bool) {
	switch {
	case op.Target != t.near.target:
	case t.near.frame != nil && t.near.frame.ed == t.ed:
		n := t.near.frame
		return verdict(op, &n.text, n.text.growAt(t.owner, op.Offset, op.Text), &n.moved)
	case t.near.task != nil && t.near.task.ed == t.ed:
		n := t.near.task
		return verdict(op, &n.text, n.text.growAt(t.owner, op.Offset, op.Text), &n.moved)
	}
	if op.Target.TaskID != "" {
		return t.growTask(op)
	}
	return t.growFrame(op)
}

// verdict turns the outcome of growing a text into what apply reports.
func verdict(op *Op, text *grown, out outcome, moved *bool) (*Gap, bool) {
	switch out {
	case changed:
		*moved = true
		return nil, true
	case mismatch:
		return &Gap{Target: op.Target, Expected: text.units, Got: op.Offset}, false
	case unchanged:
	}
	return nil, false
}

func (t *Transcript) growFrame(op *Op) (*Gap, bool) {
	target := op.Target
	turnKey, turn := t.turns.find(t.owner, target.TurnID)
	if turnKey == 0 {
		if t.below(TurnOrdinal(target.TurnID)) {
			return nil, false
		}
		return &Gap{Target: target, Got: op.Offset}, false
	}
	stepKey, step := turn.steps.find(t.owner, target.StepID)
	if stepKey == 0 {
		if turn.belowSteps(StepOrdinal(target.StepID)) {
			return nil, false
		}
		return &Gap{Target: target, Got: op.Offset}, false
	}
	key, n := step.frames.find(t.owner, target.FrameID)
	if key == 0 || !n.growable(target.InputText) {
		return &Gap{Target: target, Got: op.Offset}, false
	}
	text, moved := n.text, n.moved
	gap, ok := verdict(op, &text, text.growAt(t.owner, op.Offset, op.Text), &moved)
	if !ok {
		return gap, false
	}
	step = t.editStep(t.editTurn(turnKey, turn), stepKey, step)
	if n.ed != t.ed {
		n = &frameNode{ed: t.ed, head: n.head}
		step.frames.set(t.ed, key, n)
	}
	n.text, n.moved = text, moved
	t.near = nearTarget{target: target, frame: n}
	return nil, true
}

func (n *frameNode) growable(inputText bool) bool {
	switch n.head.Kind {
	case FrameText, FrameThinking:
		return !inputText
	case FrameTool:
		return inputText
	case FrameNotice:
	}
	return false
}

func (t *Transcript) growTask(op *Op) (*Gap, bool) {
	key, n := t.tasks.find(t.owner, op.Target.TaskID)
	if key == 0 {
		if t.hasMoreOlder {
			return nil, false // a window does not carry every task that has ended
		}
		if op.Offset != 0 {
			return &Gap{Target: op.Target, Got: op.Offset}, false
		}
		if op.Text == "" {
			return nil, false
		}
		n = newTaskNode(t.ed, &Task{TaskID: op.Target.TaskID, Kind: "other", State: "running"})
		n.text.growAt(t.owner, 0, op.Text)
		n.moved = true
		t.tasks.push(t.owner, t.ed, n)
		t.near = nearTarget{target: op.Target, task: n}
		return nil, true
	}
	text, moved := n.text, n.moved
	gap, ok := verdict(op, &text, text.growAt(t.owner, op.Offset, op.Text), &moved)
	if !ok {
		return gap, false
	}
	if n.ed != t.ed {
		n = &taskNode{ed: t.ed, head: n.head}
		t.tasks.set(t.ed, key, n)
	}
	n.text, n.moved = text, moved
	t.near = nearTarget{target: op.Target, task: n}
	return nil, true
}
