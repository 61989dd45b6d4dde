package reducer

// The bounds of what is kept.
const (
	maxKept    = 4 << 20 // bytes of items and entities, as JSON
	keptTurns  = 20
	keptSteps  = 50 // of the newest turn
	keptLoose  = 1000
	keptOthers = 1000 // of each kind of entity that ended outside a turn
)

// foldBounds decides when something has to be closed.
type foldBounds struct {
	bytes int    // size of what is kept
	due   bool   // something may have to be closed
	spent bool   // above maxKept, but nothing was left to be closed
	buf   []byte // to measure with

	idleTurns []*foldTurn // that could be closed, by ordinal
	stepTurns []*foldTurn // that have steps which could be closed, by ordinal
}

// settle closes what is past. It looks at nothing but the state, so that a
// fold from a checkpoint closes the same things at the same event.
func (f *Fold) settle() {
	if !f.due {
		return
	}
	f.due = false
	if len(f.idleTurns) > 0 && f.idleTurns[0] != f.newestTurn() {
		f.closeOlder(f.countBack(keptTurns, false))
	}
	if t := f.newestTurn(); t != nil {
		if n := len(t.steps) - keptSteps; n > 0 {
			f.closeOlderSteps(t, t.steps[n].head.Ordinal)
		}
	}
	for f.loose > keptLoose {
		f.closeLoose(f.oldestLoose())
	}
	for _, set := range f.sets() {
		for set.outside > keptOthers {
			f.closeEntity(set.oldest(), -1)
		}
	}
	for f.bytes > maxKept && !f.spent {
		f.spent = !f.closeOldest()
	}
}

func (f *Fold) newestTurn() *foldTurn {
	if len(f.turns) == 0 {
		return nil
	}
	return f.turns[len(f.turns)-1]
}

// closeOlder closes the closable turns below an ordinal.
func (f *Fold) closeOlder(ordinal int) {
	for len(f.idleTurns) > 0 && f.idleTurns[0].head.Ordinal < ordinal {
		f.closeTurn(f.idleTurns[0])
	}
}

// closeOlderSteps closes the closable steps of a turn below a number.
func (f *Fold) closeOlderSteps(t *foldTurn, number int) {
	for len(t.idleSteps) > 0 && t.idleSteps[0].head.Ordinal < number {
		f.closeStep(t.idleSteps[0])
	}
}

// closeOldest makes room: the oldest closable turn, else step, else entity,
// else marker or task reference. The newest turn keeps its last step.
func (f *Fold) closeOldest() bool {
	newest := f.newestTurn()
	if len(f.idleTurns) > 0 && f.idleTurns[0] != newest {
		f.closeTurn(f.idleTurns[0])
		return true
	}
	for _, t := range f.stepTurns {
		if s := t.idleSteps[0]; t != newest || s != t.lastStep() {
			f.closeStep(s)
			return true
		}
	}
	for _, set := range f.sets() {
		if e := set.oldest(); e != nil {
			f.closeEntity(e, -1)
			return true
		}
	}
	if item := f.oldestLoose(); item != nil {
		f.closeLoose(item)
		return true
	}
	return false
}

// closeTurn hands a turn to the sink and takes it out, with the markers and
// task references that follow it and, when it is the first one held, those
// before it.
func (f *Fold) closeTurn(t *foldTurn) {
	ordinal := t.head.Ordinal
	if f.turns[0] == t {
		for item := f.first; item != t.item; {
			next := item.next
			f.closeLoose(item)
			item = next
		}
	}
	for item := t.item.next; item != nil && item.turn == nil; {
		next := item.next
		f.closeLoose(item)
		item = next
	}
	if f.sink != nil {
		f.sink.Close(Closed{After: ordinal, Turn: t.value()})
	}
	ended := t.ended
	t.ended = nil
	for _, e := range ended {
		f.closeEntity(e, ordinal)
	}
	f.closed.add(ordinal, t.head.Origin.Kind == OriginUser)
	f.used = max(f.used, ordinal+1)
	f.forgetTurn(t)
	f.dropItem(t.item)
}

// closeStep hands a step to the sink and takes it out of its turn.
func (f *Fold) closeStep(s *foldStep) {
	t := s.turn
	if f.sink != nil {
		f.sink.Close(Closed{After: t.head.Ordinal, Step: s.value()})
	}
	t.past.add(s.head)
	t.shut = max(t.shut, s.head.Ordinal)
	t.pruned = true
	f.forgetStep(s)
	t.dropStep(s)
}

// closeLoose hands a marker or task reference to the sink and takes it out.
func (f *Fold) closeLoose(item *foldItem) {
	if f.sink != nil {
		f.sink.Close(Closed{After: f.after(item), Marker: item.marker, TaskRef: item.ref})
	}
	f.refsClosed = f.refsClosed || item.ref != nil
	f.dropItem(item)
}

// closeEntity hands an entity to the sink and takes it out.
func (f *Fold) closeEntity(e *foldEntity, turn int) {
	if f.sink != nil {
		c := Closed{After: turn, Interaction: e.interaction, Attachment: e.attachment, Prompt: e.prompt}
		if e.task != nil {
			h := e.nowTask()
			c.Task = &h
		}
		f.sink.Close(c)
	}
	f.dropEntity(e)
}

// value builds the turn with the steps that are held.
func (t *foldTurn) value() *Turn {
	v := *t.head
	v.HasMoreSteps = t.pruned
	v.Steps = make([]*Step, 0, len(t.steps))
	for _, s := range t.steps {
		v.Steps = append(v.Steps, s.value())
	}
	return &v
}

// value builds the step with its frames.
func (s *foldStep) value() *Step {
	v := *s.head
	v.Frames = make([]*Frame, 0, len(s.frames))
	for _, fr := range s.frames {
		h := fr.now()
		v.Frames = append(v.Frames, &h)
	}
	return &v
}

// stir says that something may have to be closed now, or can be.
func (b *foldBounds) stir() { b.due, b.spent = true, false }
