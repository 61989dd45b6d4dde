package jslog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Bounds of what waits for a reader of live records. Beyond them records are
// dropped, which shows as a gap.
const (
	livePendingMsgs  = 16 << 10
	livePendingBytes = 16 << 20
)

// Live implements eventlog.Log.
func (l *Log) Live(ctx context.Context, s events.SessionID) (eventlog.Tail, error) {
	slot := s.Slot(l.cfg.Slots)
	sub, err := l.nc.SubscribeSync(fmt.Sprintf("%s%d.%s.*", events.PrefixLive, slot, s.Token()))
	if err != nil {
		return nil, fmt.Errorf("subscribe to session %s: %w", s, readError(ctx, err))
	}
	live := &live{sub: sub, slot: slot}
	if err := sub.SetPendingLimits(livePendingMsgs, livePendingBytes); err != nil {
		return nil, errors.Join(fmt.Errorf("limit what waits of session %s: %w", s, err), live.Close())
	}
	// Records stored from now on must come: the server has to know of the
	// subscription when Live returns.
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := l.nc.FlushWithContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("subscribe to session %s: %w", s, readError(ctx, err)), live.Close())
	}
	return live, nil
}

type live struct {
	sub  *nats.Subscription
	slot int
}

// Next implements eventlog.Tail.
func (t *live) Next(ctx context.Context, buf []eventlog.Record, limit int) ([]eventlog.Record, error) {
	for n := 0; n == 0; {
		m, err := t.sub.NextMsgWithContext(ctx)
		for err == nil {
			if r, ok := t.record(m); ok {
				buf = append(buf, r)
				n++
			}
			if waiting, _, perr := t.sub.Pending(); perr != nil || waiting == 0 || n >= limit {
				break
			}
			m, err = t.sub.NextMsgWithContext(ctx)
		}
		switch {
		case err == nil, errors.Is(err, nats.ErrSlowConsumer): // dropped records show as a gap
		case n > 0:
			return buf, nil // the error comes again
		case errors.Is(err, nats.ErrBadSubscription), errors.Is(err, nats.ErrConnectionClosed):
			return buf, eventlog.ErrClosed
		default:
			return buf, fmt.Errorf("next live record: %w", err)
		}
	}
	return buf, nil
}

func (t *live) record(m *nats.Msg) (eventlog.Record, bool) {
	slot, s, a, err := events.ParseLiveSubject(m.Subject)
	if err != nil || slot != t.slot {
		return eventlog.Record{}, false
	}
	seq, err1 := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	prev, err2 := strconv.ParseUint(m.Header.Get("Nats-Last-Sequence"), 10, 64)
	at, err3 := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err1 != nil || err2 != nil || err3 != nil {
		return eventlog.Record{}, false // not by the server: the gap will show
	}
	r := eventlog.Record{Session: s, Agent: a, Slot: slot, StreamSeq: seq, Prev: prev, StoredAt: at.UTC(), Data: m.Data}
	applyHeaders(&r, m.Header)
	return r, true
}

// Pending implements eventlog.Tail.
func (t *live) Pending() uint64 { return 0 }

// Close implements eventlog.Tail.
func (t *live) Close() error {
	err := t.sub.Unsubscribe()
	if err == nil || errors.Is(err, nats.ErrBadSubscription) || errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return fmt.Errorf("close live records: %w", err)
}
