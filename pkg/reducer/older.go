package reducer

import "slices"

// LoadOlder puts an older page before what the transcript holds, and lowers
// the floor by that. Of a turn that both have it takes the steps that are
// older than those held here. What the transcript already holds stays as it
// is. The page must be of the transcript's watermark or later (min_seq); the
// batches since are applied after it. hasMore says whether still older turns
// exist; for a page of one turn's older steps pass HasMoreOlder.
func (t *Transcript) LoadOlder(p *Snapshot, hasMore bool) {
	t.near = nearTarget{}
	for _, e := range slices.Backward(t.loadHeld(slices.Collect(p.entries()))) {
		key := t.frontLabel()
		if e.turn != nil {
			t.turns.insert(t.owner, t.ed, key, e.turn)
		} else if id := e.mark.ID(); !t.holds(id) {
			t.marks.insert(t.owner, t.ed, key, e.mark)
		}
	}
	loadMissing(t, &t.tasks, &p.tasks)
	loadMissing(t, &t.interactions, &p.interactions)
	loadMissing(t, &t.attachments, &p.attachments)
	loadMissing(t, &t.todos, &p.todos)
	loadMissing(t, &t.prompts, &p.prompts)
	t.hasMoreOlder = hasMore
	t.sorted = t.turnsSorted()
}

// loadHeld takes older steps of the turns that are held here, and returns the
// entries before the first of these turns. What stands behind it is here
// already, or is newer than the watermark and comes with the batches since.
func (t *Transcript) loadHeld(entries []entry) []entry {
	before := len(entries)
	for i, e := range entries {
		if e.turn == nil {
			continue
		}
		if key, turn := t.turns.find(t.owner, e.turn.head.TurnID); key != 0 {
			t.loadSteps(key, turn, e.turn)
			before = min(before, i)
		}
	}
	return entries[:before]
}

// holds reports whether the timeline has an item with that id.
func (t *Transcript) holds(id string) bool {
	turn, _ := t.turns.find(t.owner, id)
	mark, _ := t.marks.find(t.owner, id)
	return turn != 0 || mark != 0
}

// HasMoreOlder reports that turns older than the first one exist.
func (t *Transcript) HasMoreOlder() bool { return t.hasMoreOlder }

// frontLabel returns a label before everything.
func (t *Transcript) frontLabel() uint64 {
	label := uint64(firstLabel)
	if w := t.turns.from(0); w.ok {
		label = min(label, w.key)
	}
	if w := t.marks.from(0); w.ok {
		label = min(label, w.key)
	}
	return label - labelGap
}

// loadSteps takes the steps that are older than the first one held.
func (t *Transcript) loadSteps(key uint64, n, page *turnNode) {
	first := n.steps.from(0)
	older := func(s *stepNode) bool { return !first.ok || s.head.Ordinal < first.val.head.Ordinal }
	if n.more == page.more && !slices.ContainsFunc(slices.Collect(values(&page.steps)), older) {
		return
	}
	n = t.editTurn(key, n)
	n.more = page.more
	for _, s := range slices.Backward(slices.Collect(values(&page.steps))) {
		if k, _ := n.steps.find(t.owner, s.head.StepID); k == 0 && older(s) {
			label := uint64(firstLabel)
			if w := n.steps.from(0); w.ok {
				label = w.key
			}
			n.steps.insert(t.owner, t.ed, label-labelGap, s)
		}
	}
}

func loadMissing[T keyed](t *Transcript, l, page *list[T]) {
	for v := range values(page) {
		if key, _ := l.find(t.owner, v.key()); key == 0 {
			l.push(t.owner, t.ed, v)
		}
	}
}
