package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
)

// conn is one WebSocket connection. Its reader, the handler's goroutine, does
// what the client asks; its writer alone sends. What the client watches is
// pulled by the writer as the socket drains, so a connection holds no backlog.
type conn struct {
	g    *Gateway
	id   string
	ws   *websocket.Conn
	sock *sock

	signal chan struct{} // capacity 1: there may be something to send

	nonce    uint64 // of the last ping; only the writer's
	unpinged int    // bytes sent behind it; only the writer's

	mu      sync.Mutex // guards what follows
	watches map[events.SessionID]*watch
	dirty   []puller
	out     [][]byte // control frames, at most maxControl
	inputs  bool     // capability append_input
	left    bool     // has watched sessions that it no longer watches
	list    *listWatch
	room    sync.Cond
	closed  bool
}

// puller is something that has messages for the connection.
type puller interface {
	pump(ctx context.Context, dst []message) ([]message, bool)
	// mark and unmark keep a puller from standing in line twice.
	mark() bool
	unmark()
}

// queued is the mark of a puller that stands in line.
type queued struct{ in atomic.Bool }

func (q *queued) mark() bool { return q.in.Swap(true) }
func (q *queued) unmark()    { q.in.Store(false) }

// maxControl bounds the answers waiting for a client that keeps asking.
const maxControl = 64

func (g *Gateway) serveWS(w http.ResponseWriter, r *http.Request) {
	life, done, ok := g.enter()
	if !ok {
		unavailable("the gateway is starting or stopping; try again in a moment").write(w, r)
		return
	}
	defer done()
	sk := &sock{stall: g.cfg.Limits.SlowClient, sendBytes: g.cfg.Limits.SendBytes}
	ws, err := websocket.Accept(&hijacker{w, sk}, r, &websocket.AcceptOptions{
		OriginPatterns: g.cfg.Origins, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return // Accept has answered
	}
	ws.SetReadLimit(g.cfg.Limits.MessageBytes)
	c := &conn{
		g: g, id: uuid.NewString(), ws: ws, sock: sk,
		signal: make(chan struct{}, 1), watches: map[events.SessionID]*watch{},
	}
	c.room.L = &c.mu
	c.serve(life) //nolint:contextcheck // the request's context means nothing once the connection is hijacked
}

// serve runs the connection until either side ends it.
func (c *conn) serve(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var writer sync.WaitGroup
	writer.Go(func() { c.finish(c.write(ctx)) })
	c.send(&protocol.Control{Type: protocol.TypeServerHello, Payload: c.hello().AppendJSON(nil)})
	// A cancelled read would cut the connection before the close frame is out,
	// so reading ends by closing. Until then what a closed connection's client
	// still says is read, and ignored.
	for {
		_, data, err := c.ws.Read(context.WithoutCancel(ctx))
		if err != nil {
			break
		}
		if !c.over() {
			c.handle(ctx, data)
		}
	}
	cancel(errPeerGone)
	writer.Wait()
	c.leave()
	c.sock.linger(c.g.cfg.Limits.Drain)
	_ = c.ws.CloseNow()
}

func (c *conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

var (
	errPeerGone  = errors.New("client has closed the connection")
	errHeartbeat = errors.New("client does not answer")
)

// finish tells the client why the writer ended. The reader goes on until the
// client has closed too, or Limits.Drain is over.
func (c *conn) finish(err error) {
	c.mu.Lock()
	c.closed, c.out, c.dirty = true, nil, nil
	c.room.Broadcast()
	c.mu.Unlock()
	within := c.g.cfg.Limits.Drain
	switch {
	case errors.Is(err, errPeerGone): // the reader has ended
	case errors.Is(err, errStalled):
		c.g.log.Info("slow_client_closed", "connection", c.id)
		c.sock.goodbye(websocket.StatusPolicyViolation, "client reads too slowly; reconnect with cursors", within)
	case errors.Is(err, errHeartbeat):
		c.g.log.Info("silent_client_closed", "connection", c.id)
		c.sock.goodbye(websocket.StatusGoingAway, "no answer to ping; reconnect with cursors", within)
	case errors.Is(err, errStopping):
		c.sock.goodbye(websocket.StatusGoingAway, "gateway restarts; reconnect with cursors", within)
	default:
		_ = c.ws.CloseNow()
	}
}

// write sends until ctx ends or the connection breaks, and says why.
func (c *conn) write(ctx context.Context) error {
	limits := c.g.cfg.Limits
	beat := time.NewTicker(limits.Heartbeat)
	defer beat.Stop()
	mark := time.NewTicker(limits.Watermark)
	defer mark.Stop()
	var silence silence
	for {
		var err error
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, errPeerGone) {
				return cause
			}
			return errStopping
		case <-c.signal:
			err = c.drain(ctx)
		case <-mark.C:
			err = c.sendWatermarks()
		case <-beat.C:
			if silence.beat(c.sock) {
				return errHeartbeat
			}
			c.unpinged = limits.PingBytes
			err = c.transmit(nil)
		}
		if err != nil {
			return err
		}
	}
}

// drain sends everything that is waiting, gathered into few writes.
func (c *conn) drain(ctx context.Context) error {
	var frames [][]byte
	var msgs []message
	for ctx.Err() == nil {
		frames = frames[:0]
		size := 0
		for size < c.g.cfg.Limits.WriteBytes {
			control, next := c.take()
			frames = append(frames, control...)
			if next == nil {
				break
			}
			next.unmark()
			var more bool
			msgs, more = next.pump(ctx, msgs[:0])
			for _, m := range msgs {
				frames = append(frames, m.frame)
				size += len(m.frame)
			}
			if more {
				c.enqueue(next)
			}
		}
		if len(frames) == 0 {
			return nil
		}
		if err := c.transmit(frames); err != nil {
			return err
		}
	}
	return nil
}

// transmit sends frames, and a ping behind them once enough has been sent
// without one: a client at work on much that waits in buffers comes to a ping
// often, however far behind the last beat's it is.
func (c *conn) transmit(frames [][]byte) error {
	for _, f := range frames {
		c.unpinged += len(f)
	}
	if c.unpinged >= c.g.cfg.Limits.PingBytes {
		c.unpinged = 0
		frames = append(frames, c.ping())
	}
	return c.sock.writeFrames(frames)
}

// take returns all waiting control frames and the next puller in line.
func (c *conn) take() ([][]byte, puller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.out
	if c.out = nil; len(out) > 0 {
		c.room.Broadcast()
	}
	if len(c.dirty) == 0 {
		return out, nil
	}
	next := c.dirty[0]
	c.dirty = c.dirty[1:]
	return out, next
}

// enqueue puts a puller in line and wakes the writer.
func (c *conn) enqueue(p puller) {
	if p.mark() {
		return
	}
	c.mu.Lock()
	if !c.closed {
		c.dirty = append(c.dirty, p)
	}
	c.mu.Unlock()
	c.wake()
}

func (c *conn) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// waitRoom waits while a client that keeps asking does not read the answers.
func (c *conn) waitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.out) >= maxControl && !c.closed {
		c.room.Wait()
	}
}

// send queues a control frame.
func (c *conn) send(f *protocol.Control) {
	frame := controlFrame(f)
	c.mu.Lock()
	if !c.closed {
		c.out = append(c.out, frame)
	}
	c.mu.Unlock()
	c.wake()
}

func (c *conn) sendWatermarks() error {
	c.mu.Lock()
	watches := make([]*watch, 0, len(c.watches))
	for _, w := range c.watches {
		watches = append(watches, w)
	}
	c.mu.Unlock()
	var frames [][]byte
	for _, w := range watches {
		for _, m := range w.watermarks(nil) {
			frames = append(frames, m.frame)
		}
		if w.due() {
			c.enqueue(w)
		}
	}
	return c.transmit(frames)
}

// leave gives back what the connection held.
func (c *conn) leave() {
	c.mu.Lock()
	watches := c.watches
	c.watches = nil
	c.mu.Unlock()
	for _, w := range watches {
		w.s.detach(w)
		c.g.hub.release(w.s)
	}
	c.unsubscribeSessions()
}

func controlFrame(f *protocol.Control) []byte {
	body := f.AppendJSON(nil)
	return append(appendFrameHeader(nil, len(body)), body...)
}
