package jslog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Tail implements eventlog.Log.
//
// It is an ordered reader made of ephemeral pull consumers without
// acknowledgements. When the consumer is lost, skips a delivery, gives no sign
// of life or withholds a record, the tail makes another one behind the last
// record it returned. nats.go has such a reader, but it holds its lock and
// ignores the caller's context while it waits for a server.
func (l *Log) Tail(ctx context.Context, slot int, after uint64) (eventlog.Tail, error) {
	if err := l.checkSlot(slot); err != nil {
		return nil, err
	}
	t := &tail{
		log: l, slot: slot, last: after,
		filter: fmt.Sprintf("%s%d.>", events.PrefixStored, slot),
		status: l.nc.StatusChanged(nats.CONNECTED, nats.CLOSED),
		closed: make(chan struct{}),
	}
	if err := t.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("tail slot %d: %w", slot, err), t.Close())
	}
	return t, nil
}

// tail's fields belong to the reading goroutine but for those that say
// otherwise.
type tail struct {
	log    *Log
	slot   int
	filter string
	status chan nats.Status

	mu      sync.Mutex // guards writes of cons against Close
	cons    *consumer  // nil when it has to be made
	created time.Time  // of the stream
	last    uint64     // stream sequence of the last record returned
	strays  int        // messages left out
	pending atomic.Uint64

	closing sync.Once
	closed  chan struct{} // closed by Close
}

// Next implements eventlog.Tail.
func (t *tail) Next(ctx context.Context, buf []eventlog.Record, limit int) ([]eventlog.Record, error) {
	start := len(buf)
	for {
		if err := t.ready(ctx); err != nil {
			return buf, err
		}
		buf = t.drain(buf, start+limit)
		if len(buf) > start {
			return buf, nil
		}
		if t.cons == nil {
			continue
		}
		m, err := t.wait(ctx)
		if err != nil {
			return buf, err
		}
		if m != nil {
			buf = t.take(buf, m)
		}
	}
}

// drain takes what has arrived, until buf has limit records.
func (t *tail) drain(buf []eventlog.Record, limit int) []eventlog.Record {
	for len(buf) < limit && t.cons != nil {
		select {
		case m := <-t.cons.msgs:
			buf = t.take(buf, m)
		default:
			return buf
		}
	}
	return buf
}

// ready makes a consumer when there is none and keeps it supplied with
// requests.
func (t *tail) ready(ctx context.Context) error {
	select {
	case <-t.closed:
		return eventlog.ErrClosed
	default:
	}
	if t.cons == nil {
		if err := t.reconnect(ctx); err != nil {
			return err
		}
	}
	if err := t.cons.refill(); err != nil {
		t.drop("cannot_ask_for_more")
	}
	return nil
}

// wait blocks until a message is there or something has changed; then the
// message is nil.
func (t *tail) wait(ctx context.Context) (*nats.Msg, error) {
	silence := time.NewTimer(time.Until(t.cons.heard.Add(t.log.cfg.Heartbeat * 5 / 2)))
	defer silence.Stop()
	watchdog := time.NewTimer(time.Until(t.cons.checked.Add(t.log.cfg.Watchdog)))
	defer watchdog.Stop()
	select {
	case m := <-t.cons.msgs:
		return m, nil
	case st := <-t.status:
		if st == nats.CLOSED {
			return nil, eventlog.ErrClosed
		}
		// What was on its way when the connection broke is lost, and no later
		// delivery may ever show it.
		t.drop("reconnected")
	case <-silence.C:
		t.drop("no_heartbeat")
	case <-watchdog.C:
		t.check(ctx)
	case <-t.closed:
		return nil, eventlog.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, nil
}

// take handles one message of the consumer. Anything out of order ends the
// consumer.
func (t *tail) take(buf []eventlog.Record, m *nats.Msg) []eventlog.Record {
	t.cons.heard = time.Now()
	if len(m.Data) == 0 && len(m.Header) > 0 {
		if status := m.Header.Get("Status"); status != "" {
			if why := t.cons.statusMessage(m, status); why != "" {
				t.drop(why)
			}
			return buf
		}
	}
	meta, err := m.Metadata()
	if err != nil || meta.Sequence.Consumer != t.cons.delivered+1 {
		t.drop("delivery_out_of_order")
		return buf
	}
	t.cons.delivered++
	t.cons.asked--
	t.cons.checked = t.cons.heard
	t.last = meta.Sequence.Stream
	t.pending.Store(meta.NumPending)
	slot, s, a, err := events.ParseStoredSubject(m.Subject)
	if err != nil || slot != t.slot || s.Slot(t.log.cfg.Slots) != slot {
		t.stray(m.Subject)
		return buf
	}
	r := eventlog.Record{Session: s, Agent: a, Slot: slot, StreamSeq: t.last, StoredAt: meta.Timestamp.UTC(), Data: m.Data}
	if len(m.Header) > 0 {
		applyHeaders(&r, m.Header)
	}
	return append(buf, r)
}

// stray tells of a message that belongs to no agent log, since its subject is
// not the one the mapping makes of an id. It is told at 1, 2, 4, 8 …
func (t *tail) stray(subject string) {
	t.strays++
	if t.strays&(t.strays-1) == 0 {
		t.log.cfg.Logger.Warn("a message under a subject that no session has is left out",
			"subject", subject, "stream_seq", t.last, "count", t.strays)
	}
}

// check asks the leader for the next record of the slot. If there is one and
// the consumer had a whole watchdog interval to deliver it, it is stuck.
func (t *tail) check(ctx context.Context) {
	m, err := t.log.leaderGet(ctx, t.log.stream(t.slot), getRequest{Seq: t.last + 1, NextFor: t.filter})
	t.cons.checked = time.Now()
	if err == nil && time.Since(m.Time) > t.log.cfg.Watchdog/2 && len(t.cons.msgs) == 0 {
		t.drop("stuck")
	}
}

// drop gives the consumer up; Next makes another.
func (t *tail) drop(why string) {
	t.log.cfg.Logger.Debug("tail makes a new consumer", "slot", t.slot, "after", t.last, "why", why)
	t.cons.close()
	t.set(nil)
}

func (t *tail) set(c *consumer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cons = c
}

// reconnect tries to make a consumer until it succeeds, the tail is closed or
// ctx ends.
func (t *tail) reconnect(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(2*time.Second),
		backoff.WithRandomizationFactor(1), backoff.WithMaxElapsedTime(0))
	for {
		err := t.connect(ctx)
		if err == nil || errors.Is(err, eventlog.ErrReplaced) || errors.Is(err, eventlog.ErrClosed) || ctx.Err() != nil {
			return err
		}
		t.log.cfg.Logger.Debug("tail cannot make a consumer yet", "slot", t.slot, "error", err)
		timer := time.NewTimer(pause.NextBackOff())
		select {
		case <-timer.C:
		case st := <-t.status: // at once when the connection is back
			timer.Stop()
			if st == nats.CLOSED {
				return eventlog.ErrClosed
			}
		case <-t.closed:
			timer.Stop()
			return eventlog.ErrClosed
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// connect makes a consumer behind the last record.
func (t *tail) connect(ctx context.Context) error {
	info, err := t.log.info(ctx, t.slot)
	if err != nil {
		return gone(err)
	}
	if t.created.IsZero() {
		t.created = info.Created
	}
	if !info.Created.Equal(t.created) {
		return fmt.Errorf("stream %s: %w", info.Config.Name, eventlog.ErrReplaced)
	}
	cons, err := newConsumer(ctx, t.log, t.log.stream(t.slot), t.filter, t.last+1)
	if err != nil {
		return gone(err)
	}
	t.set(cons)
	select {
	case <-t.closed: // Close may have come before set
		cons.close()
		return eventlog.ErrClosed
	default:
		return nil
	}
}

// Pending implements eventlog.Tail.
func (t *tail) Pending() uint64 { return t.pending.Load() }

// Close implements eventlog.Tail.
func (t *tail) Close() error {
	t.closing.Do(func() {
		close(t.closed)
		t.log.nc.RemoveStatusListener(t.status)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.cons != nil {
			t.cons.close()
		}
	})
	return nil
}
