package memlog

import (
	"context"
	"fmt"
	"sync"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Tail implements eventlog.Log.
func (l *Log) Tail(ctx context.Context, slot int, after uint64) (eventlog.Tail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reading(ctx); err != nil {
		return nil, fmt.Errorf("tail slot %d: %w", slot, err)
	}
	if slot < 0 || slot >= l.slots {
		return nil, fmt.Errorf("slot %d: there are slots 0 to %d", slot, l.slots-1)
	}
	return &tail{log: l, slot: slot, last: after, stream: l.replaced, closed: make(chan struct{})}, nil
}

type tail struct {
	log    *Log
	slot   int
	stream int // value of log.replaced at the start

	last uint64 // guarded by log.mu

	closing sync.Once
	closed  chan struct{}
}

// Next implements eventlog.Tail.
func (t *tail) Next(ctx context.Context, buf []eventlog.Record, limit int) ([]eventlog.Record, error) {
	for {
		select {
		case <-t.closed:
			return buf, eventlog.ErrClosed
		default:
		}
		out, changed, err := t.take(buf, limit)
		if err != nil || len(out) > len(buf) {
			return out, err
		}
		select {
		case <-changed:
		case <-t.closed:
		case <-ctx.Done():
			return buf, ctx.Err()
		}
	}
}

func (t *tail) take(buf []eventlog.Record, limit int) ([]eventlog.Record, <-chan struct{}, error) {
	l := t.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.replaced != t.stream {
		return buf, nil, fmt.Errorf("tail slot %d: %w", t.slot, eventlog.ErrReplaced)
	}
	if l.offline {
		return buf, l.changed, nil
	}
	n := 0
	for i := l.index(t.last); i < len(l.recs) && n < limit; i++ {
		r := l.recs[i]
		if r.rec.StreamSeq > l.held {
			break
		}
		t.last = r.rec.StreamSeq
		if !r.gone && r.rec.Slot == t.slot {
			buf = append(buf, r.rec)
			n++
		}
	}
	return buf, l.changed, nil
}

// Pending implements eventlog.Tail.
func (t *tail) Pending() uint64 {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	var n uint64
	for i := t.log.index(t.last); i < len(t.log.recs); i++ {
		if r := t.log.recs[i]; !r.gone && r.rec.Slot == t.slot {
			n++
		}
	}
	return n
}

// Close implements eventlog.Tail.
func (t *tail) Close() error {
	t.closing.Do(func() { close(t.closed) })
	return nil
}

// Live implements eventlog.Log.
func (l *Log) Live(ctx context.Context, s events.SessionID) (eventlog.Tail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reading(ctx); err != nil {
		return nil, fmt.Errorf("subscribe to session %s: %w", s, err)
	}
	t := &live{log: l, session: s}
	l.lives[t] = struct{}{}
	return t, nil
}

type live struct {
	log     *Log
	session events.SessionID

	queue  []eventlog.Record // guarded by log.mu
	closed bool              // guarded by log.mu
}

// Next implements eventlog.Tail.
func (t *live) Next(ctx context.Context, buf []eventlog.Record, limit int) ([]eventlog.Record, error) {
	for {
		out, changed, err := t.take(buf, limit)
		if err != nil || len(out) > len(buf) {
			return out, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return buf, ctx.Err()
		}
	}
}

func (t *live) take(buf []eventlog.Record, limit int) ([]eventlog.Record, <-chan struct{}, error) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	if t.closed {
		return buf, nil, eventlog.ErrClosed
	}
	n := min(limit, len(t.queue))
	buf = append(buf, t.queue[:n]...)
	t.queue = t.queue[n:]
	return buf, t.log.changed, nil
}

// Pending implements eventlog.Tail.
func (t *live) Pending() uint64 { return 0 }

// Close implements eventlog.Tail.
func (t *live) Close() error {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	t.closed = true
	delete(t.log.lives, t)
	t.log.wake()
	return nil
}
