package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stenohq/steno/pkg/protocol"
)

// filter selects rows of the session list.
type filter struct {
	text, state, host string
}

func (f filter) match(r *row, t time.Time) bool {
	if f.state != "" && r.stateNow(t) != f.state || f.host != "" && r.host != f.host {
		return false
	}
	if f.text == "" {
		return true
	}
	return strings.Contains(strings.ToLower(r.id+"\n"+r.title+"\n"+r.host), f.text)
}

func (f filter) check() *problem {
	switch f.state {
	case "", "waiting", "running", "stale", "failed", "done":
		return nil
	}
	return badRequest("bad_parameter", "state "+shown(f.state)+" is not waiting, running, stale, failed or done")
}

// render is the row as clients see it: the document with the state of now.
func (r *row) render(t time.Time) json.RawMessage {
	state := r.stateNow(t)
	if state == r.state {
		return r.doc
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(r.doc, &doc); err != nil {
		return r.doc
	}
	doc["state"] = json.RawMessage(strconv.Quote(state))
	out, err := json.Marshal(doc)
	if err != nil {
		return r.doc
	}
	return out
}

// listSessions answers a page of the list. The cursor is the place of the last
// row told, so that pages stay right while sessions move.
func (c *call) listSessions() *problem {
	q := &c.query
	limit := q.number("limit", 50, 1, 200)
	var f filter
	f.text, _ = q.one("q")
	f.state, _ = q.one("state")
	f.host, _ = q.one("host")
	cursor, _ := q.one("cursor")
	q.fail(f.check())
	after, p := parseCursor(cursor)
	q.fail(p)
	if q.wrong != nil {
		return q.wrong
	}
	if !c.g.index.caught.Load() {
		return unavailable("the session list is still being read; try again in a moment")
	}
	f.text = strings.ToLower(f.text)
	rows, more := page(c.g.index.list(), f, after, limit)
	answer := map[string]any{"sessions": renderRows(rows), "has_more": more}
	if more {
		answer["next_cursor"] = rows[len(rows)-1].cursor()
	}
	return c.json(answer)
}

func renderRows(rows []*row) []json.RawMessage {
	t := time.Now()
	out := make([]json.RawMessage, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.render(t))
	}
	return out
}

// page returns up to limit matching rows behind after, nil for the first page.
func page(rows []*row, f filter, after *row, limit int) (_ []*row, more bool) {
	if after != nil {
		rows = rows[sort.Search(len(rows), func(i int) bool { return after.before(rows[i]) }):]
	}
	t := time.Now()
	var out []*row
	for _, r := range rows {
		if !f.match(r, t) {
			continue
		}
		if len(out) == limit {
			return out, true
		}
		out = append(out, r)
	}
	return out, false
}

func (r *row) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(r.active.UnixNano(), 10) + "/" + r.id))
}

func parseCursor(s string) (*row, *problem) {
	if s == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	at, id, ok := strings.Cut(string(data), "/")
	ns, err2 := strconv.ParseInt(at, 10, 64)
	if err != nil || err2 != nil || !ok {
		return nil, badRequest("bad_cursor", "cursor is none that this list has given; begin without one")
	}
	return &row{id: id, active: time.Unix(0, ns)}, nil
}

// listWatch is a connection's subscription to the session list.
type listWatch struct {
	queued
	x      *index
	notify func()
	filter filter

	mu      sync.Mutex // guards what follows
	started bool
	ended   bool
	version uint64
	told    map[string]bool // sessions the client knows
}

// maxListed is how many rows a list subscription begins with.
const maxListed = 200

// pump tells what has changed since the last time.
func (l *listWatch) pump(_ context.Context, dst []message) ([]message, bool) {
	if !l.x.caught.Load() {
		return dst, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return dst, false
	}
	l.x.mu.Lock()
	changes, whole := l.x.since(l.version)
	whole = whole && l.started
	version := l.x.version
	var all []*row
	if !whole {
		all = l.x.ordered()
	}
	l.x.mu.Unlock()
	l.version = version
	if !whole {
		return append(dst, l.reset(all)), false
	}
	for _, r := range changes {
		if m, ok := l.tell(r); ok {
			dst = append(dst, m)
		}
	}
	return dst, false
}

func (l *listWatch) reset(all []*row) message {
	rows, more := page(all, l.filter, nil, maxListed)
	l.started = true
	l.told = make(map[string]bool, len(rows))
	for _, r := range rows {
		l.told[r.id] = true
	}
	return listMessage("sessions.reset", map[string]any{"sessions": renderRows(rows), "has_more": more})
}

func (l *listWatch) tell(r *row) (message, bool) {
	if !r.removed && l.filter.match(r, time.Now()) {
		l.told[r.id] = true
		return listMessage("sessions.upsert", map[string]any{"sessions": renderRows([]*row{r})}), true
	}
	if !l.told[r.id] {
		return message{}, false
	}
	delete(l.told, r.id)
	return listMessage("sessions.remove", map[string]any{"session_ids": []string{r.id}}), true
}

// since returns the last state of the rows changed behind a version, and
// whether the changes kept reach back to it. The caller holds mu.
func (x *index) since(version uint64) ([]*row, bool) {
	if len(x.changes) > 0 && version+1 < x.changes[0].version {
		return nil, false
	}
	i := sort.Search(len(x.changes), func(i int) bool { return x.changes[i].version > version })
	seen := map[string]bool{}
	var rows []*row
	for j := len(x.changes) - 1; j >= i; j-- {
		if r := x.changes[j].row; !seen[r.id] {
			seen[r.id] = true
			rows = append(rows, r)
		}
	}
	for a, b := 0, len(rows)-1; a < b; a, b = a+1, b-1 {
		rows[a], rows[b] = rows[b], rows[a]
	}
	return rows, true
}

// listMessage is {type, timestamp, payload} with a payload of JSON values.
func listMessage(kind string, payload map[string]any) message {
	payload["type"] = kind
	body, err := json.Marshal(map[string]any{"type": kind, "timestamp": now(), "payload": payload})
	if err != nil { // rows are JSON by construction
		body = []byte(`{"type":"resync_required","payload":{"reason":"buffer_overflow"}}`)
	}
	return message{kind: kind, frame: append(appendFrameHeader(nil, len(body)), body...)}
}

// subscribeSessions begins the list anew with the client's filter.
func (c *conn) subscribeSessions(f *protocol.Control) *problem {
	var sub protocol.SubscribeSessions
	if len(f.Payload) > 0 {
		var err error
		if sub, err = protocol.DecodeSubscribeSessions(f.Payload); err != nil {
			return badRequest("malformed", err.Error())
		}
	}
	sel := filter{text: strings.ToLower(sub.Query), state: sub.State}
	if p := sel.check(); p != nil {
		return p
	}
	l := &listWatch{x: c.g.index, filter: sel}
	l.notify = func() { c.enqueue(l) }
	c.ack(f.ID, nothing{})
	c.setList(l)
	return nil
}

func (c *conn) unsubscribeSessions() { c.setList(nil) }

// setList replaces the connection's list subscription.
func (c *conn) setList(l *listWatch) {
	c.mu.Lock()
	old := c.list
	c.list = l
	c.mu.Unlock()
	x := c.g.index
	x.mu.Lock()
	if old != nil {
		delete(x.watched, old)
	}
	if l != nil {
		x.watched[l] = struct{}{}
	}
	x.mu.Unlock()
	if old != nil {
		old.mu.Lock()
		old.ended = true
		old.mu.Unlock()
	}
	if l != nil {
		c.enqueue(l)
	}
}
