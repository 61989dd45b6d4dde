package gateway

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// stream answers with server-sent events: the same messages as the WebSocket.
// An event's id holds the epoch and how far each agent has been told, so that
// Last-Event-ID resumes.
func (c *call) stream() *problem {
	req, p := c.streamRequest()
	if p != nil {
		return p
	}
	life, done, ok := c.g.enter()
	if !ok {
		return unavailable("the gateway is starting or stopping; try again in a moment")
	}
	defer done()
	s, err := c.g.hub.loaded(c.r.Context(), c.session)
	if err != nil {
		return asProblem(err)
	}
	defer c.g.hub.release(s)
	signal := make(chan struct{}, 1)
	w := newWatch(s, func() { trySignal(signal) }, false)
	w.set(req, func() {})
	s.attach(w)
	defer s.detach(w)
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := &sse{w: c.w, rc: http.NewResponseController(c.w), epoch: s.epoch, stall: c.g.cfg.Limits.SlowClient, told: map[string]uint64{}}
	maps.Copy(out.told, req.since)
	trySignal(signal)
	out.run(c.r.Context(), life, w, signal, c.g.cfg.Limits)
	return nil
}

func (c *call) streamRequest() (request, *problem) {
	agent := "*"
	if s, _ := c.query.one("agent_id"); s != "*" {
		agent = string(c.query.agent())
	}
	g := c.query.grade(grade.Delta)
	window := c.query.number("window_turns", c.g.cfg.Limits.WindowTurns, 0, maxPage)
	if c.query.wrong != nil {
		return request{}, c.query.wrong
	}
	r := request{spec: grade.Spec{agent: g}, window: window, inputs: c.query.capability("append_input")}
	last := c.r.Header.Get("Last-Event-ID")
	if last == "" {
		last, _ = c.query.one("last_event_id")
	}
	if last == "" {
		return r, nil
	}
	cursor, err := protocol.ParseCursor(last)
	if err != nil {
		return r, badRequest("bad_event_id", "Last-Event-ID is none that this stream has given: "+err.Error())
	}
	r.epoch, r.since = cursor.Epoch, cursor.Seqs
	return r, nil
}

// sse writes server-sent events. One goroutine uses it.
type sse struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
	epoch string
	told  map[string]uint64 // by agent
	buf   bytes.Buffer
}

func (o *sse) run(ctx, life context.Context, w *watch, signal chan struct{}, limits Limits) {
	beat := time.NewTicker(limits.Heartbeat)
	defer beat.Stop()
	mark := time.NewTicker(limits.Watermark)
	defer mark.Stop()
	o.buf.WriteString("retry: 1000\n\n")
	var msgs []message
	for {
		more := true
		for more && ctx.Err() == nil {
			msgs, more = w.pump(ctx, msgs[:0])
			for _, m := range msgs {
				o.event(m)
			}
			if o.flush() != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-life.Done():
			return // the client reconnects with Last-Event-ID
		case <-signal:
		case <-beat.C:
			o.buf.WriteString(": beat\n\n")
		case <-mark.C:
			for _, m := range w.watermarks(nil) {
				o.event(m)
			}
		}
	}
}

func (o *sse) event(m message) {
	if m.agent != "" {
		o.told[m.agent] = m.seq
	}
	fmt.Fprintf(&o.buf, "event: %s\nid: %s\n", m.kind, protocol.Cursor{Epoch: o.epoch, Seqs: o.told})
	for line := range bytes.Lines(m.payload) {
		o.buf.WriteString("data: ")
		o.buf.Write(bytes.TrimRight(line, "\r\n"))
		o.buf.WriteByte('\n')
	}
	o.buf.WriteByte('\n')
}

// flush sends what is gathered; a client that takes nothing is let go.
func (o *sse) flush() error {
	if o.buf.Len() == 0 {
		return nil
	}
	data := o.buf.Bytes()
	for len(data) > 0 {
		piece := data[:min(len(data), pieceBytes)]
		_ = o.rc.SetWriteDeadline(time.Now().Add(o.stall)) // a writer without deadlines has none to set
		if _, err := o.w.Write(piece); err != nil {
			return err
		}
		data = data[len(piece):]
	}
	if o.buf.Cap() > gatherBytes {
		o.buf = bytes.Buffer{}
	}
	o.buf.Reset()
	return o.rc.Flush()
}

func trySignal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
