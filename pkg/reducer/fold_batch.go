package reducer

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events"
)

// foldBatch collects the operations of one log record. Operations are carved
// out of slabs, so that a record with one operation costs a fraction of an
// allocation; what has been handed out is never written again.
type foldBatch struct {
	seq      uint64
	storedAt int64
	ev       *events.Event
	at       string // time of the event, made when first asked for
	markers  int    // made in this batch

	slab  []Op
	start int  // of the batch in slab
	reuse bool // slab is used again for each batch
}

const foldSlab = 32

func (b *foldBatch) beginBatch(seq uint64, storedAt int64) {
	b.seq, b.storedAt = seq, storedAt
	b.ev, b.at, b.markers = nil, "", 0
	if b.reuse {
		clear(b.slab)
		b.slab = b.slab[:0]
	}
	b.start = len(b.slab)
}

func (b *foldBatch) endBatch() []Op {
	ops := b.slab[b.start:len(b.slab):len(b.slab)]
	b.start = len(b.slab)
	if len(ops) == 0 {
		return nil
	}
	return ops
}

// push returns a new operation of the batch to be filled in at once.
func (b *foldBatch) push(kind OpKind) *Op {
	if len(b.slab) == cap(b.slab) {
		ops := b.slab[b.start:]
		b.slab = append(make([]Op, 0, max(foldSlab, 2*len(ops))), ops...)
		b.start = 0
	}
	b.slab = b.slab[:len(b.slab)+1]
	op := &b.slab[len(b.slab)-1]
	op.Kind = kind
	return op
}

// now is the event's time, else the time it was stored.
func (b *foldBatch) now() string {
	if b.at == "" {
		b.at = events.FormatTime(b.millis())
	}
	return b.at
}

func (b *foldBatch) millis() int64 {
	if b.ev != nil {
		if ms, ok := b.ev.Time(); ok {
			return ms
		}
	}
	return b.storedAt
}

// markerID is the next free marker id of the batch.
func (b *foldBatch) markerID() string {
	b.markers++
	id := "m" + strconv.FormatUint(b.seq, 10)
	if b.markers > 1 {
		id += "." + strconv.Itoa(b.markers)
	}
	return id
}
