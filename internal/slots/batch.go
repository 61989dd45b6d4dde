package slots

import (
	"github.com/google/uuid"

	"github.com/stenohq/steno/internal/statestore"
)

// request is one call of Commit on its way through the committer.
type request struct {
	slot    *Owned
	units   []unit // not yet written or left out
	results []Result
	ckpt    *Checkpoint
	done    chan error // buffered: the committer never waits
	ended   bool
}

// unit is one group of a request.
type unit struct {
	request *request
	index   int
	writes  []statestore.Write
}

// end answers the request.
func (r *request) end(err error) {
	if !r.ended {
		r.ended = true
		r.done <- err
	}
}

// leaveOut says why a unit is not written; then the checkpoint must stay as
// well. The caller takes it off the request's units.
func (u unit) leaveOut(err error) {
	u.request.results[u.index].Err = err
	u.request.ckpt = nil
}

// rawPerBatch bounds what goes into one batch before compression.
const rawPerBatch = 4 * statestore.MaxBytes

// batch is what is sent as one commit: units of one or more slots, and the
// checkpoints of the requests that it finishes.
type batch struct {
	commit statestore.Commit
	shares []share // in the order of the writes
	units  int
}

// share is a request's part of a batch: its first n units, and the rest of it.
type share struct {
	request *request
	n       int
	last    bool // nothing is left of the request
	ckpt    bool // it ends with the checkpoint
}

// newBatch takes as many units from the front of the requests as fit, at most
// limit. A request's checkpoint comes with its last unit.
func newBatch(requests []*request, limit int) (*batch, error) {
	b := &batch{commit: statestore.Commit{ID: uuid.NewString()}}
	messages, raw := 0, 0
	for _, r := range requests {
		messages += 2 // own and checkpoint
		n := 0
		for n < len(r.units) && b.units+n < limit {
			m, size := cost(r.units[n])
			if b.units+n > 0 && (messages+m > statestore.MaxMessages || raw+size > rawPerBatch) {
				break
			}
			messages, raw = messages+m, raw+size
			n++
		}
		if n == 0 && len(r.units) > 0 || messages > statestore.MaxMessages && len(b.shares) > 0 {
			break
		}
		if err := b.add(r, n); err != nil {
			return nil, err
		}
		if n < len(r.units) {
			break
		}
	}
	return b, nil
}

// cost is a guess: how well a document compresses is not known here. The store
// refuses what is too large, and the batch is halved.
func cost(u unit) (messages, raw int) {
	for _, w := range u.writes {
		messages += max(1, len(w.Expect))
		raw += len(w.Value)
	}
	return messages, raw
}

// add puts the first n units of a request into the batch.
func (b *batch) add(r *request, n int) error {
	o, c := r.slot, &b.commit
	c.Fences = append(c.Fences, statestore.Fence{Role: o.m.cfg.Role, Slot: o.slot, Term: o.term})
	for _, u := range r.units[:n] {
		c.Writes = append(c.Writes, u.writes...)
	}
	s := share{request: r, n: n, last: n == len(r.units)}
	s.ckpt = s.last && r.ckpt != nil
	b.shares, b.units = append(b.shares, s), b.units+n
	if !s.ckpt {
		return nil
	}
	value, err := encodeCheckpoint(*r.ckpt, o.term)
	key := statestore.CheckpointKey(o.m.cfg.Role, o.slot)
	c.Writes = append(c.Writes, statestore.Write{Key: key, Value: value, Expect: o.ckptRev})
	return err
}

// written hands out the revisions, which come in the order of the writes.
func (b *batch) written(revs []statestore.Rev) {
	for _, s := range b.shares {
		r := s.request
		for _, u := range r.units[:s.n] {
			r.results[u.index].Revs = revs[:len(u.writes):len(u.writes)]
			revs = revs[len(u.writes):]
		}
		r.units = r.units[s.n:]
		if s.ckpt {
			r.slot.ckptRev, revs = revs[0], revs[1:]
		}
		if s.last {
			r.end(nil)
		}
	}
}
