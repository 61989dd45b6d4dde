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

	underway  bool // a commit is
	committed chan *commit
	helpers   sync.WaitGroup

	// Read by others.
	moved  atomic.Int64 // when there was progress, or nothing to do; Unix ns
	status atomic.Pointer[SlotStatus]
}

func newWorker(s *Service, owned *slots.Owned) *worker {
	w := &worker{
		slot: owned.Slot(), owned: owned, events: s.deps.Log, store: s.deps.Store,
		limits: s.limits, log: s.deps.Logger.With("slot", owned.Slot()),
		agents: map[key]*agent{}, sessions: map[events.SessionID]*session{},
		committed: make(chan *commit, 1),
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
	defer w.helpers.Wait()
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
	w.helpers.Go(func() { w.read(ctx, tail, read) })
	w.helpers.Go(func() { w.refold.run(ctx, w.foldVersion != fold.Version) })
	return w.loop(ctx, tail, read)
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
func (w *worker) loop(ctx context.Context, tail eventlog.Tail, read <-chan reading) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	drain := w.owned.Draining()
	for draining := false; ; {
		in := read
		if draining || w.full() {
			in = nil
		}
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r := <-in:
			err = w.fold(ctx, r)
		case r := <-w.refold.done:
			err = w.refolded(ctx, r)
		case c := <-w.committed:
			w.underway = false
			w.progress()
			err = w.written(c)
		case <-drain:
			drain, draining = nil, true
		case <-ticks.C:
			w.rest(tail)
			err = w.save(ctx, false)
		}
		if err == nil && draining && !w.underway {
			if err = w.save(ctx, true); err == nil && !w.underway {
				return nil // nothing is left to save
			}
		}
		if err != nil {
			return err
		}
	}
}

// save begins a commit of what is due, or of all that is unsaved, unless one
// is under way or there is nothing.
func (w *worker) save(ctx context.Context, all bool) error {
	if w.underway {
		return nil
	}
	c, err := w.gather(w.now(), all)
	if err != nil || c == nil {
		return err
	}
	w.underway = true
	w.helpers.Go(func() {
		c.results, c.err = w.owned.Commit(ctx, c.groups, c.ckpt)
		w.committed <- c
	})
	return nil
}

// full tells whether so much is unsaved that reading has to wait.
func (w *worker) full() bool {
	if len(w.agents) < w.limits.Unsaved {
		return false
	}
	n := 0
	for _, a := range w.agents {
		if a.unsaved > 0 || a.inCommit {
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
func (w *worker) rest(tail eventlog.Tail) {
	now := w.now()
	pending := tail.Pending()
	if !w.underway && (pending == 0 || w.full()) {
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
