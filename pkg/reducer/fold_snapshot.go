package reducer

// Snapshot returns what the fold holds, as the state that its operations leave
// at a reader: with a negative tailTurns all of it, else the newest tailTurns
// turns with what stands between and after them. The first one after a batch
// costs as much as there are things held, which the bounds keep small; further
// ones cost nothing. It is called between batches.
func (f *Fold) Snapshot(tailTurns int) *Snapshot {
	if f.view == nil {
		f.view = f.transcript()
	}
	return f.snapshotOf(f.view, tailTurns)
}

func (f *Fold) snapshotOf(t *Transcript, tailTurns int) *Snapshot {
	s := t.Snapshot(tailTurns)
	s.hasMoreOlder = s.hasMoreOlder || f.hasMoreOlder()
	return s
}

// transcript builds the reader's state from what is held.
func (f *Fold) transcript() *Transcript {
	t := NewTranscript(f.agentID)
	for item := f.first; item != nil; item = item.next {
		f.restore(t, item)
	}
	for e := f.tasks.first; e != nil; e = e.next {
		h := e.nowTask()
		t.upsertTask(&h)
	}
	for e := f.interactions.first; e != nil; e = e.next {
		t.interactions.push(t.owner, t.ed, e.interaction)
	}
	for e := f.attachments.first; e != nil; e = e.next {
		t.attachments.push(t.owner, t.ed, e.attachment)
	}
	for e := f.prompts.first; e != nil; e = e.next {
		t.prompts.push(t.owner, t.ed, e.prompt)
	}
	if f.todo != nil {
		t.todos.push(t.owner, t.ed, f.todo)
	}
	t.meta = f.meta
	return t
}

// hasMoreOlder reports that items are closed.
func (f *Fold) hasMoreOlder() bool { return !f.closed.empty() }

// restore puts an item at the end of a transcript.
func (f *Fold) restore(t *Transcript, item *foldItem) {
	if item.turn == nil {
		t.marks.insert(t.owner, t.ed, t.endLabel(), Item{Marker: item.marker, TaskRef: item.ref})
		return
	}
	n := &turnNode{ed: t.ed, head: item.turn.head, more: item.turn.pruned}
	for _, s := range item.turn.steps {
		step := &stepNode{ed: t.ed, head: s.head}
		for _, fr := range s.frames {
			h := fr.now()
			step.frames.push(t.owner, t.ed, newFrameNode(t.ed, &h))
		}
		n.steps.push(t.owner, t.ed, step)
	}
	t.turns.insert(t.owner, t.ed, t.endLabel(), n)
}
