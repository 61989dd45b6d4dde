package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
)

// batchSize is how many records are taken from the log at a time. The log
// bounds their bytes by what it fetches ahead.
const batchSize = 2048

// owned is what a slot's work needs of its ownership.
type owned interface {
	Slot() int
	Checkpoint() slots.Checkpoint
	Draining() <-chan struct{}
	Commit(ctx context.Context, groups []slots.Group, ckpt *slots.Checkpoint) ([]slots.Result, error)
}

// worker records one slot. All of it belongs to the goroutine of run; the
// reader and the saver only pass values through channels.
type worker struct {
	svc    *Service
	dir    *wirelog.Dir
	slot   owned
	n      int // the slot's number
	stream eventlog.StreamID

	agents   map[agentKey]*agentState
	distrust map[agentKey]uint64 // to be opened with wirelog.OpenRequest.Distrust
	clock    uint64              // counts batches, for the least recently used agent

	parked        map[agentKey]*parkedAgent
	parkedRecords int
	parkedBytes   int
	queue         []agentKey // to be opened
	opens         int        // under way
	opened        chan openResult
	openCtx       context.Context   // of the openings; it ends with the work
	failed        []agentKey        // held back until retry
	troubled      map[agentKey]bool // what could not be opened or go on lately
	retry         <-chan time.Time  // nil when nothing is
	pause         time.Duration     // before the next retry

	seen    uint64 // everything up to this stream sequence is durable or parked
	saved   uint64 // what the checkpoint says
	fresh   bool   // there is no checkpoint of this stream yet
	saving  bool   // a commit is under way
	results chan saveResult
}

// record is the work of one slot, from its taking to its end.
func (s *Service) record(ctx context.Context, slot owned) error {
	w := &worker{
		svc: s, dir: s.dir, slot: slot, n: slot.Slot(),
		agents: map[agentKey]*agentState{}, distrust: map[agentKey]uint64{}, results: make(chan saveResult, 1),
		parked: map[agentKey]*parkedAgent{}, opened: make(chan openResult, opensAtOnce), pause: retryFirst,
		troubled: map[agentKey]bool{},
	}
	s.status.update(w.n, func(*slotStatus, *Stats) {})
	defer s.status.drop(w.n)
	defer w.release(context.WithoutCancel(ctx))
	openCtx, stopOpens := context.WithCancel(ctx)
	defer stopOpens()
	w.openCtx = openCtx
	after, err := w.begin(ctx)
	if err != nil {
		return err
	}
	w.seen, w.saved = after, after
	tail, err := s.deps.Log.Tail(ctx, w.n, after)
	if err != nil {
		return err
	}
	s.status.update(w.n, func(sl *slotStatus, _ *Stats) { sl.tailing = true })
	return w.run(ctx, tail)
}

// begin finds out where to go on in the stream.
func (w *worker) begin(ctx context.Context) (uint64, error) {
	b, err := w.svc.deps.Log.Bounds(ctx, w.n)
	if err != nil {
		return 0, err
	}
	w.stream = b.Stream
	after := uint64(0)
	c := w.slot.Checkpoint()
	if w.fresh = c.Stream != b.Stream.Name || !c.Created.Equal(b.Stream.Created); !w.fresh {
		after = c.StreamSeq
	}
	if b.First <= after+1 {
		return after, nil
	}
	trimmed, err := w.trimmed(ctx)
	if err != nil {
		return 0, err
	}
	if b.First > trimmed+1 {
		return 0, fmt.Errorf("stream %s begins with %d, slot %d was recorded up to %d and trimming is noted up to %d: messages between may be gone for good; find out who removed them before the checkpoint is set by hand",
			b.Stream.Name, b.First, w.n, after, trimmed)
	}
	return after, nil
}

// trimmed reads how far the stream has been trimmed by its trimmer.
func (w *worker) trimmed(ctx context.Context) (uint64, error) {
	e, err := w.svc.deps.Store.Get(ctx, "trim."+w.stream.Name)
	if errors.Is(err, statestore.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var rec struct {
		StreamSeq uint64 `json:"stream_seq"`
	}
	if err := json.Unmarshal(e.Value, &rec); err != nil {
		return 0, fmt.Errorf("read the trim record of %s: %w", w.stream.Name, err)
	}
	return rec.StreamSeq, nil
}

// run records until the slot is lost, handed over or broken. The reader ends
// before it returns.
func (w *worker) run(ctx context.Context, tail eventlog.Tail) error {
	reader := startReader(ctx, tail)
	defer reader.stop()
	tick := time.NewTicker(w.svc.cfg.Save)
	defer tick.Stop()
	for {
		batches := reader.batches
		if w.tooMuchParked() {
			batches = nil
		}
		err := error(nil)
		select {
		case batch, ok := <-batches:
			if !ok {
				return reader.err
			}
			err = w.batch(ctx, batch)
			w.svc.status.update(w.n, func(sl *slotStatus, _ *Stats) { sl.moved = time.Now() })
		case r := <-w.opened:
			err = w.openedSome(ctx, r)
		case <-w.retry:
			w.retryFailed()
		case <-tick.C:
			pending := tail.Pending()
			w.svc.status.update(w.n, func(sl *slotStatus, _ *Stats) { sl.pending = pending })
			w.save(ctx)
		case r := <-w.results:
			err = w.saveDone(ctx, r)
		case <-w.slot.Draining():
			err = errDraining
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		switch {
		case errors.Is(err, errDraining):
			reader.stop()
			return w.finish(ctx)
		case err != nil:
			return err
		}
	}
}

// finish saves what is durable and waits for it: the slot is handed over.
func (w *worker) finish(ctx context.Context) error {
	for {
		if !w.saving && !w.save(ctx) {
			return nil
		}
		select {
		case r := <-w.results:
			if err := w.saveDone(ctx, r); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// release closes the slot's files. What is under way is waited for, so that no
// goroutine outlives the work.
func (w *worker) release(ctx context.Context) {
	if w.saving {
		<-w.results
	}
	for ; w.opens > 0; w.opens-- {
		if r := <-w.opened; r.state != nil {
			w.agents[r.key] = r.state
		}
	}
	all := make([]*agentState, 0, len(w.agents))
	for _, st := range w.agents {
		all = append(all, st)
	}
	w.forget(ctx, all)
}
