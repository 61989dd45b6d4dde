package gateway

import (
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

// resetCache keeps the newest reset of each form, so that a storm of new
// watchers costs one encoding and not one each.
type resetCache struct {
	entries [variants]cachedReset
}

type cachedReset struct {
	window int
	m      message
}

// freshReset is how many batches a cached reset may lie behind: the ring
// brings its receivers up to date.
const freshReset = 64

// baseline is a reset at a variant's grade, of the newest turns and of a
// watermark not below atLeast, as far as the log reaches.
func (f *feed) baseline(v variant, turns int, atLeast uint64) message {
	f.mu.Lock()
	seq := f.fold.Seq()
	c := f.resets.entries[v]
	entries, ok := f.ring.after(c.m.seq)
	if c.m.frame != nil && c.window == turns && c.m.seq >= atLeast && ok && len(entries) <= freshReset {
		f.mu.Unlock()
		return c.m
	}
	snap := f.fold.Snapshot(-1)
	f.mu.Unlock()

	// A snapshot is immutable: encoded outside the lock.
	m := f.enc.reset(grade.Redact(snap.Window(reducer.WindowOptions{Turns: turns}), v.grade()), seq)
	f.mu.Lock()
	if c := &f.resets.entries[v]; c.m.seq <= seq {
		*c = cachedReset{window: turns, m: m}
	}
	f.mu.Unlock()
	return m
}

// replayable tells whether the ring holds what a client at seq has missed, and
// that it is little enough to send.
func (f *feed) replayable(seq uint64, v variant) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq > f.fold.Seq() {
		return false
	}
	l := f.src.limits
	_, _, ok := f.ring.backlog(seq, v, f.enc, l.ReplayBatches, l.ReplayBytes)
	return ok
}
