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
	// bytes bounds the closed turns that each of them holds.
	bytes int
}

// maxHistories bounds how many are kept at the same time.
const maxHistories = 4

type history struct {
	feed *feed
	used time.Time

	making sync.Mutex // guards what follows
	agent  *fold.Agent
	past   *past
}

// page cuts a page out of an agent's history, with a watermark not below min,
// which the feed has reached. What was made before is read on where it serves,
// else made anew around the page.
func (h *histories) page(ctx context.Context, f *feed, q reducer.PageQuery, min uint64) (reducer.Page, uint64, error) {
	e := h.entry(f)
	e.making.Lock()
	defer e.making.Unlock()
	if e.agent != nil {
		if err := e.readOn(ctx, min); err != nil {
			return reducer.Page{}, 0, err
		}
		if page, ok, err := e.past.page(q); err != nil || ok {
			return page, e.agent.Seq(), err
		}
	}
	if q.After != "" {
		return e.after(ctx, q, h.bytes, min)
	}
	if err := e.make(ctx, above(q), h.bytes, min); err != nil {
		return reducer.Page{}, 0, err
	}
	page, _, err := e.past.page(q) // with fewer turns where not all of them fit
	return page, e.agent.Seq(), err
}

// after makes the history around the turns that follow one. How far it has to
// reach is a guess, because undone turns leave gaps in the numbers: it reaches
// further when the page needs more, and the page gets smaller when not all of
// it fits.
func (e *history) after(ctx context.Context, q reducer.PageQuery, bytes int, min uint64) (reducer.Page, uint64, error) {
	span := q.Size
	for range 16 {
		if err := e.make(ctx, reducer.TurnOrdinal(q.After)+1+span, bytes, min); err != nil {
			return reducer.Page{}, 0, err
		}
		page, ok, err := e.past.page(q)
		switch {
		case err != nil || ok:
			return page, e.agent.Seq(), err
		case page.Incomplete && q.Size > 1:
			q.Size /= 2
			span = q.Size
		default:
			span *= 2
		}
	}
	return reducer.Page{}, 0, unavailable("the turns after " + q.After + " are too large to be made again; ask for them by before_turn")
}

// readOn folds what has been stored since.
func (e *history) readOn(ctx context.Context, upTo uint64) error {
	if e.agent.Seq() >= upTo {
		return nil
	}
	for rec, err := range e.feed.continued(ctx, e.agent) {
		if err != nil {
			return err
		}
		e.past.apply(e.agent.Step(rec).Ops)
	}
	return e.feed.behind(e.agent.Seq(), upTo)
}

// make folds the log from its start.
func (e *history) make(ctx context.Context, hi, bytes int, upTo uint64) error {
	e.agent, e.past = nil, nil
	past := newPast(string(e.feed.agent), hi, bytes)
	agent, err := e.feed.refold(ctx, upTo, func(_ *fold.Agent, b fold.Batch) bool {
		past.apply(b.Ops)
		return true
	}, fold.WithSink(past), fold.TreeOnly())
	if err != nil {
		return err
	}
	e.agent, e.past = agent, past
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
