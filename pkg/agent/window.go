package agent

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// The bounds of what may be on its way, counted from the lowest event that is
// not acknowledged, and how long an acknowledgement may take.
const (
	windowEvents = 2048
	windowBytes  = 4 << 20
	ackTimeout   = 5 * time.Second
)

// entry is one event waiting in the outbox. Its bytes are fixed once it has
// been sent, but for the replacement of a refused event.
type entry struct {
	data    []byte
	msgID   string // "" for events with n
	run     string // "" for events of no run
	counted bool   // has n
	sent    time.Time
	acked   uint64 // stream sequence, 0 while not acknowledged in this pass
}

// window decides which event goes out next and which count as stored. It knows
// no network, no lock and no clock but the times it is given.
//
// Events go out in order. A failure (a missing acknowledgement, a refusal, a
// lost connection) begins another pass: only the lowest unacknowledged event
// is sent until it is acknowledged, then everything after it in order, also
// what had been acknowledged in the former pass, because it was stored ahead
// of the missing one and readers passed over it.
type window struct {
	queue   fifo[entry]
	low     uint64 // index of the lowest event that does not count as stored
	next    uint64 // index of the next event to send; low <= next
	pass    uint64
	moved   time.Time // when low rose last
	alone   bool      // only the lowest may be on its way
	retry   time.Time // when alone: not before
	lastSeq uint64    // stream sequence of the last event with n that counted
	bytes   int       // of all events here
	flying  int       // of those on their way
	pause   backoff.BackOff
}

func newWindow() *window {
	return &window{pause: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(5*time.Second),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(1), // full jitter: between nothing and twice the interval
		backoff.WithMaxElapsedTime(0),      // no giving up
	)}
}

// end is the index behind the last event.
func (w *window) end() uint64 { return w.low + uint64(w.queue.len()) }

func (w *window) at(i uint64) *entry { return w.queue.at(int(i - w.low)) }

func (w *window) push(e entry) uint64 {
	w.queue.push(e)
	w.bytes += e.size()
	return w.end() - 1
}

// size is what an event counts for: its bytes and what keeping it costs.
func (e *entry) size() int { return len(e.data) + 128 }

// take returns the index of the next event to send, if one may be sent now,
// and marks it as sent.
func (w *window) take(now time.Time) (uint64, bool) {
	if w.next == w.end() || !w.open(now) {
		return 0, false
	}
	i := w.next
	e := w.at(i)
	e.sent = now
	w.flying += e.size()
	w.next++
	return i, true
}

// open says whether the event at next may be sent now.
func (w *window) open(now time.Time) bool {
	if w.next == w.low { // nothing is on its way
		return !w.alone || !now.Before(w.retry)
	}
	e := w.at(w.next)
	return !w.alone &&
		w.next-w.low < windowEvents &&
		w.flying+e.size() <= windowBytes &&
		w.at(w.next-1).run == e.run // a run begins when the former one is stored
}

// wake is when take or expired will change their answer without anything else
// happening; zero for never.
func (w *window) wake() time.Time {
	switch {
	case w.next > w.low:
		return w.deadline()
	case w.alone && w.next < w.end():
		return w.retry
	default:
		return time.Time{}
	}
}

// expired says whether the lowest event has waited too long.
func (w *window) expired(now time.Time) bool {
	return w.next > w.low && !now.Before(w.deadline())
}

// deadline is when the lowest event on its way expires: after it was sent, and
// after the one before it was acknowledged, since a slow server takes its time
// for each of a full window.
func (w *window) deadline() time.Time {
	since := w.at(w.low).sent
	if w.moved.After(since) {
		since = w.moved
	}
	return since.Add(ackTimeout)
}

// ack takes the acknowledgement of event i as sent in a pass. It returns
// false when that shows that events were stored out of order, which is a
// failure.
func (w *window) ack(now time.Time, pass, i, seq uint64) bool {
	if i < w.low || i >= w.end() || w.at(i).sent.IsZero() {
		return true
	}
	if pass != w.pass {
		// A late one of a former pass counts for the lowest event only;
		// everything after it is sent again anyway.
		if e := w.at(i); i == w.low && (!e.counted || seq > w.lastSeq) {
			w.advance(now, seq)
		}
		return true
	}
	if i < w.next {
		w.at(i).acked = seq
	}
	for w.low < w.next && w.at(w.low).acked > 0 {
		e := w.at(w.low)
		// The event before was acknowledged before this one was sent when it
		// goes alone: then a lower sequence can only mean another stream.
		if e.counted && e.acked <= w.lastSeq && !w.alone {
			return false
		}
		w.advance(now, e.acked)
	}
	return true
}

// advance counts the lowest event as stored.
func (w *window) advance(now time.Time, seq uint64) {
	w.moved = now
	e := w.queue.pop()
	w.bytes -= e.size()
	if e.counted {
		w.lastSeq = seq
	}
	if w.next == w.low {
		w.next++
	} else {
		w.flying -= e.size()
	}
	w.low++
	if w.alone {
		w.alone = false
		w.pause.Reset()
	}
}

// fail begins another pass after a pause.
func (w *window) fail(now time.Time) {
	for i := w.low; i < w.next; i++ {
		w.at(i).acked = 0
	}
	w.pass++
	w.next, w.flying, w.alone = w.low, 0, true
	w.retry = now.Add(w.pause.NextBackOff())
}

// hurry ends the pause: whatever was wrong has just been mended.
func (w *window) hurry(now time.Time) { w.retry = now }

// replace gives event i other bytes after it was refused for good.
func (w *window) replace(i uint64, data []byte) {
	e := w.at(i)
	w.bytes += len(data) - len(e.data)
	if i < w.next {
		w.flying += len(data) - len(e.data)
	}
	e.data = data
}
