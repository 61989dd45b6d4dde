package reducer

import "slices"

// Limits of a page or a baseline, see docs/transcript.md.
const (
	DefaultPageTurns = 20
	MaxPageTurns     = 100
	MaxPageSteps     = 50
	MaxPageBytes     = 4 << 20
)

// WindowOptions bound a baseline. Zero values of Steps and Bytes mean the
// defaults MaxPageSteps and MaxPageBytes.
type WindowOptions struct {
	Turns int // newest turns, 0 for none, negative for as many as fit
	Steps int // newest steps of each turn
	Bytes int // encoded items; the newest step is sent whole all the same
}

// Window returns what a subscriber's baseline carries: the newest turns and
// steps within the bounds, and of the entities the open ones, the todo
// documents, and those that its items refer to. HasMoreOlder and HasMoreSteps
// tell what was left out.
func (s *Snapshot) Window(o WindowOptions) *Snapshot {
	s = s.shown()
	w := window{src: s, steps: orDefault(o.Steps, MaxPageSteps), bytes: orDefault(o.Bytes, MaxPageBytes)}
	if o.Turns != 0 || s.turns.n == 0 {
		w.newest(s.turns.fromLast(), 0, o.Turns)
	} else {
		w.cut = true
	}
	out := w.snapshot()
	out.hasMoreOlder = s.hasMoreOlder || w.cut
	return out
}

func orDefault(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}

// group is a turn with the marks that follow it, or, without a turn, the marks
// before the first one.
type group struct {
	turn  *turnNode
	marks []Item
}

// marksBetween returns the marks with lo ≤ label < hi; 0 is no bound.
func (s *Snapshot) marksBetween(lo, hi uint64) []Item {
	var marks []Item
	for m := s.marks.from(max(lo, s.start)); m.ok && (hi == 0 || m.key < hi); m.next() {
		marks = append(marks, m.val)
	}
	return marks
}

// shown returns the snapshot with no items behind it that it does not show.
func (s *Snapshot) shown() *Snapshot {
	if !s.noItems {
		return s
	}
	c := *s
	c.turns, c.marks, c.noItems = list[*turnNode]{}, list[Item]{}, false
	return &c
}

// inside reports that a walk stands on a turn of the snapshot.
func (s *Snapshot) inside(w *walk[*turnNode]) bool { return w.ok && w.key >= s.start }

// window collects the groups that go into a page.
type window struct {
	src   *Snapshot
	steps int // newest steps of each turn
	bytes int // left
	below int // only steps with a smaller ordinal; 0 = all

	groups []group // chosen
	cut    bool    // something that was asked for did not fit
}

// newest chooses turns backwards from where t stands, at most n, any number
// when that is negative; next is the label of the turn behind, 0 when there is
// none. The marks before the first turn come with it.
func (w *window) newest(t walk[*turnNode], next uint64, n int) {
	for ; w.src.inside(&t); t.prev() {
		if n == 0 || !w.fits(group{turn: t.val, marks: w.src.marksBetween(t.key, next)}) {
			w.cut = true
			slices.Reverse(w.groups)
			return
		}
		next = t.key
		n--
	}
	head := w.src.marksBetween(0, next)
	if len(w.groups) == 0 || marksSize(head, w.bytes) <= w.bytes {
		w.groups = append(w.groups, group{marks: head})
	}
	slices.Reverse(w.groups)
}

// oldest chooses turns from where t stands, at most n.
func (w *window) oldest(t walk[*turnNode], n int) {
	for w.src.inside(&t) {
		key, turn := t.key, t.val
		next := uint64(0)
		if t.next(); t.ok {
			next = t.key
		}
		if n == 0 || !w.fits(group{turn: turn, marks: w.src.marksBetween(key, next)}) {
			w.cut = true
			return
		}
		n--
	}
}

// fits adds a group unless it is too large. The first turn is added in any
// case, with as many of its newest steps as fit, at least one.
func (w *window) fits(g group) bool {
	first := true
	for i := range w.groups {
		first = first && w.groups[i].turn == nil
	}
	n, size, whole := w.trim(g.turn, w.bytes)
	if !first && (!whole || size > w.bytes) {
		return false
	}
	size += marksSize(g.marks, w.bytes)
	if !first && size > w.bytes {
		return false
	}
	w.bytes -= size
	w.groups = append(w.groups, group{turn: n, marks: g.marks})
	return true
}

// trim returns the turn with its newest steps, as many as the bounds allow,
// its size, and whether all steps that the count allows did fit.
func (w *window) trim(n *turnNode, limit int) (out *turnNode, size int, whole bool) {
	scratch := n.appendBare(nil)
	size = len(scratch)
	if w.src.noSteps {
		return n, size, true
	}
	var kept []*stepNode
	more, whole := n.more, true
	for s := n.steps.fromLast(); s.ok; s.prev() {
		if w.below > 0 && s.val.head.Ordinal >= w.below {
			continue
		}
		if len(kept) == w.steps {
			more = true
			break
		}
		scratch = s.val.AppendJSON(scratch[:0])
		if len(kept) > 0 && size+len(scratch) > limit {
			more, whole = true, false
			break
		}
		size += len(scratch) + 1
		kept = append(kept, s.val)
	}
	if len(kept) == n.steps.n {
		return n, size, whole
	}
	out = &turnNode{head: n.head, more: more, shuffled: n.shuffled}
	o, ed := new(owner), new(edit)
	for _, s := range slices.Backward(kept) {
		out.steps.push(o, ed, s)
	}
	return out, size, whole
}

// marksSize is the encoded size of marks, or more than limit.
func marksSize(marks []Item, limit int) int {
	size := 0
	var scratch []byte
	for _, m := range marks {
		scratch = m.AppendJSON(scratch[:0])
		size += len(scratch) + 1
		if size > limit {
			break
		}
	}
	return size
}

// snapshot builds the page out of the chosen groups.
func (w *window) snapshot() *Snapshot {
	t := NewTranscript(w.src.agentID)
	t.sorted = w.src.sorted
	refs := newRefs()
	for _, g := range w.groups {
		if g.turn != nil {
			t.turns.insert(t.owner, t.ed, t.endLabel(), g.turn)
			refs.turn(g.turn)
		}
		for _, m := range g.marks {
			t.marks.insert(t.owner, t.ed, t.endLabel(), m)
			refs.mark(m)
		}
	}
	refs.entities(t, w.src)
	t.meta = w.src.meta
	return &Snapshot{state: t.state, noSteps: w.src.noSteps}
}
