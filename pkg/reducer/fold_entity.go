package reducer

import "slices"

// foldEntities holds tasks, interactions, attachments and prompts that are not
// closed, and the tool frames by call id.
type foldEntities struct {
	tasks, interactions, attachments, prompts foldSet

	calls    map[string]*foldFrame // the newest frame of a call id
	born     uint64                // tool frames made so far
	ends     uint64                // ends of entities so far
	todo     *Todo
	todoSize int
}

func (e *foldEntities) initEntities() {
	e.calls = map[string]*foldFrame{}
	for _, set := range e.sets() {
		set.byID = map[string]*foldEntity{}
	}
}

// sets lists the sets in a fixed order.
func (e *foldEntities) sets() [4]*foldSet {
	return [4]*foldSet{&e.tasks, &e.interactions, &e.attachments, &e.prompts}
}

// foldSet holds entities of one kind in the order in which they first
// appeared.
type foldSet struct {
	byID        map[string]*foldEntity
	first, last *foldEntity
	queue       []queued // ended outside a turn, oldest first; may hold stale entries
	outside     int      // valid entries of queue
}

type queued struct {
	e   *foldEntity
	end uint64
}

// foldEntity is one entity; one of the pointers is set.
type foldEntity struct {
	prev, next *foldEntity
	id         string
	size       int

	task        *Task
	interaction *Interaction
	attachment  *Attachment
	prompt      *Prompt

	text    foldText // output tail of a task that streams it
	growing bool     // text is ahead of task
	total   int      // UTF-16 units of output so far

	holds   *foldTurn // the turn it keeps from being closed, nil for none
	ended   foldEnded
	endTurn *foldTurn // the turn in which it ended
	end     uint64    // number of its last end, 0 while it is open
}

// foldEnded says whether an entity can still change, and else how long it is
// kept.
type foldEnded int

const (
	stillOpen foldEnded = iota
	endedInTurn
	endedOutside
)

func (s *foldSet) find(id string) *foldEntity { return s.byID[id] }

// add puts a new entity at the end.
func (s *foldSet) add(e *foldEntity) *foldEntity {
	e.prev = s.last
	if s.last == nil {
		s.first = e
	} else {
		s.last.next = e
	}
	s.last = e
	s.byID[e.id] = e
	return e
}

// remove takes an entity out.
func (s *foldSet) remove(e *foldEntity) {
	if e.prev == nil {
		s.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		s.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	if e.ended == endedOutside {
		s.outside--
	}
	e.end = 0
	delete(s.byID, e.id)
}

// hold says that an open entity keeps a turn from being closed.
func (f *Fold) hold(e *foldEntity, t *foldTurn) {
	if t == nil || e.holds != nil && !e.holds.gone {
		return
	}
	e.holds = t
	t.busy++
	f.tally(t)
}

// openEntity says that an entity can change again.
func (f *Fold) openEntity(s *foldSet, e *foldEntity) {
	if e.ended == endedOutside {
		s.outside--
	}
	if e.ended == endedInTurn {
		e.endTurn.dropEnded(e)
	}
	e.ended, e.endTurn, e.end = stillOpen, nil, 0
}

// endEntity says that an entity has ended: it is kept with the turn that runs
// now, or the given one, else among the newest.
func (f *Fold) endEntity(s *foldSet, e *foldEntity, t *foldTurn) {
	if t == nil && f.current != nil && f.current.head.State == TurnRunning {
		t = f.current
	}
	if e.ended != stillOpen {
		return
	}
	if e.holds != nil {
		f.release(e.holds)
		e.holds = nil
	}
	f.ends++
	e.end = f.ends
	if t != nil {
		e.ended, e.endTurn = endedInTurn, t
		t.ended = append(t.ended, e)
		return
	}
	e.ended = endedOutside
	if len(s.queue) > 2*s.outside+64 {
		s.queue = slices.DeleteFunc(s.queue, func(q queued) bool { return q.e.end != q.end })
	}
	s.queue = append(s.queue, queued{e, e.end})
	s.outside++
	f.stir()
}

// dropEnded forgets that an entity ended in the turn.
func (t *foldTurn) dropEnded(e *foldEntity) {
	for i, one := range t.ended {
		if one == e {
			t.ended = append(t.ended[:i], t.ended[i+1:]...)
			return
		}
	}
}

// oldest returns the entity that ended first outside a turn, nil for none.
func (s *foldSet) oldest() *foldEntity {
	for len(s.queue) > 0 {
		q := s.queue[0]
		if q.e.end == q.end {
			return q.e
		}
		s.queue = s.queue[1:]
	}
	return nil
}
