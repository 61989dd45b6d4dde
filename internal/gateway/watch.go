package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
)

// watch is one subscription to a session: for each agent a cursor into its
// feed. The client's requests change it from one goroutine, the connection's
// writer pumps it from another; mu lies between them.
type watch struct {
	queued
	s      *session
	notify func() // tells the writer that there may be something

	mu      sync.Mutex
	spec    grade.Spec
	inputs  bool // the client takes appends to a tool's arguments
	window  int  // turns of a reset
	since   map[string]uint64
	epoch   string // the since cursors belong to; "" when not given
	cursors map[events.AgentID]*cursor
	order   []*cursor
	again   bool   // the client may hold state of agents without a cursor
	version uint64 // of the view that cursors were made from
	roster  uint64 // newest roster change told
}

// cursor is how far one agent has been told.
type cursor struct {
	feed     *feed
	v        variant
	seq      uint64 // every batch up to here has been told or is not for v
	told     uint64 // seq of the last message sent: the client's watermark
	baseline bool   // a reset or replay comes before anything else
	since    *uint64
	floor    uint64 // no reset below it
}

// newWatch makes a watch of nothing. again tells that the client may have
// watched the session before.
func newWatch(s *session, notify func(), again bool) *watch {
	return &watch{s: s, notify: notify, cursors: map[events.AgentID]*cursor{}, again: again}
}

func (w *watch) wake() { w.notify() }

// request is what a client asks of a session.
type request struct {
	spec   grade.Spec
	inputs bool
	window int
	since  map[string]uint64
	epoch  string
}

// set replaces what is watched. Agents whose grade stays get nothing, a drop
// gets nothing, a raise a reset; an agent that is new to the watch begins at
// its since cursor, where it can. told is called before anything else can be
// sent for the watch.
func (w *watch) set(r request, told func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer told()
	w.spec, w.inputs, w.window, w.since, w.epoch = r.spec, r.inputs, r.window, r.since, r.epoch
	for a, c := range w.cursors {
		g := w.spec.Of(string(a))
		switch {
		case g == grade.Off:
			delete(w.cursors, a)
			w.again = true
		case g > c.v.grade():
			c.baseline, c.since = true, nil
		}
		c.v = variantOf(g, w.inputs)
	}
	w.version = 0 // look at all agents again
}

// drop stops watching the named agents, or all when none is named, and tells
// whether nothing is watched any more. told is called as in set.
func (w *watch) drop(agents []string, told func()) (empty bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer told()
	if len(agents) == 0 {
		w.spec = nil
	} else {
		w.spec = w.spec.Detach(agents...)
	}
	for a := range w.cursors {
		if w.spec.Of(string(a)) == grade.Off {
			delete(w.cursors, a)
			w.again = true
		}
	}
	w.version = 0
	return len(w.spec) == 0
}

// share is how much of one agent's backlog a pump takes, so that a busy agent
// does not hold up the others.
const share = 16 << 10

// pump appends what is due, a share for each agent and at most one baseline,
// and tells whether more may be waiting. It asks the leader when a client's
// cursor is ahead of what has been read.
func (w *watch) pump(ctx context.Context, dst []message) (_ []message, more bool) {
	select {
	case <-w.s.ready:
	default:
		return dst, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.s.current()
	w.follow(v)
	dst = w.tellRoster(dst, v)
	began := false
	for _, c := range w.order {
		if c.baseline {
			if began { // one at a time, as the socket drains
				more = true
				continue
			}
			began = true
			if dst = w.begin(ctx, dst, c); c.baseline {
				continue // the leader does not answer; asked again at the next wake
			}
		}
		start := len(dst)
		var ok bool
		dst, c.seq, ok = c.feed.collect(dst, c.v, c.seq, share)
		if !ok { // fell behind the ring: the present instead of the backlog
			c.baseline, c.since, more = true, nil, true
		}
		if n := len(dst); n > start {
			c.told, more = dst[n-1].seq, true
		}
	}
	return dst, more
}

// follow makes cursors for agents that have appeared and are wanted.
func (w *watch) follow(v *view) {
	if w.version == v.version && v.version != 0 {
		return
	}
	w.version = v.version
	for _, f := range v.feeds {
		g := w.spec.Of(string(f.agent))
		if g == grade.Off || w.cursors[f.agent] != nil {
			continue
		}
		c := &cursor{feed: f, v: variantOf(g, w.inputs), baseline: true, since: w.sinceOf(f.agent)}
		if w.again {
			c.floor, _ = f.position()
		}
		w.cursors[f.agent] = c
	}
	w.order = w.order[:0]
	for _, c := range w.cursors {
		w.order = append(w.order, c)
	}
	slices.SortFunc(w.order, func(a, b *cursor) int { return v.rank[a.feed.agent] - v.rank[b.feed.agent] })
}

func (w *watch) sinceOf(a events.AgentID) *uint64 {
	if w.epoch != "" && w.epoch != w.s.epoch {
		return nil
	}
	for _, key := range [...]string{string(a), "*"} {
		if seq, ok := w.since[key]; ok {
			return &seq
		}
	}
	return nil
}

// begin gives an agent its baseline: nothing when the ring reaches back to the
// client's cursor, so that live begins with the replay, else a reset. While the
// leader cannot say whether the cursor is right, the baseline stays due.
func (w *watch) begin(ctx context.Context, dst []message, c *cursor) []message {
	if c.since != nil {
		since := *c.since
		if seq, _ := c.feed.position(); seq < since {
			ask, cancel := context.WithTimeout(ctx, w.s.src.limits.CatchUp)
			_, err := c.feed.catchUp(ask)
			cancel()
			if err != nil {
				return dst
			}
		}
		if c.feed.replayable(since, c.v) {
			c.baseline, c.since, c.seq, c.told = false, nil, since, since
			return dst
		}
		c.floor = max(c.floor, since)
	}
	m := c.feed.baseline(c.v, w.window, max(c.floor, c.told))
	c.baseline, c.since, c.floor, c.seq, c.told = false, nil, 0, m.seq, m.seq
	return append(dst, m)
}

// watermarks appends an empty transcript.ops for every cursor whose client has
// not been told how far its grade's sequence has come.
func (w *watch) watermarks(dst []message) []message {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.order {
		if c.baseline || c.seq <= c.told {
			continue
		}
		dst = append(dst, c.feed.enc.ops(nil, c.seq, c.told))
		c.told = c.seq
	}
	return dst
}

// due tells whether a baseline is still owed.
func (w *watch) due() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.order {
		if c.baseline {
			return true
		}
	}
	return false
}

// tellRoster appends agents.update with the descriptors that have changed.
func (w *watch) tellRoster(dst []message, v *view) []message {
	if w.spec == nil || w.roster == v.told {
		return dst
	}
	dst = append(dst, w.s.rosterMessage(v, w.roster))
	w.roster = v.told
	return dst
}
