package reducer

import "slices"

// tally keeps the lists of what could be closed: the turns that have ended and
// that nothing running belongs to.
func (f *Fold) tally(t *foldTurn) {
	idle := t.head.State != TurnRunning && t.head.State != "" && t.busy == 0
	if idle == t.idle || t.gone {
		return
	}
	t.idle = idle
	f.idleTurns = listTurn(f.idleTurns, t, idle)
	f.stir()
}

// tallyStep does the same for a step.
func (f *Fold) tallyStep(s *foldStep) {
	idle := s.head.State != StepRunning && s.head.State != "" && s.busy == 0 && s.open == nil
	if idle != s.idle {
		f.listStep(s, idle)
		f.stir()
	}
}

// untallyStep takes a step out of the lists.
func (f *Fold) untallyStep(s *foldStep) {
	if s.idle {
		f.listStep(s, false)
	}
}

func (f *Fold) listStep(s *foldStep, in bool) {
	s.idle = in
	t := s.turn
	had := len(t.idleSteps) > 0
	i, _ := slices.BinarySearchFunc(t.idleSteps, s.head.Ordinal, func(s *foldStep, n int) int { return s.head.Ordinal - n })
	if in {
		t.idleSteps = slices.Insert(t.idleSteps, i, s)
	} else {
		t.idleSteps = slices.Delete(t.idleSteps, i, i+1)
	}
	if has := len(t.idleSteps) > 0; has != had {
		f.stepTurns = listTurn(f.stepTurns, t, has)
	}
}

// listTurn puts a turn into a list in the order of ordinals, or takes it out.
func listTurn(list []*foldTurn, t *foldTurn, in bool) []*foldTurn {
	i, _ := slices.BinarySearchFunc(list, t.head.Ordinal, func(a *foldTurn, o int) int { return a.head.Ordinal - o })
	if in {
		return slices.Insert(list, i, t)
	}
	return slices.Delete(list, i, i+1)
}

// untally takes a turn out of the lists.
func (f *Fold) untally(t *foldTurn) {
	if t.idle {
		t.idle = false
		f.idleTurns = listTurn(f.idleTurns, t, false)
	}
}

// dropStep takes a step out of its turn.
func (t *foldTurn) dropStep(s *foldStep) {
	if i, ok := slices.BinarySearchFunc(t.steps, s.head.Ordinal, func(s *foldStep, n int) int { return s.head.Ordinal - n }); ok {
		t.steps = slices.Delete(t.steps, i, i+1)
	}
	if t.current == s {
		t.current = nil
	}
}
