package reducer

import (
	"cmp"
	"slices"
)

// adopt puts a decoded item at the end of the timeline; not ok when its id or
// order is impossible.
func (f *Fold) adopt(item *foldItem) bool {
	t := item.turn
	if t == nil {
		id := Item{Marker: item.marker, TaskRef: item.ref}.ID()
		if f.items[id] != nil {
			return false
		}
		f.addLoose(id, item)
		return true
	}
	n := t.head.Ordinal
	if n < 0 || n >= f.next || len(f.turns) > 0 && f.turns[len(f.turns)-1].head.Ordinal >= n {
		return false
	}
	last := 0
	for _, s := range t.steps {
		if s.head.Ordinal <= last || s.head.Ordinal > t.highest {
			return false
		}
		last = s.head.Ordinal
	}
	f.turns = append(f.turns, t)
	f.link(item, nil)
	return true
}

// rebuild derives the rest of the state after it was decoded.
func (f *Fold) rebuild() bool {
	f.bytes = f.todoSize
	var calls []*foldFrame
	for item := f.first; item != nil; item = item.next {
		f.bytes += item.size
		if item.turn != nil {
			calls = f.rebuildTurn(item.turn, calls)
		}
	}
	slices.SortStableFunc(calls, func(a, b *foldFrame) int { return cmp.Compare(a.born, b.born) })
	for _, fr := range calls {
		fr.older = f.calls[fr.head.ToolCallID]
		f.calls[fr.head.ToolCallID] = fr
	}
	ok := f.rebuildSets()
	for _, n := range f.notices.order {
		ok = ok && f.notices.byKey[n.key] == nil
		f.notices.byKey[n.key] = n
	}
	for _, t := range f.turns {
		f.tally(t)
		for _, s := range t.steps {
			f.tallyStep(s)
		}
	}
	f.due, f.spent = false, false
	return ok && f.openFrames() == len(f.open)
}

// openFrames counts the frames that grow.
func (f *Fold) openFrames() (n int) {
	for _, t := range f.turns {
		for _, s := range t.steps {
			if s.open != nil {
				n++
			}
		}
	}
	return n
}

func (f *Fold) rebuildTurn(t *foldTurn, calls []*foldFrame) []*foldFrame {
	f.bytes += t.size
	if t.head.State == TurnRunning {
		f.stats.RunningTurns++
	}
	for _, s := range t.steps {
		f.bytes += s.size
		for _, fr := range s.frames {
			f.bytes += fr.size
			if fr.head.Kind != FrameTool {
				continue
			}
			calls = append(calls, fr)
			if fr.head.State == ToolRunning {
				s.busy++
				t.busy++
				f.stats.RunningTools++
			}
		}
	}
	return calls
}

// rebuildSets derives what ended where, in the order in which it ended.
func (f *Fold) rebuildSets() bool {
	var inTurns []*foldEntity
	for _, set := range f.sets() {
		var outside []*foldEntity
		for e := set.first; e != nil; e = e.next {
			f.bytes += e.size
			if e.interaction != nil && e.interaction.State == InteractionPending {
				f.stats.Pending++
			}
			if e.holds != nil {
				e.holds.busy++
			}
			switch {
			case e.ended == stillOpen && e.end == 0 && e.endTurn == nil:
			case e.ended == endedInTurn && e.end > 0 && e.endTurn != nil:
				inTurns = append(inTurns, e)
			case e.ended == endedOutside && e.end > 0 && e.endTurn == nil:
				outside = append(outside, e)
			default:
				return false
			}
		}
		slices.SortFunc(outside, byEnd)
		for _, e := range outside {
			set.queue = append(set.queue, queued{e, e.end})
		}
		set.outside = len(outside)
	}
	slices.SortFunc(inTurns, byEnd)
	for _, e := range inTurns {
		e.endTurn.ended = append(e.endTurn.ended, e)
	}
	return true
}

func byEnd(a, b *foldEntity) int { return cmp.Compare(a.end, b.end) }
