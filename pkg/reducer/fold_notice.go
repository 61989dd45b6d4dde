package reducer

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// foldNotices counts what is reported by one marker each: the malformed fields
// by event type and field, and what admission finds.
type foldNotices struct {
	byKey map[string]*foldNotice
	order []*foldNotice // in the order in which they arose
	bad   []badField    // of the present event, reported at its end
}

// maxNotices bounds the counters. Types and fields are names in this program,
// so only the runs of admission can reach it; the oldest is then forgotten.
const maxNotices = 1000

type foldNotice struct {
	key      string
	count    int
	markerID string
}

type badField struct{ typ, field, problem string }

func (n *foldNotices) init() { n.byKey = map[string]*foldNotice{} }

// badField remembers a malformed field of the present event, once.
func (f *Fold) badField(field, problem string) {
	typ := ""
	if f.ev != nil {
		typ = f.ev.Type
	}
	for _, b := range f.notices.bad {
		if b.typ == typ && b.field == field {
			return
		}
	}
	f.notices.bad = append(f.notices.bad, badField{typ, field, problem})
}

// reportFields turns the malformed fields of the event into notices.
func (f *Fold) reportFields() {
	for _, b := range f.notices.bad {
		f.count(Notice{
			Key: "field\x00" + b.typ + "\x00" + b.field, Level: LevelWarning, Event: b.typ, Field: b.field,
			Message: b.typ + ": " + b.field + " " + b.problem,
		})
	}
	f.notices.bad = f.notices.bad[:0]
}

// Notice is something the reader of a transcript should know about its log.
type Notice struct {
	Key     string // notices of one key share a marker and a count
	Level   NoticeLevel
	Message string
	Event   string // event type, or ""
	Field   string // path inside the payload, or ""
	Detail  Raw    // or ""
}

// Notice counts a notice; its marker is shown and raised at 1, 2, 4, 8 ….
func (f *Fold) Notice(n Notice) { f.count(n) }

func (f *Fold) count(n Notice) {
	c := f.notices.byKey[n.Key]
	if c == nil {
		c = &foldNotice{key: n.Key}
		f.notices.add(c)
	}
	c.count++
	if c.count&(c.count-1) != 0 {
		return
	}
	f.show(c, noticePayload(n, c.count))
}

// show raises the marker of a counter, or makes one.
func (f *Fold) show(c *foldNotice, payload Raw) {
	if item := f.items[c.markerID]; item != nil && item.marker != nil {
		m := *item.marker
		m.Payload = payload
		f.replaceMarker(item, &m)
		return
	}
	c.markerID = f.addMarker("notice", payload)
}

// NoticeOnce shows a notice whose marker is replaced each time, without a
// count of its own; markerID names the one to replace if it is still held.
func (f *Fold) NoticeOnce(markerID string, n Notice) (newID string) {
	payload := noticePayload(n, 0)
	if item := f.items[markerID]; item != nil && item.marker != nil {
		m := *item.marker
		m.Payload = payload
		f.replaceMarker(item, &m)
		return markerID
	}
	return f.addMarker("notice", payload)
}

func (n *foldNotices) add(c *foldNotice) {
	if len(n.order) >= maxNotices {
		delete(n.byKey, n.order[0].key)
		n.order = append(n.order[:0], n.order[1:]...)
	}
	n.byKey[c.key] = c
	n.order = append(n.order, c)
}

func noticePayload(n Notice, count int) Raw {
	dst := append([]byte(nil), `{"level":`...)
	dst = scan.AppendQuote(dst, string(n.Level))
	dst = scan.AppendQuote(append(dst, `,"message":`...), n.Message)
	if n.Event != "" {
		dst = scan.AppendQuote(append(dst, `,"event":`...), n.Event)
	}
	if n.Field != "" {
		dst = scan.AppendQuote(append(dst, `,"field":`...), n.Field)
	}
	if count > 0 {
		dst = strconv.AppendInt(append(dst, `,"count":`...), int64(count), 10)
	}
	if n.Detail != "" {
		dst = append(append(dst, `,"detail":`...), n.Detail...)
	}
	return Raw(append(dst, '}'))
}

// Counted shows a notice that somebody else counts: the marker of its key is
// raised to count. Without a key it has a marker of its own, and no count.
func (f *Fold) Counted(key string, count int, n Notice) {
	if key == "" {
		f.addMarker("notice", noticePayload(n, 0))
		return
	}
	c := f.notices.byKey[key]
	if c == nil {
		c = &foldNotice{key: key}
		f.notices.add(c)
	}
	c.count = count
	f.show(c, noticePayload(n, count))
}
