package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/stenohq/steno/pkg/events"
)

// Conn is a connection to NATS that publishers and senders share. All methods
// may be called concurrently.
type Conn struct {
	nc          *nats.Conn
	own         bool // Close closes nc
	log         *slog.Logger
	outboxBytes int
}

// Dial connects to url. It does not wait for a server: the connection is made
// as soon as there is one, and again whenever it is lost. Options: Logger,
// OutboxBytes, NATS.
func Dial(url string, opts ...Option) (*Conn, error) {
	o := collect(opts)
	all := append([]nats.Option{
		nats.Name("steno agent"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, time.Second),
		// What was not written when the connection broke is sent again by
		// the outbox, in its order.
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.logger.Debug("NATS reports an error", "error", err) // the outbox says what it means
		}),
	}, o.nats...)
	nc, err := nats.Connect(url, all...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", url, err)
	}
	return &Conn{nc: nc, own: true, log: o.logger, outboxBytes: o.outboxBytes}, nil
}

// NewConn uses a connection that the caller has, and keeps. Options: Logger,
// OutboxBytes.
func NewConn(nc *nats.Conn, opts ...Option) *Conn {
	o := collect(opts)
	return &Conn{nc: nc, log: o.logger, outboxBytes: o.outboxBytes}
}

// Close closes a connection made by Dial. Publishers and senders on it should
// be closed before.
func (c *Conn) Close() error {
	if c.own {
		c.nc.Close()
	}
	return nil
}

// Position is where an agent log stands for the publisher of a run.
type Position struct {
	Next        uint64 `json:"next"`          // the n that the run goes on with
	LastEventID string `json:"last_event_id"` // of the event under Next-1, "" when unknown
	Current     string `json:"current"`       // the run that took over last, "" for none
}

// Run asks a gateway where an agent log stands for a run. It asks again until
// it has an answer or ctx ends.
func (c *Conn) Run(ctx context.Context, s events.SessionID, a events.AgentID, run string) (Position, error) {
	question, err := json.Marshal(map[string]string{"run_id": run})
	if err != nil {
		return Position{}, fmt.Errorf("encode the question: %w", err)
	}
	for {
		p, err := c.askRun(ctx, events.QuerySubject(s, a, "runs"), question)
		if err == nil {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return Position{}, fmt.Errorf("ask a gateway where run %s of %s/%s stands: %w", run, s, a, errors.Join(context.Cause(ctx), err))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (c *Conn) askRun(ctx context.Context, subject string, question []byte) (Position, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m, err := c.nc.RequestWithContext(ctx, subject, question)
	if err != nil {
		return Position{}, fmt.Errorf("request: %w", err)
	}
	if text := m.Header.Get(micro.ErrorHeader); text != "" {
		return Position{}, fmt.Errorf("the gateway answered: %s", text)
	}
	var p Position
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return Position{}, fmt.Errorf("decode the answer: %w", err)
	}
	if p.Next == 0 {
		return Position{}, errors.New("the answer names no next event")
	}
	return p, nil
}
