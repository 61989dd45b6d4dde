package reducer

import "slices"

// maxRemove is the number of ids above which an undo is told by a reset.
const maxRemove = 1000

// contextUndo folds context.undo.
func (f *Fold) contextUndo(p *foldPayload) {
	count, ok := p.ordinal("count", 0)
	if !ok {
		return
	}
	if !count.Set {
		p.bad("count", "is missing")
		return
	}
	if count.V == 0 {
		return
	}
	f.flush()
	for _, t := range f.runningTurns() {
		f.endTurn(t, turnEnd{state: TurnCancelled})
	}
	f.removeFrom(f.undoFrom(count.V))
	f.addMarker("undo", p.all())
}

// contextClear folds context.clear.
func (f *Fold) contextClear(p *foldPayload) {
	f.flush()
	for _, t := range f.runningTurns() {
		f.endTurn(t, turnEnd{state: TurnCancelled})
	}
	f.removeFrom(-1)
	f.addMarker("clear", p.all())
}

// Undone returns from which turn on the batch took turns back; ok is false when
// it took none.
func (f *Fold) Undone() (from int, ok bool) { return f.undone.V, f.undone.Set }

// undoFrom returns the ordinal of the count-th last turn of a user, -1 when
// there are fewer.
func (f *Fold) undoFrom(count int) int {
	held := len(f.turns) - 1
	past := f.closed.fromLast()
	for {
		switch {
		case held >= 0 && (!past.ok || f.turns[held].head.Ordinal > past.last()):
			t := f.turns[held]
			held--
			if t.head.Origin.Kind == OriginUser {
				count--
			}
			if count == 0 {
				return t.head.Ordinal
			}
		case past.ok:
			// A run of closed turns, down to the held one below it.
			low := past.first()
			if held >= 0 {
				low = max(low, f.turns[held].head.Ordinal+1)
			}
			if past.user() {
				if n := past.last() - low + 1; n < count {
					count -= n
				} else {
					return past.last() - count + 1
				}
			}
			past.skipTo(low)
		default:
			return -1
		}
	}
}

// removeFrom takes back every item from the turn with that ordinal on; all of
// them when it is -1.
func (f *Fold) removeFrom(from int) {
	first := f.first
	if from >= 0 {
		first = nil
		for i := len(f.turns) - 1; i >= 0 && f.turns[i].head.Ordinal >= from; i-- {
			first = f.turns[i].item
		}
	}
	reached := f.closed.dropFrom(max(from, 0))
	if first == nil && reached == 0 {
		return
	}
	ids := f.dropItems(first)
	f.stats.Turns -= reached
	f.used = f.next
	f.current, f.alias = nil, foldAlias{}
	f.undone = Some(max(from, 0))
	if f.sink != nil {
		f.sink.Gone(max(from, 0))
	}
	if reached > 0 || len(ids) > maxRemove {
		f.reset()
		return
	}
	if len(ids) > 0 {
		f.push(OpItemsRemove).IDs = ids
	}
}

// dropItems takes out the items from one on, and what was kept with them.
func (f *Fold) dropItems(first *foldItem) (ids []string) {
	calls := map[string]bool{}
	for item := first; item != nil; {
		next := item.next
		switch {
		case item.turn != nil:
			ids = append(ids, item.turn.head.TurnID)
			f.stats.Turns--
			f.forgetTurn(item.turn, calls)
		case item.marker != nil:
			ids = append(ids, item.marker.MarkerID)
		default:
			ids = append(ids, item.ref.RefID)
		}
		f.dropItem(item)
		item = next
	}
	if len(calls) == 0 {
		return ids
	}
	for e := f.interactions.first; e != nil; {
		next := e.next
		if c := e.interaction.ToolCallID; c != "" && calls[c] {
			f.dropInteraction(e)
		}
		e = next
	}
	return ids
}

// dropItem takes one item out of the timeline.
func (f *Fold) dropItem(item *foldItem) {
	f.unlink(item)
	f.resize(&item.size, 0)
	item.gone = true
	switch {
	case item.turn != nil:
		f.dropTurn(item.turn)
	case item.marker != nil:
		delete(f.items, item.marker.MarkerID)
		f.loose--
	default:
		delete(f.items, item.ref.RefID)
		f.loose--
	}
}

// forgetTurn takes out what belongs to a turn; calls collects its tool calls.
func (f *Fold) forgetTurn(t *foldTurn, calls map[string]bool) {
	for _, s := range t.steps {
		f.forgetStep(s, calls)
	}
	f.resize(&t.size, 0)
	for _, e := range t.ended {
		f.dropEntity(e)
	}
	t.ended = nil
	t.gone = true
	f.untally(t)
}

// forgetStep takes out the frames of a step.
func (f *Fold) forgetStep(s *foldStep, calls map[string]bool) {
	for _, fr := range s.frames {
		f.resize(&fr.size, 0)
		if fr.head.Kind != FrameTool {
			continue
		}
		if calls != nil {
			calls[fr.head.ToolCallID] = true
		}
		if fr.head.State == ToolRunning {
			f.stats.RunningTools--
		}
		f.dropCall(fr)
	}
	f.resize(&s.size, 0)
	if s.open != nil {
		f.forget(s.open)
		s.open = nil
	}
	f.untallyStep(s)
}

// dropCall takes a tool frame out of the chain of its call id.
func (f *Fold) dropCall(fr *foldFrame) {
	id := fr.head.ToolCallID
	if f.calls[id] == fr {
		if fr.older == nil {
			delete(f.calls, id)
		} else {
			f.calls[id] = fr.older
		}
		return
	}
	for c := f.calls[id]; c != nil; c = c.older {
		if c.older == fr {
			c.older = fr.older
			return
		}
	}
}

func (f *Fold) dropInteraction(e *foldEntity) {
	if e.interaction.State == InteractionPending {
		f.stats.Pending--
	}
	if e.ended == endedInTurn {
		e.endTurn.dropEnded(e)
	}
	if e.holds != nil {
		f.release(e.holds)
		e.holds = nil
	}
	f.resize(&e.size, 0)
	f.interactions.remove(e)
}

// dropEntity takes out an entity that has ended.
func (f *Fold) dropEntity(e *foldEntity) {
	f.resize(&e.size, 0)
	f.setOf(e).remove(e)
}

func (f *Fold) setOf(e *foldEntity) *foldSet {
	switch {
	case e.task != nil:
		return &f.tasks
	case e.interaction != nil:
		return &f.interactions
	case e.attachment != nil:
		return &f.attachments
	}
	return &f.prompts
}

// reset tells readers the whole state that is left.
func (f *Fold) reset() {
	op := f.push(OpReset)
	op.AgentID, op.Snapshot = f.agentID, f.Snapshot(-1)
}

// closedTurns holds the ordinals of closed turns as runs, in their order.
type closedTurns struct{ runs []closedRun }

// closedRun is a range of closed turns of which all, or none, are of a user.
type closedRun struct {
	first, last int
	user        bool
}

func (c *closedTurns) empty() bool { return len(c.runs) == 0 }

// add adds one ordinal that is not there.
func (c *closedTurns) add(n int, user bool) {
	i := len(c.runs)
	for i > 0 && c.runs[i-1].first > n {
		i--
	}
	left := i > 0 && c.runs[i-1].last == n-1 && c.runs[i-1].user == user
	right := i < len(c.runs) && c.runs[i].first == n+1 && c.runs[i].user == user
	switch {
	case left && right:
		c.runs[i-1].last = c.runs[i].last
		c.runs = append(c.runs[:i], c.runs[i+1:]...)
	case left:
		c.runs[i-1].last = n
	case right:
		c.runs[i].first = n
	default:
		c.runs = append(c.runs, closedRun{})
		copy(c.runs[i+1:], c.runs[i:])
		c.runs[i] = closedRun{n, n, user}
	}
}

// below returns the largest ordinal below n, -1 for none.
func (c *closedTurns) below(n int) int {
	for _, r := range slices.Backward(c.runs) {
		if r.first < n {
			return min(r.last, n-1)
		}
	}
	return -1
}

// dropFrom removes the ordinals from one on and returns how many they were.
func (c *closedTurns) dropFrom(from int) (n int) {
	for len(c.runs) > 0 {
		r := &c.runs[len(c.runs)-1]
		if r.last < from {
			break
		}
		if r.first < from {
			n += r.last - from + 1
			r.last = from - 1
			break
		}
		n += r.last - r.first + 1
		c.runs = c.runs[:len(c.runs)-1]
	}
	return n
}

// closedWalk walks closed turns from the newest on.
type closedWalk struct {
	runs []closedRun
	ok   bool
	top  int
}

func (c *closedTurns) fromLast() closedWalk {
	w := closedWalk{runs: c.runs, ok: len(c.runs) > 0}
	if w.ok {
		w.top = c.runs[len(c.runs)-1].last
	}
	return w
}

func (w *closedWalk) run() closedRun { return w.runs[len(w.runs)-1] }
func (w *closedWalk) first() int     { return w.run().first }
func (w *closedWalk) last() int      { return w.top }
func (w *closedWalk) user() bool     { return w.run().user }

// skipTo goes on below an ordinal of the present run.
func (w *closedWalk) skipTo(low int) {
	if low > w.first() {
		w.top = low - 1
		return
	}
	w.runs = w.runs[:len(w.runs)-1]
	if w.ok = len(w.runs) > 0; w.ok {
		w.top = w.run().last
	}
}
