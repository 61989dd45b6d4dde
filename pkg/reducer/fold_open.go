package reducer

// contentTurn finds or opens the turn that content belongs to; nil when the
// event is about a closed one. An ended turn is reopened.
func (f *Fold) contentTurn(id Opt[int]) *foldTurn {
	t := f.namedTurn(id)
	switch {
	case t == nil && id.Set && f.alias.apply(id.V) < f.used:
		return nil
	case t == nil:
		n := f.next
		if id.Set {
			n = f.alias.apply(id.V)
		}
		t = f.newTurn(n)
		h := *t.head
		h.State, h.StartedAt = TurnRunning, f.now()
		f.putTurn(t, h)
	case t.head.State != TurnRunning:
		f.reopen(t)
	}
	f.run.active()
	return t
}

// namedTurn finds the turn with that number, the current one when there is
// none; nil when it is not held.
func (f *Fold) namedTurn(id Opt[int]) *foldTurn {
	if !id.Set {
		return f.current
	}
	n := f.alias.apply(id.V)
	if f.current != nil && f.current.head.Ordinal == n {
		return f.current
	}
	return f.findTurn(n)
}

// reopen makes an ended turn run again, with the facts of its end taken back.
func (f *Fold) reopen(t *foldTurn) {
	h := *t.head
	h.State, h.EndedAt, h.DurationMs, h.Error = TurnRunning, "", Opt[float64]{}, Opt[string]{}
	if f.current == nil || f.current.head.State != TurnRunning {
		f.current = t
	}
	f.putTurn(t, h)
}

// contentStep finds or opens the step that content belongs to; nil when the
// event is about a closed one. An ended step stays ended.
func (f *Fold) contentStep(turn, step Opt[int]) *foldStep {
	t := f.contentTurn(turn)
	if t == nil {
		return nil
	}
	return f.stepIn(t, step)
}

// stepIn finds or opens the step with that number, the current one when there
// is none; nil when it is closed.
func (f *Fold) stepIn(t *foldTurn, step Opt[int]) *foldStep {
	if !step.Set {
		if t.current == nil {
			return f.openStep(t, t.highest+1)
		}
		return t.current
	}
	n := t.alias.apply(step.V)
	if t.current != nil && t.current.head.Ordinal == n {
		return t.current
	}
	s := t.findStep(n)
	switch {
	case s != nil:
		return s
	case n <= t.shut:
		return nil
	case n <= t.floor:
		t.alias = foldAlias{true, step.V, t.highest + 1}
		return f.openStep(t, t.highest+1)
	}
	return f.openStep(t, n)
}

// openStep makes a running step.
func (f *Fold) openStep(t *foldTurn, n int) *foldStep {
	s := f.newStep(t, n)
	h := *s.head
	h.State, h.StartedAt = StepRunning, f.now()
	f.putStep(s, h)
	return s
}

// where reads turnId and step of a content event and finds or opens the step.
func (p *foldPayload) where() *foldStep {
	turn, step, ok := p.place()
	if !ok {
		return nil
	}
	return p.f.contentStep(turn, step)
}

// place reads turnId and step; ok is false when one of them is malformed.
func (p *foldPayload) place() (turn, step Opt[int], ok bool) {
	turn, okTurn := p.ordinal("turnId", 0)
	step, okStep := p.ordinal("step", 1)
	return turn, step, okTurn && okStep
}

// flush re-sends and closes every text and thinking frame that grows.
func (f *Fold) flush() {
	for _, fr := range f.open {
		f.flushFrame(fr)
	}
	clear(f.open)
	f.open = f.open[:0]
}

// flushFrame re-sends one frame whole and closes it; the caller takes it out
// of f.open.
func (f *Fold) flushFrame(fr *foldFrame) {
	size := fr.size // known since the frame opened: measuring reads all of the text
	if rest := fr.text.rest(); rest != "" {
		fr.text.add(rest)
		fr.growing = true
		size += escapedLen(rest)
	}
	fr.step.open = nil
	f.tallyStep(fr.step)
	f.putSized(fr, fr.now(), size)
	fr.text = foldText{}
}

// flushStep flushes what grows in one step.
func (f *Fold) flushStep(s *foldStep) {
	if fr := s.open; fr != nil {
		f.flushFrame(fr)
		f.forget(fr)
	}
}

func (f *Fold) forget(fr *foldFrame) {
	for i, one := range f.open {
		if one == fr {
			f.open = append(f.open[:i], f.open[i+1:]...)
			return
		}
	}
}
