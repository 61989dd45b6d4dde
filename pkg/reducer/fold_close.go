package reducer

// The bounds of what is kept.
const (
	maxKept    = 4 << 20 // bytes of items and entities, as JSON
	keptTurns  = 20
	keptSteps  = 50 // of the newest turn
	keptLoose  = 1000
	keptOthers = 1000 // of each kind of entity that ended outside a turn
)

// foldBounds decides when something has to be closed.
type foldBounds struct {
	bytes int    // size of what is kept
	due   bool   // something may have to be closed
	spent bool   // above maxKept, but nothing was left to be closed
	buf   []byte // to measure with
}

// closable says that a turn may have become closable.
func (f *Fold) closable(t *foldTurn) {
	f.due, f.spent = true, false
	_ = t
}

// settle closes what is past. It looks at nothing but the state, so that a
// fold from a checkpoint closes the same things at the same event.
func (f *Fold) settle() {
	if !f.due {
		return
	}
	f.due = false
}
