package resume

import (
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/internal/facts"
)

// bound drops the oldest messages beyond the bound.
func (f *Fold) bound() {
	if f.opt.Whole {
		return
	}
	n := 0
	for f.size > MaxHistory && n < len(f.messages) {
		f.size -= f.messages[n].size()
		n++
	}
	f.drop(n)
}

// dropThrough drops a message that is longer than the bound with all before
// it: what is left begins behind it.
func (f *Fold) dropThrough(m *message) {
	f.dropped++
	n := slices.Index(f.messages, m) + 1
	for _, o := range f.messages[:n] {
		f.size -= o.size()
	}
	f.drop(n)
}

func (f *Fold) drop(n int) {
	for _, m := range f.messages[:n] {
		delete(f.places, m.stepKey)
		if m.role != "" {
			f.dropped++
		}
	}
	f.messages = slices.Delete(f.messages, 0, n)
}

// undo takes back what belongs to the turns from that one on.
func (f *Fold) undo(turn int) {
	f.messages = slices.DeleteFunc(f.messages, func(m *message) bool {
		gone := m.turn >= turn
		if gone {
			delete(f.places, m.stepKey)
			f.size -= m.size()
		}
		return gone
	})
}

// compact takes a checkpoint in, and lets go of what stands before the place
// it retained.
func (f *Fold) compact(one *facts.Fact) {
	f.checkpoint, f.summary = clone(one.Content), strings.Clone(one.Text)
	f.retained = f.retainedIndex(one)
	if one.Runtime != "" {
		f.merge(one.Runtime)
	}
	if f.opt.Whole {
		return
	}
	n := 0
	for n < len(f.messages) && f.messages[n].index < f.retained {
		f.size -= f.messages[n].size()
		n++
	}
	f.drop(n)
}

// retainedIndex is the index of the first message that a checkpoint keeps.
func (f *Fold) retainedIndex(one *facts.Fact) int {
	if one.RetainEvent != "" {
		for _, m := range f.messages {
			if m.eventID == one.RetainEvent {
				return m.index
			}
		}
	}
	if one.RetainIndex >= 0 {
		return one.RetainIndex
	}
	if one.RetainUsers < 0 {
		return 0
	}
	index, left := f.nextIndex, one.RetainUsers
	for _, m := range slices.Backward(f.messages) {
		if left == 0 {
			break
		}
		if m.role == "user" {
			left--
			index = m.index
		}
	}
	if left > 0 && one.RetainUsers > 0 {
		return 0
	}
	return index
}
