package reducer

import (
	"slices"
	"strconv"
)

// foldTimeline holds the items that are not closed: a linked list in the order
// of the timeline, and the turns among them by ordinal.
type foldTimeline struct {
	first, last *foldItem
	items       map[string]*foldItem // markers and task references by id
	loose       int                  // markers and task references held
	queue       []*foldItem          // of these, in their order; may hold some that are gone
	turns       []*foldTurn          // by ordinal

	current    *foldTurn // what an event without turnId is about
	next       int       // the next free ordinal: above every one ever used
	used       int       // ordinals below it that are not held belong to closed or removed turns
	alias      foldAlias // of the last turn.started that was given another number
	closed     closedTurns
	refsClosed bool         // a task reference has closed
	open       []*foldFrame // text and thinking frames that still grow, oldest first
}

// foldAlias maps a number that a publisher uses to the one it was given.
type foldAlias struct {
	set      bool
	from, to int
}

func (a foldAlias) apply(n int) int {
	if a.set && n == a.from {
		return a.to
	}
	return n
}

// foldItem is one entry of the timeline; one of turn, marker and ref is set.
type foldItem struct {
	prev, next *foldItem
	turn       *foldTurn
	marker     *Marker
	ref        *TaskRef
	size       int
	gone       bool
}

// foldTurn is a turn that is held. The header was handed out and is replaced,
// never changed.
type foldTurn struct {
	item    *foldItem
	head    *Turn
	steps   []*foldStep // held, by ordinal
	current *foldStep   // what an event without step is about
	highest int         // step number ever used
	shut    int         // step numbers up to here that are not held are closed
	floor   int         // a reopened turn's further steps are above it
	alias   foldAlias
	pruned  bool          // some steps have been closed
	past    TurnUsage     // sum over the closed steps
	atts    int           // attachments numbered so far
	busy    int           // running tools and tasks, pending interactions
	ended   []*foldEntity // entities that ended in it
	size    int           // of the header

	idle      bool        // could be closed
	idleSteps []*foldStep // that could be closed, by number
	gone      bool        // closed or undone: what still refers to it has no effect
}

// foldStep is a step that is held.
type foldStep struct {
	turn   *foldTurn
	head   *Step
	frames []*foldFrame
	texts  int        // highest f<n> used
	open   *foldFrame // its text or thinking frame that still grows
	busy   int        // running tools
	run    int        // number of the run in which it began
	loop   bool       // made by, or completed with, an assistant message fact
	size   int        // of the header
	idle   bool       // could be closed
}

// foldFrame is a frame that is held. While text grows, head.Text is stale and
// text has the whole.
type foldFrame struct {
	step    *foldStep
	head    *Frame
	text    foldText // text and thinking while open; inputText of a tool
	growing bool     // text is ahead of head
	void    bool     // emptied by a retry
	older   *foldFrame
	born    uint64 // tool frames are numbered as they are made
	size    int    // of head
}

func turnID(ordinal int) string { return "t" + strconv.Itoa(ordinal) }

// findTurn returns the held turn with that ordinal.
func (t *foldTimeline) findTurn(ordinal int) *foldTurn {
	i, ok := slices.BinarySearchFunc(t.turns, ordinal, func(a *foldTurn, o int) int { return a.head.Ordinal - o })
	if !ok {
		return nil
	}
	return t.turns[i]
}

// insertTurn puts a new turn before the first one with a larger ordinal.
func (t *foldTimeline) insertTurn(turn *foldTurn) {
	turn.item = &foldItem{turn: turn}
	i, _ := slices.BinarySearchFunc(t.turns, turn.head.Ordinal, func(a *foldTurn, o int) int { return a.head.Ordinal - o })
	var before *foldItem
	if i < len(t.turns) {
		before = t.turns[i].item
	}
	t.turns = slices.Insert(t.turns, i, turn)
	t.link(turn.item, before)
	t.next = max(t.next, turn.head.Ordinal+1)
}

// link inserts an item before another, at the end when that is nil.
func (t *foldTimeline) link(item, before *foldItem) {
	item.next = before
	if before == nil {
		item.prev = t.last
		t.last = item
	} else {
		item.prev = before.prev
		before.prev = item
	}
	if item.prev == nil {
		t.first = item
	} else {
		item.prev.next = item
	}
}

// unlink takes an item out.
func (t *foldTimeline) unlink(item *foldItem) {
	if item.prev == nil {
		t.first = item.next
	} else {
		item.prev.next = item.next
	}
	if item.next == nil {
		t.last = item.prev
	} else {
		item.next.prev = item.prev
	}
	item.prev, item.next = nil, nil
}

// dropTurn takes a turn out of the list of turns.
func (t *foldTimeline) dropTurn(turn *foldTurn) {
	i, ok := slices.BinarySearchFunc(t.turns, turn.head.Ordinal, func(a *foldTurn, o int) int { return a.head.Ordinal - o })
	if ok {
		t.turns = slices.Delete(t.turns, i, i+1)
	}
	if t.current == turn {
		t.current = nil
	}
}

// before is the ordinal that a repeated marker or task reference names as the
// turn it stands before.
func (t *foldTimeline) before(item *foldItem) int {
	for ; item != nil; item = item.next {
		if item.turn != nil {
			return item.turn.head.Ordinal
		}
	}
	return t.next
}

// after is the ordinal of the turn an item follows, held or closed, -1 for
// none.
func (t *foldTimeline) after(item *foldItem) int {
	for prev := item; prev != nil; prev = prev.prev {
		if prev.turn != nil {
			return prev.turn.head.Ordinal
		}
	}
	return t.closed.below(t.before(item))
}

// oldestLoose returns the first marker or task reference, nil for none.
func (t *foldTimeline) oldestLoose() *foldItem {
	for len(t.queue) > 0 && t.queue[0].gone {
		t.queue = t.queue[1:]
	}
	if len(t.queue) == 0 {
		return nil
	}
	return t.queue[0]
}

// findStep returns the held step with that number.
func (t *foldTurn) findStep(n int) *foldStep {
	i, ok := slices.BinarySearchFunc(t.steps, n, func(s *foldStep, n int) int { return s.head.Ordinal - n })
	if !ok {
		return nil
	}
	return t.steps[i]
}

func (t *foldTurn) insertStep(s *foldStep) {
	i, _ := slices.BinarySearchFunc(t.steps, s.head.Ordinal, func(s *foldStep, n int) int { return s.head.Ordinal - n })
	t.steps = slices.Insert(t.steps, i, s)
	t.highest = max(t.highest, s.head.Ordinal)
}

// lastStep returns the step with the highest number held, or nil.
func (t *foldTurn) lastStep() *foldStep {
	if len(t.steps) == 0 {
		return nil
	}
	return t.steps[len(t.steps)-1]
}
