package gwclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/coder/websocket"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// Handler receives what a Watch sees, in order and each batch once, from one
// goroutine.
type Handler interface {
	// Baseline is an agent's state at seq: at the beginning, and again only
	// when what lies between is lost or the session began anew.
	Baseline(agent string, snapshot *reducer.Snapshot, seq uint64, why Why)
	// Batch continues it. It may hold no operations: then it only moves the
	// place on.
	Batch(agent string, b protocol.Batch)
	// Connected is told when the connection is made (nil) and lost.
	Connected(err error)
}

// Why says why a baseline comes.
type Why int

// The reasons.
const (
	First Why = iota
	Lost      // batches between are no longer known
	Anew      // the session was deleted, restored or is folded otherwise
)

// Watch follows agents of one session until its context ends.
type Watch struct {
	Client  *Client
	Session events.SessionID
	Agent   string // or * for all
	Grade   grade.Grade
	Since   map[string]uint64 // where to begin, by agent; others begin with a baseline
	Turns   int               // of a first baseline
	Handler Handler

	agents map[string]*place
	epoch  string
}

// place is how far an agent has been told.
type place struct {
	seq  uint64
	set  bool
	anew bool // what was told is void: a baseline must come
}

// Errors after which a Watch does not try again.
var errRefused = errors.New("the gateway refuses")

const (
	firstPause = 50 * time.Millisecond
	longPause  = 2 * time.Second
	readLimit  = 64 << 20
)

// Run watches. A lost connection is made again, with pauses that grow, and
// goes on behind what was told. It returns nil when ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	w.agents = make(map[string]*place)
	for agent, seq := range w.Since {
		w.agents[agent] = &place{seq: seq, set: true}
	}
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(longPause), backoff.WithMaxElapsedTime(0))
	for {
		attached, err := w.connection(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to end: what it did to the connection does not matter
		}
		w.Handler.Connected(err)
		if errors.Is(err, errRefused) {
			return err
		}
		if attached {
			pause.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause.NextBackOff()):
		}
	}
}

// connection is one connection's life; attached tells whether it came as far
// as the subscription.
func (w *Watch) connection(ctx context.Context) (attached bool, err error) {
	header := http.Header{}
	if w.Client.token != "" {
		header.Set("Authorization", "Bearer "+w.Client.token)
	}
	u := *w.Client.base
	u.Scheme = "ws" + u.Scheme[len("http"):]
	dialing, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	//nolint:bodyclose // the library closes the body of the handshake
	conn, resp, err := websocket.Dial(dialing, u.JoinPath("v1", "ws").String(), &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if resp != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
			return false, fmt.Errorf("%w: %s", errRefused, resp.Status)
		}
		return false, fmt.Errorf("connect to the gateway: %w", err)
	}
	defer conn.CloseNow() //nolint:errcheck // the connection is given up
	conn.SetReadLimit(readLimit)
	if err := w.hello(ctx, conn); err != nil {
		return false, err
	}
	for {
		data, err := w.frame(ctx, conn)
		if err != nil {
			return attached, refusal(err)
		}
		done, err := w.handle(ctx, conn, data)
		if err != nil {
			return attached, err
		}
		if done && !attached {
			attached = true
			w.Handler.Connected(nil)
		}
	}
}

// frame reads one frame. A gateway sends a ping every 10 s: silence for much
// longer is a dead connection.
func (w *Watch) frame(ctx context.Context, conn *websocket.Conn) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, data, err := conn.Read(ctx)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it closed the connection")
		}
		return nil, fmt.Errorf("read from the gateway: %w", err)
	}
	return data, nil
}

func refusal(err error) error {
	if code := websocket.CloseStatus(err); code == 4401 || code == 4403 {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

func (w *Watch) hello(ctx context.Context, conn *websocket.Conn) error {
	hello := protocol.ClientHello{ClientID: "steno", Capabilities: []string{protocol.CapabilityPrevSeq}}
	if err := w.send(ctx, conn, protocol.TypeClientHello, "hello", hello.AppendJSON(nil)); err != nil {
		return err
	}
	sub := protocol.Subscribe{
		SessionID: string(w.Session), Transcript: grade.Spec{w.Agent: w.Grade}, Epoch: w.epoch,
		Since: make(map[string]uint64), WindowTurns: reducer.Some(w.Turns),
	}
	for agent, p := range w.agents {
		if p.set {
			sub.Since[agent] = p.seq
		}
	}
	return w.send(ctx, conn, protocol.TypeSubscribe, subscribeID, sub.AppendJSON(nil))
}

const subscribeID = "subscribe"

func (w *Watch) send(ctx context.Context, conn *websocket.Conn, kind, id string, payload []byte) error {
	c := protocol.Control{Type: kind, Payload: payload}
	if id != "" {
		c.ID = reducer.Raw(`"` + id + `"`)
	}
	if err := conn.Write(ctx, websocket.MessageText, c.AppendJSON(nil)); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}
