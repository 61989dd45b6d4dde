package reducer

// Closed is one thing that left the fold's state, in its last form. Exactly
// one of the pointers is set. What has closed never changes again, it can only
// be taken back by FoldSink.Gone.
type Closed struct {
	// After is the ordinal of the turn that the item follows in the timeline,
	// -1 for items before the first turn. For a Turn it is its own ordinal,
	// for a Step that of its turn, for an entity that of the turn in which it
	// ended, or -1.
	After int

	Turn        *Turn // header; its steps came before, or come in Steps
	Step        *Step // with its frames
	Marker      *Marker
	TaskRef     *TaskRef
	Task        *Task
	Interaction *Interaction
	Attachment  *Attachment
	Prompt      *Prompt
}

// FoldSink receives what leaves the state of a Fold, so that a reader who
// re-makes old pages keeps those it was asked for. Its methods are called
// while a batch is folded.
type FoldSink interface {
	// Close takes one thing. The steps of a turn that closed before the turn
	// came as Step, oldest first; Turn carries the rest of them.
	Close(c Closed)

	// Gone says that the turns with ordinal ≥ from, and every item behind the
	// first of them, have been undone or cleared; from 0 means all items.
	Gone(from int)
}
