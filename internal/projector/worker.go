package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

const (
	tick = 50 * time.Millisecond
	// readSize is how many records are read at a time.
	readSize = 512
	// evictEvery is how often idle agents are looked for.
	evictEvery = time.Second
)

// worker projects one slot. Unless said otherwise its fields are its own
// goroutine's.
type worker struct {
	slot   int
	owned  *slots.Owned
	events eventlog.Log
	store  statestore.Store
	limits Limits
	log    *slog.Logger
	refold *refolder

	stream    eventlog.StreamID
	first     uint64 // of the stream, when the slot was taken
	fromStart bool   // nothing of the stream lies behind the tail

	agents   map[key]*agent
	sessions map[events.SessionID]*session
	pos      uint64           // stream sequence of the last record read
	ckpt     slots.Checkpoint // as saved
	ckptAt   time.Time
	// foldVersion is the lowest fold version that a head of the slot may have;
	// scanned: every head has been looked at since the slot was taken.
	foldVersion int
	scanned     bool
	evicted     time.Time

	// Read by others.
	moved  atomic.Int64 // when there was progress, or nothing to do; Unix ns
	status atomic.Pointer[SlotStatus]
}

func newWorker(s *Service, owned *slots.Owned) *worker {
	w := &worker{
		slot: owned.Slot(), owned: owned, events: s.deps.Log, store: s.deps.Store,
		limits: s.limits, log: s.deps.Logger.With("slot", owned.Slot()),
		agents: map[key]*agent{}, sessions: map[events.SessionID]*session{},
	}
	w.refold = newRefolder(w)
	w.status.Store(&SlotStatus{Slot: w.slot})
	w.progress()
	return w
}

func (w *worker) now() time.Time { return time.Now() }

func (w *worker) progress() { w.moved.Store(time.Now().UnixNano()) }

// run projects the slot until it is lost, drained or in error.
func (w *worker) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()

	if err := w.open(ctx); err != nil {
		return err
	}
	tail, err := w.tail(ctx)
	if err != nil {
		return err
	}
	defer tail.Close()
	read := make(chan reading)
	helpers.Go(func() { w.read(ctx, tail, read) })
	helpers.Go(func() { w.refold.run(ctx, w.foldVersion != fold.Version) })
	return w.loop(ctx, tail, read, &helpers)
}

// open checks the stream against the checkpoint and decides where to begin.
func (w *worker) open(ctx context.Context) error {
	var bounds eventlog.Bounds
	err := w.retry(ctx, "bounds of the stream", func() (err error) {
		bounds, err = w.events.Bounds(ctx, w.slot)
		return err
	})
	if err != nil {
		return err
	}
	w.stream, w.first = bounds.Stream, bounds.First
	w.ckpt = w.owned.Checkpoint()
	w.foldVersion = w.ckpt.Fold
	if w.ckpt.Created.IsZero() {
		w.foldVersion = fold.Version // there are no heads
	} else if w.ckpt.Stream != w.stream.Name || !w.ckpt.Created.Equal(w.stream.Created) {
		w.log.Warn("stream was made anew: the slot is projected again", "stream", w.stream.Name)
		if err := w.forgetHeads(ctx); err != nil {
			return err
		}
	}
	if w.ckpt.StreamSeq > bounds.Last {
		return fmt.Errorf("the checkpoint is at %d, but stream %s ends at %d: the stream has lost messages; repair it from the archive", w.ckpt.StreamSeq, w.stream.Name, bounds.Last)
	}
	if w.ckpt.StreamSeq+1 < w.first {
		if err := w.trimmed(ctx); err != nil {
			return err
		}
	}
	w.pos = w.ckpt.StreamSeq
	w.fromStart = w.pos+1 <= w.first
	return nil
}

// trimmed accepts that the stream begins behind the checkpoint when a trim
// record says so.
func (w *worker) trimmed(ctx context.Context) error {
	record, err := w.get(ctx, "trim."+w.stream.Name)
	if err != nil {
		return err
	}
	if record.Value == nil {
		return fmt.Errorf("stream %s begins at %d, but the checkpoint is at %d and nothing was trimmed: messages are missing", w.stream.Name, w.first, w.ckpt.StreamSeq)
	}
	return nil
}

// forgetHeads deletes the slot's heads, which speak of positions in a stream
// that is no more, and then moves the checkpoint to the new one.
func (w *worker) forgetHeads(ctx context.Context) error {
	prefix := fmt.Sprintf("%s.%d", statestore.PrefixHead, w.slot)
	var groups []slots.Group
	err := w.retry(ctx, prefix, func() error {
		groups = groups[:0]
		for entry, err := range w.store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			groups = append(groups, slots.Group{Writes: []statestore.Write{{Key: entry.Key, Expect: entry.Rev}}})
		}
		return nil
	})
	if err != nil {
		return err
	}
	ckpt := slots.Checkpoint{Stream: w.stream.Name, Created: w.stream.Created, StreamSeq: w.first - 1, Fold: fold.Version}
	results, err := w.owned.Commit(ctx, groups, &ckpt)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	w.ckpt, w.foldVersion = ckpt, fold.Version
	return nil
}

func (w *worker) tail(ctx context.Context) (eventlog.Tail, error) {
	var tail eventlog.Tail
	err := w.retry(ctx, "tail of the slot", func() (err error) {
		tail, err = w.events.Tail(ctx, w.slot, w.pos)
		return err
	})
	return tail, err
}

// reading is what one read brought.
type reading struct {
	recs []eventlog.Record
	err  error
}

// read hands the records over, each batch once it was asked for.
func (w *worker) read(ctx context.Context, tail eventlog.Tail, to chan<- reading) {
	for {
		recs, err := tail.Next(ctx, make([]eventlog.Record, 0, readSize), readSize)
		select {
		case to <- reading{recs, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// loop is the worker: it folds what comes and saves what is due.
func (w *worker) loop(ctx context.Context, tail eventlog.Tail, read <-chan reading, helpers *sync.WaitGroup) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	committed := make(chan *commit, 1)
	var underway *commit
	for draining := false; ; {
		in := read
		if draining || w.full() {
			in = nil
		}
		drained := w.owned.Draining()
		if draining {
			drained = nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-drained:
			draining = true
		case r := <-in:
			if err := w.fold(ctx, r); err != nil {
				return err
			}
			continue // saving is looked at by the tick
		case r := <-w.refold.done:
			if err := w.refolded(ctx, r); err != nil {
				return err
			}
			continue
		case c := <-committed:
			underway = nil
			w.progress()
			if err := w.written(c); err != nil {
				return err
			}
		case <-ticks.C:
		}
		w.rest(underway, tail)
		if underway != nil {
			continue
		}
		c, err := w.gather(w.now(), draining)
		if err != nil {
			return err
		}
		if c == nil && draining {
			return nil
		}
		if underway = c; c != nil {
			helpers.Go(func() {
				c.results, c.err = w.owned.Commit(ctx, c.groups, c.ckpt)
				committed <- c
			})
		}
	}
}

// full tells whether so much is unsaved that reading has to wait.
func (w *worker) full() bool {
	if len(w.agents) < w.limits.Unsaved {
		return false
	}
	n := 0
	for _, a := range w.agents {
		if a.lowest() > 0 {
			n++
		}
	}
	return n >= w.limits.Unsaved
}

// fold folds the records of one read.
func (w *worker) fold(ctx context.Context, r reading) error {
	if r.err != nil && !errors.Is(r.err, context.Canceled) {
		return fmt.Errorf("read the event log: %w", r.err)
	}
	now := w.now()
	for i := range r.recs {
		rec := &r.recs[i]
		if rec.StreamSeq <= w.pos {
			continue
		}
		a, err := w.agentOf(ctx, rec)
		if err != nil {
			return err
		}
		switch {
		case a.fold == nil:
			a.note(rec, now)
		case rec.StreamSeq > a.fold.StreamSeq():
			b := a.step(rec, now)
			a.stale, a.session.dirty = true, true
			a.session.urgent = a.session.urgent || changesState(b.Ops)
			if b.Unknown != "" {
				w.log.Info("event type is not known", "event_type", b.Unknown, "session", a.key.session, "agent", a.agent)
			}
		}
		w.pos = rec.StreamSeq
	}
	w.progress()
	return nil
}

// rest does what needs no hurry.
func (w *worker) rest(underway *commit, tail eventlog.Tail) {
	now := w.now()
	pending := tail.Pending()
	if underway == nil && (pending == 0 || w.full()) {
		w.progress()
	}
	if w.scanned && w.foldVersion != fold.Version && !w.anyOld() {
		w.foldVersion = fold.Version
	}
	if now.Sub(w.evicted) >= evictEvery {
		w.evicted = now
		w.evict(now)
	}
	w.status.Store(&SlotStatus{
		Slot: w.slot, Folded: w.pos, Saved: w.ckpt.StreamSeq, Pending: pending,
		Agents: len(w.agents), Sessions: len(w.sessions),
	})
}

// anyOld tells whether a refolded head is still to be saved.
func (w *worker) anyOld() bool {
	for _, a := range w.agents {
		if a.fold == nil || a.rewrite || a.inCommit {
			return true
		}
	}
	return false
}
