// Package memlog is the event log in memory, for tests. It can be told to
// fail: see Faults and the methods that begin with Set, Hold and Trim. All
// faults are chosen by the test, none by a clock or by chance.
package memlog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

var _ eventlog.Log = (*Log)(nil)

// maxMessage is the largest message, as topology sets it for the real stream.
const maxMessage = 1<<20 + 64<<10

// Log implements eventlog.Log on one stream.
type Log struct {
	slots int
	now   func() time.Time
	limit int64

	mu       sync.Mutex // guards everything below
	faults   Faults
	stream   eventlog.StreamID
	first    uint64 // sequence of recs[0]
	recs     []stored
	bytes    int64
	latest   map[subject]uint64
	ids      map[string]uint64
	offline  bool
	held     uint64        // tails see nothing above; MaxUint64 = all
	visible  uint64        // Range sees nothing above
	changed  chan struct{} // closed and replaced at each change
	lives    map[*live]struct{}
	replaced int // how often Replace was called
}

type subject struct {
	session events.SessionID
	agent   events.AgentID
}

type stored struct {
	rec  eventlog.Record
	gone bool // purged
}

// Option changes a new log.
type Option func(*Log)

// WithClock sets what StoredAt is read from, time.Now by default.
func WithClock(now func() time.Time) Option { return func(l *Log) { l.now = now } }

// WithByteLimit makes Append return ErrFull above n bytes of data.
func WithByteLimit(n int64) Option { return func(l *Log) { l.limit = n } }

// New returns an empty log.
func New(slots int, opts ...Option) *Log {
	l := &Log{
		slots: slots, now: time.Now, limit: math.MaxInt64, first: 1,
		latest: make(map[subject]uint64), ids: make(map[string]uint64),
		held: math.MaxUint64, visible: math.MaxUint64,
		changed: make(chan struct{}), lives: make(map[*live]struct{}),
	}
	for _, o := range opts {
		o(l)
	}
	l.stream = eventlog.StreamID{Name: "STENO_EVENTS_0", Created: l.now().UTC()}
	return l
}

// Slots implements eventlog.Log.
func (l *Log) Slots() int { return l.slots }

// Append implements eventlog.Log.
func (l *Log) Append(ctx context.Context, s events.SessionID, a events.AgentID, data []byte, msgID string) (eventlog.Ack, error) {
	if err := ctx.Err(); err != nil {
		return eventlog.Ack{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fault := NoFault
	if l.faults.Append != nil {
		fault = l.faults.Append(s, a, data)
	}
	ack, err := l.append(s, a, data, msgID, fault)
	if err != nil {
		return eventlog.Ack{}, fmt.Errorf("append to %s/%s: %w", s, a, err)
	}
	return ack, nil
}

func (l *Log) append(s events.SessionID, a events.AgentID, data []byte, msgID string, fault Fault) (eventlog.Ack, error) {
	switch {
	case l.offline || fault == LoseMessage:
		return eventlog.Ack{}, eventlog.ErrAmbiguous
	case len(data) > maxMessage:
		return eventlog.Ack{}, eventlog.ErrTooLarge
	}
	if seq, ok := l.ids[msgID]; ok && msgID != "" {
		return eventlog.Ack{StreamSeq: seq, Duplicate: true}, nil
	}
	if fault == Full || l.bytes+int64(len(data)) > l.limit {
		return eventlog.Ack{}, eventlog.ErrFull
	}
	seq := l.store(eventlog.Record{Session: s, Agent: a, StoredAt: l.now().UTC(), Data: slices.Clone(data)})
	if msgID != "" {
		l.ids[msgID] = seq
	}
	if fault == LoseAck {
		return eventlog.Ack{}, eventlog.ErrAmbiguous
	}
	return eventlog.Ack{StreamSeq: seq}, nil
}

// Put stores a record as a restore or repair does: with the time of the
// original, or as a placeholder when r.Lost is set. Faults do not apply.
func (l *Log) Put(r eventlog.Record) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Data = slices.Clone(r.Data)
	if r.Lost {
		r.Data = nil
	}
	return l.store(r)
}

func (l *Log) store(r eventlog.Record) uint64 {
	key := subject{r.Session, r.Agent}
	r.Slot = r.Session.Slot(l.slots)
	r.StreamSeq = l.last() + 1
	r.Prev = 0
	l.recs = append(l.recs, stored{rec: r})
	l.bytes += int64(len(r.Data))
	prev := l.latest[key]
	l.latest[key] = r.StreamSeq
	r.Prev = prev
	l.publish(r)
	l.wake()
	return r.StreamSeq
}

func (l *Log) publish(r eventlog.Record) {
	if l.offline || l.faults.Live != nil && l.faults.Live(r) {
		return
	}
	for sub := range l.lives {
		if sub.session == r.Session {
			sub.queue = append(sub.queue, r)
		}
	}
}

func (l *Log) last() uint64 { return l.first + uint64(len(l.recs)) - 1 }

// wake tells everyone who waits to look again.
func (l *Log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Range implements eventlog.Log.
func (l *Log) Range(ctx context.Context, s events.SessionID, a events.AgentID, after uint64, limit int) ([]eventlog.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reading(ctx); err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", s, a, err)
	}
	var recs []eventlog.Record
	for i := l.index(after); i < len(l.recs) && len(recs) < limit; i++ {
		r := l.recs[i]
		if r.rec.StreamSeq > l.visible {
			break
		}
		if !r.gone && r.rec.Session == s && r.rec.Agent == a {
			recs = append(recs, r.rec)
		}
	}
	return recs, nil
}

// index is the position of the first record with a sequence above after.
func (l *Log) index(after uint64) int {
	if after < l.first {
		return 0
	}
	return int(min(after-l.first+1, uint64(len(l.recs))))
}

func (l *Log) reading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.offline {
		return eventlog.ErrUnavailable
	}
	return nil
}

// Last implements eventlog.Log.
func (l *Log) Last(ctx context.Context, s events.SessionID, a events.AgentID) (eventlog.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reading(ctx); err != nil {
		return eventlog.Record{}, fmt.Errorf("read the last record of %s/%s: %w", s, a, err)
	}
	seq := l.latest[subject{s, a}]
	if seq == 0 {
		return eventlog.Record{}, fmt.Errorf("read the last record of %s/%s: %w", s, a, eventlog.ErrNotFound)
	}
	return l.recs[seq-l.first].rec, nil
}

// Agents implements eventlog.Log.
func (l *Log) Agents(ctx context.Context, s events.SessionID) ([]events.AgentID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reading(ctx); err != nil {
		return nil, fmt.Errorf("list the agents of %s: %w", s, err)
	}
	var agents []events.AgentID
	for key := range l.latest {
		if key.session == s {
			agents = append(agents, key.agent)
		}
	}
	return agents, nil
}

// Bounds implements eventlog.Log.
func (l *Log) Bounds(ctx context.Context, slot int) (eventlog.Bounds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reading(ctx); err != nil {
		return eventlog.Bounds{}, fmt.Errorf("read the bounds of slot %d: %w", slot, err)
	}
	if slot < 0 || slot >= l.slots {
		return eventlog.Bounds{}, fmt.Errorf("slot %d: there are slots 0 to %d", slot, l.slots-1)
	}
	b := eventlog.Bounds{Stream: l.stream, First: l.first, Last: l.last()}
	for _, r := range l.recs {
		if !r.gone {
			break
		}
		b.First++
	}
	return b, nil
}
