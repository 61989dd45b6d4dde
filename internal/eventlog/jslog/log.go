// Package jslog is the event log on NATS JetStream.
package jslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

var _ eventlog.Log = (*Log)(nil)

// Config says where the events are: the topology's slots and streams, and how
// tails read. Zero values of the latter mean the defaults.
type Config struct {
	Slots   int
	Streams []string // stream i holds slots [i*Slots/n, (i+1)*Slots/n)
	Logger  *slog.Logger

	// Window is how many records a tail asks for ahead of its reader, 512 by
	// default; their bytes are limited to 8 MiB.
	Window int
	// Heartbeat is how often an idle consumer must give a sign of life, 5 s
	// by default. A tail makes a new consumer after two and a half of them.
	Heartbeat time.Duration
	// Watchdog is how long a tail stays idle before it asks the stream's
	// leader whether it misses a record, 15 s by default.
	Watchdog time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Window <= 0 {
		c.Window = 512
	}
	if c.Heartbeat <= 0 {
		c.Heartbeat = 5 * time.Second
	}
	if c.Watchdog <= 0 {
		c.Watchdog = 15 * time.Second
	}
	return c
}

// Log implements eventlog.Log.
type Log struct {
	js  jetstream.JetStream
	nc  *nats.Conn
	api string // subject prefix of the JetStream API, with its last dot
	cfg Config
}

// New returns the log over js. It makes no request; the streams must exist
// (topology.Ensure).
func New(js jetstream.JetStream, cfg Config) (*Log, error) {
	n := len(cfg.Streams)
	if n == 0 || cfg.Slots < n || cfg.Slots%n != 0 {
		return nil, fmt.Errorf("event log of %d slots on %d streams: the slots cannot be shared out evenly", cfg.Slots, n)
	}
	return &Log{js: js, nc: js.Conn(), api: apiPrefix(js), cfg: cfg.withDefaults()}, nil
}

func apiPrefix(js jetstream.JetStream) string {
	o := js.Options()
	switch {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return o.APIPrefix + "."
	default:
		return "$JS.API."
	}
}

// Slots implements eventlog.Log.
func (l *Log) Slots() int { return l.cfg.Slots }

// stream names the stream that holds a slot.
func (l *Log) stream(slot int) string {
	return l.cfg.Streams[slot/(l.cfg.Slots/len(l.cfg.Streams))]
}

func (l *Log) checkSlot(slot int) error {
	if slot < 0 || slot >= l.cfg.Slots {
		return fmt.Errorf("slot %d: there are slots 0 to %d", slot, l.cfg.Slots-1)
	}
	return nil
}

// Append implements eventlog.Log.
func (l *Log) Append(ctx context.Context, s events.SessionID, a events.AgentID, data []byte, msgID string) (eventlog.Ack, error) {
	msg := &nats.Msg{Subject: events.PublishSubject(s, a), Data: data}
	var opts []jetstream.PublishOpt
	if msgID != "" {
		opts = append(opts, jetstream.WithMsgID(msgID))
	}
	ack, err := l.js.PublishMsg(ctx, msg, opts...)
	if err != nil {
		return eventlog.Ack{}, fmt.Errorf("append to %s/%s: %w", s, a, appendError(ctx, err))
	}
	return eventlog.Ack{StreamSeq: ack.Sequence, Duplicate: ack.Duplicate}, nil
}

// JetStream error codes of a refused message (the server's errors.json).
const (
	codeAccountResources = 10002
	codeResources        = 10023
	codeStorage          = 10047
	codeTooLarge         = 10054
	codeStoreFailed      = 10077 // with the reason in words
	codeNoMessage        = 10037
)

// appendError maps what a publish returned to the port's errors. What is not
// known to be refused may have been stored.
func appendError(ctx context.Context, err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		return refusal(api)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", eventlog.ErrTooLarge, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", eventlog.ErrAmbiguous, ctx.Err())
	default:
		return fmt.Errorf("%w: %w", eventlog.ErrAmbiguous, err)
	}
}

func refusal(api *jetstream.APIError) error {
	switch int(api.ErrorCode) {
	case codeTooLarge:
		return fmt.Errorf("%w: %w", eventlog.ErrTooLarge, api)
	case codeStorage, codeResources, codeAccountResources:
		return fmt.Errorf("%w: %w", eventlog.ErrFull, api)
	case codeStoreFailed:
		switch api.Description {
		case "maximum bytes exceeded":
			return fmt.Errorf("%w: %w", eventlog.ErrFull, api)
		case "message too large":
			return fmt.Errorf("%w: %w", eventlog.ErrTooLarge, api)
		}
	}
	return fmt.Errorf("%w: %w", eventlog.ErrAmbiguous, api)
}
