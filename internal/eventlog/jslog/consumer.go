package jslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/stenohq/steno/internal/eventlog"
)

const (
	pullExpires = 60 * time.Second
	pullBytes   = 4 << 20 // of each of the at most two open requests
	// inactive ends a consumer on the server when its reader is gone.
	inactive = 2 * time.Minute
)

// consumer is one ephemeral consumer on the server and the subscription its
// deliveries arrive on. The fields belong to the tail's reading goroutine;
// close may come from any.
type consumer struct {
	log     *Log
	stream  string
	name    string
	inbox   string
	sub     *nats.Subscription
	msgs    chan *nats.Msg // room for what is asked for, and status messages
	request []byte         // a pull request for half a window

	asked     int       // records asked for and not yet delivered
	delivered uint64    // the server's count of deliveries, as seen here
	heard     time.Time // last sign of life
	checked   time.Time // last time that nothing was known to be missing
}

// newConsumer makes a consumer that delivers from stream sequence start on.
func newConsumer(ctx context.Context, l *Log, stream, filter string, start uint64) (*consumer, error) {
	c := &consumer{
		log: l, stream: stream, name: "steno_" + nuid.Next(), inbox: l.nc.NewInbox(),
		msgs:  make(chan *nats.Msg, l.cfg.Window+256),
		heard: time.Now(), checked: time.Now(),
	}
	var err error
	if c.request, err = json.Marshal(map[string]any{
		"batch": c.step(), "max_bytes": pullBytes, "expires": pullExpires, "idle_heartbeat": l.cfg.Heartbeat,
	}); err != nil {
		return nil, fmt.Errorf("encode the pull request: %w", err)
	}
	if c.sub, err = l.nc.ChanSubscribe(c.inbox, c.msgs); err != nil {
		return nil, fmt.Errorf("subscribe to deliveries: %w", readError(ctx, err))
	}
	_, err = l.js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Name:              c.name,
		FilterSubject:     filter,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       start,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: inactive,
	})
	if err != nil {
		_ = c.sub.Unsubscribe() // fails only on a closed connection
		return nil, fmt.Errorf("make a consumer on %s: %w", stream, readError(ctx, err))
	}
	return c, nil
}

func (c *consumer) step() int { return max(1, c.log.cfg.Window/2) }

// refill keeps between half a window and a whole one asked for.
func (c *consumer) refill() error {
	for c.asked+c.step() <= c.log.cfg.Window {
		if err := c.log.nc.PublishRequest(c.log.api+"CONSUMER.MSG.NEXT."+c.stream+"."+c.name, c.inbox, c.request); err != nil {
			return fmt.Errorf("ask for records: %w", err)
		}
		c.asked += c.step()
	}
	return nil
}

// statusMessage handles what the server says about requests. It returns why
// the consumer is of no more use, "" when it is.
func (c *consumer) statusMessage(m *nats.Msg, status string) string {
	switch status {
	case "100": // sign of life, with the server's count of deliveries
		if n, err := strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64); err == nil && n != c.delivered {
			return "delivery_lost"
		}
		return ""
	case "408", "409": // a request has ended; this many of it were not delivered
		if n, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages")); err == nil {
			c.asked -= n
			return ""
		}
		return "request_ended" // consumer deleted, leadership change
	default:
		return "status_" + status
	}
}

// close ends the subscription and asks the server to delete the consumer,
// without waiting: it would end by itself.
func (c *consumer) close() {
	_ = c.sub.Unsubscribe() // fails only on a closed connection
	if c.log.nc.IsConnected() {
		_ = c.log.nc.PublishRequest(c.log.api+"CONSUMER.DELETE."+c.stream+"."+c.name, c.log.nc.NewInbox(), nil)
	}
}

// gone says which errors mean that the stream is not there any more.
func gone(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w", eventlog.ErrReplaced, err)
	}
	return err
}
