package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// histories re-makes what the present no longer holds, by folding the log from
// its start, and keeps the newest of them while someone scrolls.
type histories struct {
	mu   sync.Mutex // guards list; a history in the making holds its own
	list []*history // used last at the end
	keep time.Duration
}

// maxHistories bounds how many are kept at the same time.
const maxHistories = 4

type history struct {
	feed *feed
	used time.Time

	making sync.Mutex // guards what follows
	agent  *fold.Agent
	whole  *past
}

// get returns the whole transcript with a watermark not below min, which has
// been reached by the feed. What was made before is only read on.
func (h *histories) get(ctx context.Context, f *feed, min uint64) (*reducer.Snapshot, uint64, error) {
	e := h.entry(f)
	e.making.Lock()
	defer e.making.Unlock()
	if e.agent == nil || e.agent.Seq() < min {
		if err := e.make(ctx, min); err != nil {
			return nil, 0, err
		}
	}
	return e.whole.t.Snapshot(-1), e.agent.Seq(), nil
}

// make folds the log into a transcript from which nothing is closed. The
// caller holds making.
func (e *history) make(ctx context.Context, upTo uint64) error {
	f := e.feed
	if e.agent != nil {
		for rec, err := range f.continued(ctx, e.agent) {
			if err != nil {
				return err
			}
			e.whole.apply(e.agent.Step(rec).Ops)
		}
		return f.behind(e.agent.Seq(), upTo)
	}
	whole := &past{t: reducer.NewTranscript(string(f.agent))}
	agent, err := f.refold(ctx, upTo, func(_ *fold.Agent, b fold.Batch) bool {
		whole.apply(b.Ops)
		return true
	}, fold.WithSink(whole))
	if err != nil {
		return err
	}
	e.agent, e.whole = agent, whole
	return nil
}

func (h *histories) entry(f *feed) *history {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(time.Now().Add(-h.keep))
	for i, e := range h.list {
		if e.feed == f {
			e.used = time.Now()
			h.list = append(append(h.list[:i:i], h.list[i+1:]...), e)
			return e
		}
	}
	e := &history{feed: f, used: time.Now()}
	h.list = append(h.list, e)
	if len(h.list) > maxHistories {
		h.list = append([]*history(nil), h.list[1:]...)
	}
	return e
}

// drop forgets the histories not used since a time. The caller holds mu.
func (h *histories) drop(since time.Time) {
	kept := h.list[:0]
	for _, e := range h.list {
		if e.used.After(since) {
			kept = append(kept, e)
		}
	}
	clear(h.list[len(kept):])
	h.list = kept
}

// expire drops old histories until ctx ends.
func (h *histories) expire(ctx context.Context) {
	for sleep(ctx, h.keep/2) == nil {
		h.mu.Lock()
		h.drop(time.Now().Add(-h.keep))
		h.mu.Unlock()
	}
}

// past is a transcript that keeps what the fold's own state closes. What an
// undo or clear takes back it is told as a sink, because the reset that a
// client is sent would also drop what is merely closed.
type past struct{ t *reducer.Transcript }

// Close implements fold.Sink: what closes is in the transcript already.
func (p *past) Close(reducer.Closed) {}

// Gone implements fold.Sink.
func (p *past) Gone(from int) {
	var ids []string
	behind := from == 0
	for it := range p.t.Snapshot(-1).Items() {
		behind = behind || it.Turn != nil && it.Turn.Ordinal >= from
		if behind {
			ids = append(ids, it.ID())
		}
	}
	p.t.Apply([]reducer.Op{{Kind: reducer.OpItemsRemove, IDs: ids}})
}

func (p *past) apply(ops []reducer.Op) {
	for i := range ops {
		if ops[i].Kind == reducer.OpReset {
			rest := make([]reducer.Op, 0, len(ops))
			for _, op := range ops {
				if op.Kind != reducer.OpReset {
					rest = append(rest, op)
				}
			}
			p.t.Apply(rest)
			return
		}
	}
	p.t.Apply(ops)
}
