package gateway

import (
	"sort"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

// entry is one batch of a feed with what has been encoded of it.
type entry struct {
	batch fold.Batch
	plain []reducer.Op     // what varDelta has in place of batch.Ops; nil: the same
	prev  [variants]uint64 // prev_seq in each variant's sequence
	holds [variants]bool   // whether the variant's sequence has this batch
	msgs  [variants]message
	cost  int
}

// ring holds the newest batches of one agent log, consecutive and in order, up
// to a number of bytes. The feed's mutex guards it.
type ring struct {
	max     int
	entries []*entry // oldest first
	cost    int
	floor   uint64           // seq before the oldest entry
	last    [variants]uint64 // seq of the newest batch in each sequence
}

// reset empties the ring; the next batch follows seq.
func (r *ring) reset(seq uint64) {
	r.entries, r.cost, r.floor = nil, 0, seq
	for v := range r.last {
		r.last[v] = seq
	}
}

// push adds the next batch and drops what no longer fits, but never the newest.
func (r *ring) push(b fold.Batch, plain []reducer.Op) {
	e := &entry{batch: b, plain: plain, cost: opsCost(b.Ops)}
	for v := range variant(variants) {
		e.prev[v] = r.last[v]
		if e.holds[v] = v.holds(b.Ops); e.holds[v] {
			r.last[v] = b.SeqTo
		}
	}
	r.entries = append(r.entries, e)
	r.cost += e.cost
	r.trim()
}

func (r *ring) trim() {
	n := 0
	for r.cost > r.max && n < len(r.entries)-1 {
		r.cost -= r.entries[n].cost
		r.floor = r.entries[n].batch.SeqTo
		r.entries[n] = nil
		n++
	}
	r.entries = r.entries[n:]
}

// after returns the entries behind seq, and whether the ring reaches back to
// it.
func (r *ring) after(seq uint64) ([]*entry, bool) {
	if seq < r.floor {
		return nil, false
	}
	i := sort.Search(len(r.entries), func(i int) bool { return r.entries[i].batch.SeqTo > seq })
	return r.entries[i:], true
}

// message returns the entry's message for a variant, encoding it the first
// time.
func (r *ring) message(e *entry, v variant, enc *encoder) message {
	if e.msgs[v].frame == nil {
		if v == varDelta && e.plain == nil {
			return r.message(e, varInput, enc)
		}
		e.msgs[v] = enc.ops(e.ops(v), e.batch.SeqTo, e.prev[v])
		e.cost += len(e.msgs[v].frame)
		r.cost += len(e.msgs[v].frame)
	}
	return e.msgs[v]
}

// ops are the operations that a variant's message has.
func (e *entry) ops(v variant) []reducer.Op {
	switch {
	case v == varInput || v == varDelta && e.plain == nil:
		return e.batch.Ops
	case v == varDelta:
		return e.plain
	}
	ops := grade.Filter(e.batch.Ops, v.grade())
	if v == varTurn {
		ops = redactResets(ops)
	}
	return ops
}

// redactResets takes the steps out of resets inside a batch, which the filter
// lets pass.
func redactResets(ops []reducer.Op) []reducer.Op {
	for i := range ops {
		if ops[i].Kind == reducer.OpReset && ops[i].Snapshot != nil {
			ops = append([]reducer.Op(nil), ops...)
			for ; i < len(ops); i++ {
				if ops[i].Kind == reducer.OpReset {
					ops[i].Snapshot = grade.Redact(ops[i].Snapshot, grade.Turn)
				}
			}
			return ops
		}
	}
	return ops
}

// entryCost is what a batch costs beside its operations and messages.
const entryCost = 400

// opsCost estimates the bytes that operations keep alive.
func opsCost(ops []reducer.Op) int {
	n := entryCost
	for i := range ops {
		op := &ops[i]
		n += 250 + len(op.Text)
		if f := op.Frame; f != nil {
			n += 300 + len(f.Text) + len(f.Input) + len(f.Output) + len(f.Display) + len(f.InputText.V)
		}
		if op.Turn != nil {
			n += 300 + len(op.Turn.Prompt.V)
		}
		if op.Task != nil {
			n += 200 + len(op.Task.OutputTail)
		}
		if op.Interaction != nil {
			n += 200 + len(op.Interaction.Request) + len(op.Interaction.Response)
		}
		if op.Marker != nil {
			n += 100 + len(op.Marker.Payload)
		}
		if op.Snapshot != nil {
			n += 256 << 10 // keeps a whole state alive
		}
	}
	return n
}

// backlog counts the batches and bytes behind seq in a variant's sequence. It
// stops counting above the limits.
func (r *ring) backlog(seq uint64, v variant, enc *encoder, maxBatches, maxBytes int) (batches, bytes int, ok bool) {
	entries, ok := r.after(seq)
	if !ok {
		return 0, 0, false
	}
	for _, e := range entries {
		if !e.holds[v] {
			continue
		}
		batches++
		bytes += len(r.message(e, v, enc).frame)
		if batches > maxBatches || bytes > maxBytes {
			return batches, bytes, false
		}
	}
	return batches, bytes, true
}
