package gateway

import (
	"errors"
	"strconv"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// maxOpsBytes bounds the answer of transcript/ops; maxOpsBatches too, when no
// limit is given.
const (
	maxOpsBytes   = 8 << 20
	maxOpsBatches = 2000
)

// opsAnswer gathers the batches of one answer.
type opsAnswer struct {
	v       variant
	since   uint64
	prev    uint64 // seq of the batch before, in the variant's sequence
	limit   int
	body    []byte
	batches int
	full    bool
}

// add takes the next batch, unless the answer is full.
func (o *opsAnswer) add(seq uint64, ops []reducer.Op) bool {
	if o.batches >= o.limit || len(o.body) > maxOpsBytes {
		o.full = true
		return false
	}
	if o.batches > 0 {
		o.body = append(o.body, ',')
	}
	b := protocol.Batch{Seq: seq, PrevSeq: o.prev, Ops: ops}
	o.body = b.AppendJSON(o.body)
	o.batches++
	o.prev = seq
	return true
}

// transcriptOps answers the batches behind since_seq: from the ring, or by
// folding the log again from its start.
func (c *call) transcriptOps() *problem {
	q := &c.query
	agent := q.agent()
	since, _ := q.seq("since_seq")
	limit := q.number("limit", maxOpsBatches, 1, maxOpsBatches)
	g := q.grade(grade.Delta)
	epoch, hasEpoch := q.one("epoch")
	if g == grade.Off {
		q.fail(badRequest("bad_grade", "grade off has no operations"))
	}
	if q.wrong != nil {
		return q.wrong
	}
	f, release, p := c.feed(agent)
	if p != nil {
		return p
	}
	defer release()
	end, _ := f.position()
	if since >= end { // before telling an end, ask whether it is one
		var err error
		if end, err = f.catchUp(c.r.Context()); err != nil {
			return asProblem(err)
		}
	}
	o := &opsAnswer{v: variantOf(g, q.capability("append_input")), since: since, prev: since, limit: limit}
	complete := since <= end && (!hasEpoch || epoch == f.enc.epoch)
	if complete && !f.ringOps(o) {
		switch err := c.foldOps(f, o, end); {
		case errors.Is(err, errTrimmed):
			complete = false
			o.body, o.batches = nil, 0
		case err != nil:
			return asProblem(err)
		}
	}
	end = max(end, o.prev)
	if !complete {
		end, _ = f.position()
	}
	body := append([]byte(`{"agent_id":"`), agent...)
	body = append(append(append(body, `","batches":[`...), o.body...), ']')
	body = strconv.AppendUint(append(body, `,"latest_seq":`...), end, 10)
	body = strconv.AppendBool(append(body, `,"complete":`...), complete)
	body = strconv.AppendBool(append(body, `,"has_more":`...), o.full)
	body = append(append(append(body, `,"epoch":"`...), f.enc.epoch...), '"', '}')
	return c.body(body)
}

// ringOps answers from the ring; false when it does not reach back.
func (f *feed) ringOps(o *opsAnswer) bool {
	f.mu.Lock()
	entries, ok := f.ring.after(o.since)
	picked := make([]*entry, 0, min(len(entries), o.limit+1))
	for _, e := range entries {
		if e.holds[o.v] && len(picked) <= o.limit {
			picked = append(picked, e)
		}
	}
	f.mu.Unlock()
	if !ok {
		return false
	}
	for _, e := range picked { // operations are immutable: encoded outside the lock
		if !o.add(e.batch.SeqTo, e.ops(o.v)) {
			break
		}
	}
	return true
}

// foldOps folds the log from its start and keeps the batches asked for.
func (c *call) foldOps(f *feed, o *opsAnswer, end uint64) error {
	_, err := f.refold(c.r.Context(), end, func(agent *fold.Agent, b fold.Batch) bool {
		e := entry{batch: b}
		if b.SeqTo <= o.since || !o.v.holds(b.Ops) {
			return true
		}
		if o.v == varDelta {
			e.plain = plainInput(b.Ops, agent)
		}
		return o.add(b.SeqTo, e.ops(o.v))
	}, fold.TreeOnly())
	return err
}
