package memlog

import (
	"math"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Fault is what happens to one Append.
type Fault int

// The faults of an Append.
const (
	NoFault     Fault = iota
	LoseAck           // stored, but the caller gets ErrAmbiguous
	LoseMessage       // not stored, and the caller gets ErrAmbiguous
	Full              // ErrFull
)

// Faults are asked at each step; a nil function means none. They are called
// with the log's lock held and must not call it.
type Faults struct {
	// Append decides about one message.
	Append func(s events.SessionID, a events.AgentID, data []byte) Fault
	// Live says whether a stored record is kept from all live readers.
	Live func(r eventlog.Record) bool
}

// SetFaults replaces the faults.
func (l *Log) SetFaults(f Faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
}

// SetOffline cuts the log off: appends are ambiguous and not stored, reads
// unavailable, tails stand still, and live records are missed for good.
func (l *Log) SetOffline(off bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offline = off
	l.wake()
}

// Hold keeps records with a stream sequence above upTo from all tails, until
// Release.
func (l *Log) Hold(upTo uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = upTo
	l.wake()
}

// Release ends Hold.
func (l *Log) Release() { l.Hold(math.MaxUint64) }

// SetRangeLag makes Range answer like a replica that has nothing above upTo;
// math.MaxUint64 ends that.
func (l *Log) SetRangeLag(upTo uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.visible = upTo
}

// Trim removes all records up to a stream sequence, as trimming the stream
// does.
func (l *Log) Trim(upTo uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.recs) > 0 && l.first <= upTo {
		l.remove(0)
		l.recs = l.recs[1:]
		l.first++
	}
	if len(l.recs) == 0 && upTo >= l.first {
		l.first = upTo + 1
	}
	l.wake()
}

// Purge removes all records of one agent, as forgetting a session does.
func (l *Log) Purge(s events.SessionID, a events.AgentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.recs {
		if r := &l.recs[i]; r.rec.Session == s && r.rec.Agent == a {
			l.remove(i)
		}
	}
	l.wake()
}

func (l *Log) remove(i int) {
	r := &l.recs[i]
	if r.gone {
		return
	}
	r.gone = true
	l.bytes -= int64(len(r.rec.Data))
	key := subject{r.rec.Session, r.rec.Agent}
	if l.latest[key] == r.rec.StreamSeq {
		delete(l.latest, key)
	}
}

// ForgetIDs ends the de-duplication window for all message ids so far.
func (l *Log) ForgetIDs() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.ids)
}

// Replace empties the log and gives it another StreamID, as deleting the
// stream and making it anew does. Open tails return ErrReplaced.
func (l *Log) Replace() {
	l.mu.Lock()
	defer l.mu.Unlock()
	created := l.now().UTC()
	if !created.After(l.stream.Created) {
		created = l.stream.Created.Add(time.Nanosecond)
	}
	l.stream.Created = created
	l.first, l.recs, l.bytes = 1, nil, 0
	clear(l.latest)
	clear(l.ids)
	l.replaced++
	l.wake()
}
