package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// feed is one agent log folded as far as it has been read, with its newest
// batches. Everybody may call its methods at any time.
type feed struct {
	src     *source
	session events.SessionID
	agent   events.AgentID
	enc     *encoder
	wake    func() // called after every advance, outside the locks

	// advance is held by whoever reads the log for this feed, so that records
	// are stepped in order.
	advance sync.Mutex

	mu     sync.Mutex // guards what follows
	fold   *fold.Agent
	first  uint64 // stream sequence of the log's first record; 0 when unknown
	ring   ring
	resets resetCache
	facts  facts
}

// source is where feeds read: the ports and what they have in common.
type source struct {
	log      eventlog.Log
	state    statestore.Store
	archive  archive.Reader // or nil
	topology string
	limits   Limits
	refolds  chan struct{} // holds a place for each refold that may run
}

// maxRefolds is how many logs are folded from their start at the same time;
// more would only slow down the live ones.
const maxRefolds = 2

// rangeLimit is how many records one read of the log asks for.
const rangeLimit = 1000

// openFeed makes the feed of an agent from its head, or for an agent without
// one from the start of its log. It stands where the head stands; catchUp
// reads on.
func openFeed(ctx context.Context, src *source, s events.SessionID, a events.AgentID, enc *encoder, wake func()) (*feed, error) {
	f := &feed{src: src, session: s, agent: a, enc: enc, wake: wake}
	head, err := src.state.Get(ctx, headKey(src, s, a))
	switch {
	case errors.Is(err, statestore.ErrNotFound):
		f.place(fold.New(s, a, fold.TreeOnly())) // nothing of it has been trimmed
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("read head of %s/%s: %w", s, a, err)
	}
	agent, err := fold.Decode(s, a, fold.State{Head: head.Value})
	if err != nil {
		// Another fold version, or only a position because the head would be
		// too large: the log has it all.
		f.place(fold.New(s, a, fold.TreeOnly()))
		if agent, err = f.refold(ctx, 0, nil, fold.TreeOnly()); err != nil {
			return nil, err
		}
	}
	f.place(agent)
	return f, nil
}

// place puts the feed at a fold's position with an empty ring.
func (f *feed) place(agent *fold.Agent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fold = agent
	f.ring.max = f.src.limits.RingBytes
	f.ring.reset(agent.Seq())
	f.resets = resetCache{}
}

// refold folds the log from its start as far as it is stored now, by its
// archive and stream, and hands each batch to each, which may be nil and ends
// the fold by returning false. A fold that ends before upTo, which is known to
// be stored, was read from a replica that lags: an error.
func (f *feed) refold(ctx context.Context, upTo uint64, each func(*fold.Agent, fold.Batch) bool, opts ...fold.Option) (*fold.Agent, error) {
	select {
	case f.src.refolds <- struct{}{}:
		defer func() { <-f.src.refolds }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	agent := fold.New(f.session, f.agent, opts...)
	for rec, err := range f.records(ctx, 0) {
		if err != nil {
			return nil, err
		}
		b := agent.Step(rec)
		if each != nil && !each(agent, b) {
			return agent, nil
		}
	}
	return agent, f.behind(agent.Seq(), upTo)
}

func (f *feed) behind(seq, upTo uint64) error {
	if seq < upTo {
		return unavailable(fmt.Sprintf("the log of %s/%s could only be read up to seq %d of %d; try again in a moment", f.session, f.agent, seq, upTo))
	}
	return nil
}

// position is the seq and stream sequence folded last.
func (f *feed) position() (seq, streamSeq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fold.Seq(), f.fold.StreamSeq()
}

// catchUp folds everything that the stream's leader had stored when it was
// asked, and returns the seq reached. An agent without a log stands at 0.
func (f *feed) catchUp(ctx context.Context) (uint64, error) {
	last, err := f.src.log.Last(ctx, f.session, f.agent)
	if errors.Is(err, eventlog.ErrNotFound) {
		seq, _ := f.position() // everything has been trimmed, or there is nothing
		return seq, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read end of %s/%s: %w", f.session, f.agent, err)
	}
	if _, at := f.position(); at < last.StreamSeq {
		f.advance.Lock()
		err = f.readTo(ctx, last.StreamSeq)
		f.advance.Unlock()
	}
	seq, _ := f.position()
	return seq, err
}

// accept folds live records of this agent. Where Prev tells that some are
// missing they are read from the log first.
func (f *feed) accept(ctx context.Context, recs []eventlog.Record) error {
	f.advance.Lock()
	defer f.advance.Unlock()
	for len(recs) > 0 {
		_, at := f.position()
		n := chain(recs, at)
		f.step(recs[:n])
		recs = recs[n:]
		if len(recs) == 0 {
			break
		}
		if recs[0].StreamSeq <= at {
			recs = recs[1:]
			continue
		}
		if err := f.readTo(ctx, recs[0].StreamSeq); err != nil {
			return err
		}
	}
	return nil
}

// chain counts the records that follow each other without a gap behind at.
func chain(recs []eventlog.Record, at uint64) int {
	for i, r := range recs {
		if r.StreamSeq <= at || r.Prev != at {
			return i
		}
		at = r.StreamSeq
	}
	return len(recs)
}

// readTo folds the log up to and including stream sequence to, which is known
// to be stored; a replica that does not have it yet is asked again. The caller
// holds advance.
func (f *feed) readTo(ctx context.Context, to uint64) error {
	pause := 5 * time.Millisecond
	for {
		_, at := f.position()
		if at >= to {
			return nil
		}
		recs, err := f.src.log.Range(ctx, f.session, f.agent, at, rangeLimit)
		if err != nil {
			return fmt.Errorf("read %s/%s behind stream sequence %d: %w", f.session, f.agent, at, err)
		}
		if len(recs) > 0 {
			f.step(recs)
			pause = 5 * time.Millisecond
			continue
		}
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for stream sequence %d of %s/%s: %w", to, f.session, f.agent, err)
		}
		pause = min(2*pause, 500*time.Millisecond)
	}
}

// step folds records, in order and without a gap, and wakes the watchers.
func (f *feed) step(recs []eventlog.Record) {
	if len(recs) == 0 {
		return
	}
	f.mu.Lock()
	if f.fold.Seq() == 0 {
		f.first = recs[0].StreamSeq
	}
	for i := range recs {
		b := f.fold.Step(foldRecord(&recs[i], f.fold.Seq()+1))
		f.ring.push(b, plainInput(b.Ops, f.fold))
	}
	f.mu.Unlock()
	f.wake()
}

// foldRecord is a stored message as the fold sees it.
func foldRecord(r *eventlog.Record, seq uint64) fold.Record {
	rec := fold.Record{
		Kind: fold.Event, Seq: seq, SeqTo: seq, StreamSeq: r.StreamSeq,
		StoredAt: r.StoredAt.UnixMilli(), Data: r.Data,
	}
	if r.Lost || events.IsPlaceholder(r.Data) {
		rec.Kind = fold.Lost
	}
	return rec
}

// runs answers the runs query from what has been folded.
func (f *feed) runs(run string) fold.RunsAnswer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fold.Runs(run)
}

// snapshot is the transcript's newest turns with its watermark.
func (f *feed) snapshot(turns int) (*reducer.Snapshot, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fold.Snapshot(turns), f.fold.Seq()
}

// collect appends the messages behind seq, about max bytes of them, and
// returns the seq they reach. ok is false when the ring no longer reaches back
// to seq.
func (f *feed) collect(dst []message, v variant, seq uint64, max int) (_ []message, reached uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, ok := f.ring.after(seq)
	if !ok {
		return dst, seq, false
	}
	for _, e := range entries {
		if max <= 0 {
			break
		}
		if e.holds[v] {
			m := f.ring.message(e, v, f.enc)
			dst = append(dst, m)
			max -= len(m.frame)
		}
		seq = e.batch.SeqTo
	}
	return dst, seq, true
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
