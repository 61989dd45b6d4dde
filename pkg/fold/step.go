package fold

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// Step folds the next record of the log. It never fails: a bad message folds
// into a notice. The record's Data may have its line breaks replaced by
// spaces, and is not kept.
func (a *Agent) Step(rec Record) Batch {
	b := Batch{Seq: rec.Seq, SeqTo: rec.Seq, StreamSeq: rec.StreamSeq}
	if rec.Kind == Lost {
		b.SeqTo = max(rec.Seq, rec.SeqTo)
	}
	a.seq, a.streamSeq = b.SeqTo, rec.StreamSeq
	a.tree.Begin(rec.Seq, rec.StoredAt)
	a.fold(rec, &b)
	if a.derived != nil {
		a.derived.resume.Advance(b.SeqTo)
	}
	return b
}

// fold folds the record and recovers from a panic of the fold: what was done
// up to there stays, and readers are told by a reset.
func (a *Agent) fold(rec Record, b *Batch) {
	defer func() {
		if v := recover(); v != nil {
			b.Ops = a.tree.Recover(a.ev.Type)
		}
	}()
	var d admit.Decision
	admitted := false
	switch {
	case rec.Kind == Lost:
		a.foldLost(b)
	case events.Read(rec.Data, a.session, a.agent, &a.ev) != nil:
		a.foldInvalid(rec.Data)
	default:
		d = a.foldEvent(b, rec.StoredAt)
		admitted = d.Outcome == admit.Admitted
	}
	b.Ops = a.tree.End()
	if a.derived != nil && admitted {
		a.derived.step(b, d, a)
	}
	a.ev = events.Event{}
}

func (a *Agent) foldEvent(b *Batch, storedAt int64) admit.Decision {
	ev := &a.ev
	d := a.admit.Admit(b.Seq, ev)
	if d.Outcome == admit.Admitted && !d.Late {
		a.count(storedAt)
		if d.NewRun || d.NewSource {
			a.tree.NewRun(ev, d.Former == "")
		}
		if !a.tree.Event(ev) {
			b.Unknown = a.firstUnknown(ev.Type)
		}
	}
	// Behind the event, so that its markers have the ids that they have in a
	// log without doubles and disorder.
	if len(d.Notices) > 0 {
		a.notices(d.Notices)
	}
	return d
}

// count keeps the number and times of admitted events.
func (a *Agent) count(storedAt int64) {
	a.events++
	a.last.set(a.ev.Timestamp, storedAt)
	if a.events == 1 {
		a.first = a.last.millis()
	}
}

// lastTime is the time of the newest admitted event. It is read far less often
// than it is set, so it is kept as it was written.
type lastTime struct {
	text     [40]byte
	n        int
	storedAt int64
}

func (l *lastTime) set(timestamp string, storedAt int64) {
	l.storedAt = storedAt
	l.n = 0
	if len(timestamp) <= len(l.text) {
		l.n = copy(l.text[:], timestamp)
	} else if ms, ok := events.ParseTime(timestamp); ok {
		l.storedAt = ms
	}
}

// millis returns the time in Unix milliseconds.
func (l *lastTime) millis() int64 {
	if ms, ok := events.ParseTime(string(l.text[:l.n])); ok {
		return ms
	}
	return l.storedAt
}

// maxUnknown bounds the unknown types that are remembered.
const maxUnknown = 1000

// firstUnknown returns the type when it occurs for the first time, else "".
func (a *Agent) firstUnknown(typ string) string {
	h := fnv.New64a()
	h.Write([]byte(typ))
	sum := h.Sum64()
	if slices.Contains(a.unknown, sum) || len(a.unknown) >= maxUnknown {
		return ""
	}
	a.unknown = append(a.unknown, sum)
	return strings.Clone(typ)
}

// foldInvalid folds a stored message that is no valid event.
func (a *Agent) foldInvalid(data []byte) {
	reason := "is no valid event"
	if err := events.Read(data, a.session, a.agent, &a.ev); err != nil {
		reason = err.Error()
	}
	a.ev = events.Event{}
	runID, n := events.Salvage(data)
	a.notices(a.admit.Invalid(runID, n).Notices)
	a.tree.Notice(reducer.Notice{
		Key: "invalid", Level: reducer.LevelWarning, Event: "invalid",
		Message: "a stored message is no valid event: " + clip(reason),
	})
}

// clip bounds a text that may quote a message.
func clip(s string) string {
	const limit = 300
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:limit], "\uFFFD") + "…"
}

// lostRange is a range of lost records that is shown by one marker.
type lostRange struct {
	from, to uint64
	markerID string
}

// foldLost folds a range of lost records. Ranges that follow each other are
// one, however they were recorded.
func (a *Agent) foldLost(b *Batch) {
	a.admit.Lost()
	if a.lost.markerID == "" || a.lost.to+1 != b.Seq {
		a.lost = lostRange{from: b.Seq}
	}
	a.lost.to = b.SeqTo
	message := "record " + strconv.FormatUint(a.lost.from, 10) + " is lost"
	if a.lost.to > a.lost.from {
		message = "records " + strconv.FormatUint(a.lost.from, 10) + " to " + strconv.FormatUint(a.lost.to, 10) + " are lost"
	}
	a.lost.markerID = a.tree.NoticeOnce(a.lost.markerID, reducer.Notice{
		Level: reducer.LevelError, Event: "lost", Message: message,
	})
}
