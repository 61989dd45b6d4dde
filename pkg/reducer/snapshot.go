package reducer

import "iter"

// Snapshot is an immutable state of one agent: the whole of it, or a window of
// its newest turns. Any number of goroutines may read one. The zero Snapshot
// is empty.
type Snapshot struct {
	state
	start   uint64 // label of the first item that belongs to the window
	noItems bool
	noSteps bool
}

// Snapshot returns the present state in O(1): with a negative tailTurns all of
// it, else the newest tailTurns turns with what stands between and after them.
// It carries every entity; Window makes a snapshot that carries those its
// items need.
func (t *Transcript) Snapshot(tailTurns int) *Snapshot {
	t.ed = new(edit)
	s := &Snapshot{state: t.state}
	if tailTurns < 0 || tailTurns >= s.turns.n {
		return s
	}
	s.hasMoreOlder = true
	if tailTurns == 0 {
		s.noItems = true
		return s
	}
	w := s.turns.fromLast()
	for range tailTurns - 1 {
		w.prev()
	}
	s.start = w.key
	return s
}

// whole returns the state that a reset to the snapshot leaves.
func (s *Snapshot) whole() state {
	if !s.noItems && !s.noSteps && s.start == 0 {
		return s.state
	}
	st := s.state
	st.turns, st.marks = list[*turnNode]{}, list[Item]{}
	o, ed := new(owner), new(edit)
	for e := range s.entries() {
		if e.turn == nil {
			st.marks.insert(o, ed, e.key, e.mark)
			continue
		}
		n := e.turn
		if s.noSteps {
			n = &turnNode{ed: ed, head: n.head, more: n.more}
		}
		st.turns.insert(o, ed, e.key, n)
	}
	return st
}

// entry is one item of the timeline, not yet built.
type entry struct {
	key  uint64
	turn *turnNode // nil: mark
	mark Item
}

// entries walks the timeline.
func (s *Snapshot) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if s.noItems {
			return
		}
		turns, marks := s.turns.from(s.start), s.marks.from(s.start)
		for turns.ok || marks.ok {
			e := entry{key: turns.key, turn: turns.val}
			if turns.ok && (!marks.ok || turns.key < marks.key) {
				turns.next()
			} else {
				e = entry{key: marks.key, mark: marks.val}
				marks.next()
			}
			if !yield(e) {
				return
			}
		}
	}
}

// AgentID returns the agent the snapshot is of.
func (s *Snapshot) AgentID() string { return s.agentID }

// HasMoreOlder reports that turns older than the first one exist.
func (s *Snapshot) HasMoreOlder() bool { return s.hasMoreOlder }

// Items walks the timeline. Turns are built as they are reached.
func (s *Snapshot) Items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for e := range s.entries() {
			it := e.mark
			if e.turn != nil {
				it = Item{Turn: s.build(e.turn)}
			}
			if !yield(it) {
				return
			}
		}
	}
}

func (s *Snapshot) build(n *turnNode) *Turn {
	if !s.noSteps {
		return n.turn()
	}
	t := *n.head
	t.HasMoreSteps = n.more
	t.Steps = []*Step{}
	return &t
}

// Turns walks the turns.
func (s *Snapshot) Turns() iter.Seq[*Turn] {
	return func(yield func(*Turn) bool) {
		for it := range s.Items() {
			if it.Turn != nil && !yield(it.Turn) {
				return
			}
		}
	}
}

// Tasks walks the tasks in the order in which they first appeared, as do the
// other entity walks.
func (s *Snapshot) Tasks() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for n := range values(&s.tasks) {
			if !yield(n.task()) {
				return
			}
		}
	}
}

// Interactions walks the interactions.
func (s *Snapshot) Interactions() iter.Seq[*Interaction] { return values(&s.interactions) }

// Attachments walks the attachments.
func (s *Snapshot) Attachments() iter.Seq[*Attachment] { return values(&s.attachments) }

// Todos walks the todo documents.
func (s *Snapshot) Todos() iter.Seq[*Todo] { return values(&s.todos) }

// Prompts walks the prompts.
func (s *Snapshot) Prompts() iter.Seq[*Prompt] { return values(&s.prompts) }

// Meta returns the agent's present condition.
func (s *Snapshot) Meta() Meta { return s.meta }

// Pending walks the interactions that wait for a person.
func (s *Snapshot) Pending() iter.Seq[*Interaction] {
	return func(yield func(*Interaction) bool) {
		for i := range s.Interactions() {
			if i.State == InteractionPending && !yield(i) {
				return
			}
		}
	}
}

// InteractionPending is the state of an interaction that waits for a person.
const InteractionPending = "pending"

func values[T keyed](l *list[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for w := l.from(0); w.ok; w.next() {
			if !yield(w.val) {
				return
			}
		}
	}
}

// WithoutSteps returns the snapshot as it is seen below grade block.
func (s *Snapshot) WithoutSteps() *Snapshot {
	c := *s
	c.noSteps = true
	return &c
}

// With returns the snapshot as one of another agent, with another
// HasMoreOlder.
func (s *Snapshot) With(agentID string, hasMoreOlder bool) *Snapshot {
	c := *s
	c.agentID, c.hasMoreOlder = agentID, hasMoreOlder
	return &c
}
