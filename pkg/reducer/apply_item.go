package reducer

// upsertMark replaces a marker or task ref in place, or adds it before the
// first turn with at least that ordinal, else at the end.
func (t *Transcript) upsertMark(it Item, before Opt[int]) bool {
	id := it.ID()
	if key, old := t.marks.find(t.owner, id); key != 0 {
		if sameItem(old, it) {
			return false
		}
		t.marks.set(t.ed, key, it)
		return true
	}
	if key, _ := t.turns.find(t.owner, id); key != 0 {
		// One space of ids: what came last has the place.
		t.turns.remove(t.owner, t.ed, key, id)
		t.marks.insert(t.owner, t.ed, key, it)
		return true
	}
	if floor, ok := t.floor(); ok && before.Set && before.V <= floor {
		return false
	}
	key := uint64(0)
	if before.Set {
		if next := t.firstTurn(before.V); next != 0 {
			key = t.labelBefore(next)
		}
	}
	if key == 0 {
		key = t.endLabel()
	}
	t.marks.insert(t.owner, t.ed, key, it)
	return true
}

// dropMark makes room for a turn with the id of a marker or task ref.
func (t *Transcript) dropMark(id string) {
	if key, _ := t.marks.find(t.owner, id); key != 0 {
		t.marks.remove(t.owner, t.ed, key, id)
	}
}

// endLabel returns a label behind the timeline's end.
func (t *Transcript) endLabel() uint64 {
	return max(t.turns.lastLabel(), t.marks.lastLabel()) + labelGap
}

// labelBefore returns a free label directly before the entry at next.
func (t *Transcript) labelBefore(next uint64) uint64 {
	prev := max(t.turns.labelUnder(next), t.marks.labelUnder(next))
	if prev == 0 {
		prev = next - min(2*labelGap, next)
	}
	if next-prev >= 2 {
		return prev + (next-prev)/2
	}
	// The labels here are used up: spread all of them anew.
	ordinal := 0
	for w := t.turns.from(0); w.ok && w.key < next; w.next() {
		ordinal++
	}
	t.relabel()
	w := t.turns.from(0)
	for range ordinal {
		w.next()
	}
	return t.labelBefore(w.key)
}

// relabel gives every entry of the timeline a new label.
func (t *Transcript) relabel() {
	turns, marks := t.turns.from(0), t.marks.from(0)
	var newTurns list[*turnNode]
	var newMarks list[Item]
	label := uint64(firstLabel)
	for turns.ok || marks.ok {
		label += labelGap
		if turns.ok && (!marks.ok || turns.key < marks.key) {
			newTurns.insert(t.owner, t.ed, label, turns.val)
			turns.next()
		} else {
			newMarks.insert(t.owner, t.ed, label, marks.val)
			marks.next()
		}
	}
	t.turns, t.marks = newTurns, newMarks
}
