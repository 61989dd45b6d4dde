package reducer

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
	f.removeFrom(f.countBack(count.V, true))
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
	// Interactions of the calls go with their turns. Readers below block grade
	// never saw the calls: for them they are at least not pending any more.
	calls := callsFrom(first)
	f.cancelInteractions(func(i *Interaction) bool { return calls[i.ToolCallID] })
	ids := f.dropItems(first, calls)
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

// callsFrom returns the ids of the tool calls in the turns from an item on.
func callsFrom(first *foldItem) map[string]bool {
	ids := map[string]bool{}
	for item := first; item != nil; item = item.next {
		if item.turn == nil {
			continue
		}
		for _, s := range item.turn.steps {
			for _, fr := range s.frames {
				if fr.head.Kind == FrameTool {
					ids[fr.head.ToolCallID] = true
				}
			}
		}
	}
	return ids
}

// dropItems takes out the items from one on, what was kept with them, and the
// interactions of their tool calls.
func (f *Fold) dropItems(first *foldItem, calls map[string]bool) (ids []string) {
	for item := first; item != nil; {
		next := item.next
		switch {
		case item.turn != nil:
			ids = append(ids, item.turn.head.TurnID)
			f.stats.Turns--
			f.forgetTurn(item.turn)
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

// forgetTurn takes out what belongs to a turn.
func (f *Fold) forgetTurn(t *foldTurn) {
	for _, s := range t.steps {
		f.forgetStep(s)
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
func (f *Fold) forgetStep(s *foldStep) {
	for _, fr := range s.frames {
		f.resize(&fr.size, 0)
		if fr.head.Kind != FrameTool {
			continue
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
	op.AgentID, op.Snapshot = f.agentID, f.snapshotOf(f.transcript(), -1)
}
