package recorder

import (
	"context"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
)

// Opening an agent costs a file and some requests, so it happens beside the
// recording of those that are open. Until then its records are parked; the
// checkpoint stays before the first of them.

const (
	// opensAtOnce bounds the agents being opened for one slot.
	opensAtOnce = 8
	// Beyond these the slot reads no further until some agents are open.
	maxParked      = 8192
	maxParkedBytes = 16 << 20
)

// parkedAgent has records but no open log.
type parkedAgent struct {
	records []eventlog.Record
	queued  bool // its opening is under way, waits, or is held back
}

// openResult is what one opening gave.
type openResult struct {
	key   agentKey
	state *agentState
	err   error
}

// park keeps records until their agent is open.
func (w *worker) park(k agentKey, records []eventlog.Record) {
	p := w.parked[k]
	if p == nil {
		p = &parkedAgent{}
		w.parked[k] = p
	}
	p.records = append(p.records, records...)
	for _, r := range records {
		w.parkedRecords++
		w.parkedBytes += len(r.Data)
	}
	if !p.queued {
		p.queued = true
		w.queue = append(w.queue, k)
	}
}

// tooMuchParked tells whether reading has to pause.
func (w *worker) tooMuchParked() bool {
	return w.parkedRecords > maxParked || w.parkedBytes > maxParkedBytes
}

// unpark drops records that are durable.
func (w *worker) unpark(k agentKey, n int) {
	p := w.parked[k]
	for _, r := range p.records[:n] {
		w.parkedRecords--
		w.parkedBytes -= len(r.Data)
	}
	if p.records = p.records[n:]; len(p.records) == 0 {
		delete(w.parked, k)
	}
}

// startOpens begins as many openings as may run.
func (w *worker) startOpens() {
	for w.opens < opensAtOnce && len(w.queue) > 0 {
		k := w.queue[0]
		w.queue = w.queue[1:]
		w.opens++
		distrust := w.distrust[k]
		go func() { // its result is always taken, by run or release
			st, err := w.openAgent(w.openCtx, k, distrust)
			w.opened <- openResult{k, st, err}
		}()
	}
}

// hold keeps an agent from being opened again for a while.
func (w *worker) hold(k agentKey, err error) {
	w.report(err)
	p := w.parked[k]
	if p == nil {
		p = &parkedAgent{}
		w.parked[k] = p
	}
	p.queued = true
	w.troubled[k] = true
	w.failed = append(w.failed, k)
	if w.retry == nil {
		w.retry = time.After(w.pause)
		w.pause = min(2*w.pause, retryMost)
	}
}

// retryFailed queues what was held back.
func (w *worker) retryFailed() {
	w.queue = append(w.queue, w.failed...)
	w.failed, w.retry = nil, nil
	w.startOpens()
}

// openedSome records what waited for an agent, and for others that have been
// opened meanwhile.
func (w *worker) openedSome(ctx context.Context, r openResult) error {
	byAgent := perAgent{}
	for more := true; more; {
		w.opens--
		if r.err != nil {
			w.hold(r.key, r.err)
		} else {
			w.agents[r.key] = r.state
			delete(w.distrust, r.key)
			delete(w.troubled, r.key)
			p := w.parked[r.key]
			p.queued = false
			byAgent[r.key] = p.records
		}
		select {
		case r = <-w.opened:
		default:
			more = false
		}
	}
	w.startOpens()
	// What is given up on the way is parked again, behind what is parked now.
	counts := map[agentKey]int{}
	for k, records := range byAgent {
		counts[k] = len(records)
	}
	if err := w.writeAll(ctx, byAgent); err != nil {
		return err
	}
	for k, n := range counts {
		w.unpark(k, n)
	}
	if len(w.failed) == 0 {
		w.pause = retryFirst
	}
	return nil
}

// durable is the stream sequence up to which everything of the slot is.
func (w *worker) durable() uint64 {
	d := w.seen
	for _, p := range w.parked {
		if len(p.records) > 0 {
			d = min(d, p.records[0].StreamSeq-1)
		}
	}
	return d
}
