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
	w := window{src: s, steps: orDefault(o.Steps, MaxPageSteps), bytes: orDefault(o.Bytes, MaxPageBytes)}
	if o.Turns != 0 || s.turns.n == 0 {
		w.newest(s.timeline(), o.Turns)
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

// timeline cuts the items into groups. The first one has no turn.
func (s *Snapshot) timeline() []group {
	groups := []group{{}}
	for e := range s.entries() {
		if e.turn != nil {
			groups = append(groups, group{turn: e.turn})
			continue
		}
		last := &groups[len(groups)-1]
		last.marks = append(last.marks, e.mark)
	}
	return groups
}

// window collects the groups that go into a page.
type window struct {
	src   *Snapshot
	steps int // newest steps of each turn
	bytes int // left
	below int // only steps with a smaller ordinal; 0 = all

	groups []group // chosen
	cut    bool    // something that was asked for did not fit
}

// newest chooses from the end: at most n turns, any number when negative. The
// marks before the first turn come with it.
func (w *window) newest(groups []group, n int) {
	for i := len(groups) - 1; i >= 1; i-- {
		if n == 0 || !w.fits(&groups[i]) {
			w.cut = true
			slices.Reverse(w.groups)
			return
		}
		n--
	}
	if marksSize(groups[0].marks, w.bytes) <= w.bytes || len(w.groups) == 0 {
		w.groups = append(w.groups, groups[0])
	}
	slices.Reverse(w.groups)
}

// oldest chooses from the start, at most n turns.
func (w *window) oldest(groups []group, n int) {
	for i := range groups {
		if groups[i].turn == nil {
			w.groups = append(w.groups, groups[i])
			continue
		}
		if n == 0 || !w.fits(&groups[i]) {
			w.cut = true
			return
		}
		n--
	}
}

// fits adds a group unless it is too large. The first turn is added in any
// case, with as many of its newest steps as fit, at least one.
func (w *window) fits(g *group) bool {
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
