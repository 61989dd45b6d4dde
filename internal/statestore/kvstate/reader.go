package kvstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/statestore"
)

// checkEvery is how long a reader stays silent before it asks the leader
// whether it has missed something.
const checkEvery = 5 * time.Second

// reader reads the newest messages of some subjects and goes on with new ones.
type reader struct {
	s        *Store
	subjects []string
	cons     jetstream.Consumer
	msgs     jetstream.MessagesContext
	seen     uint64 // sequence of the last message delivered
	until    uint64 // the newest sequence when the reader began
}

// newReader begins to read prefix and everything below it.
//
// A consumer may live on a replica that lags, so what "current" means is asked
// of the stream's leader first: the newest message of the subjects. Since the
// newest message of each subject comes in stream order, a reader that has seen
// that one, or a later one, has seen them all.
func (s *Store) newReader(ctx context.Context, prefix string) (*reader, error) {
	r := &reader{s: s, subjects: []string{subjectPrefix + prefix, subjectPrefix + prefix + ".>"}}
	var err error
	if r.until, err = r.newest(ctx); err != nil {
		return nil, err
	}
	return r, r.open(ctx)
}

func (r *reader) newest(ctx context.Context) (uint64, error) {
	var seq uint64
	for _, subject := range r.subjects {
		m, err := r.s.lastMessage(ctx, subject)
		if errors.Is(err, statestore.ErrNotFound) {
			continue
		} else if err != nil {
			return 0, err
		}
		seq = max(seq, m.seq)
	}
	return seq, nil
}

// open makes the consumer: at first from the newest message of each subject,
// later behind the last one delivered.
func (r *reader) open(ctx context.Context) error {
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects:    r.subjects,
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		InactiveThreshold: time.Minute,
	}
	if r.seen > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, r.seen+1
	}
	cctx, cancel := withTimeout(ctx)
	defer cancel()
	cons, err := r.s.js.OrderedConsumer(cctx, stream, cfg)
	if err != nil {
		return fmt.Errorf("make a consumer: %w", err)
	}
	msgs, err := cons.Messages()
	if err != nil {
		return fmt.Errorf("read from the consumer: %w", err)
	}
	r.cons, r.msgs = cons, msgs
	return nil
}

func (r *reader) close() {
	if r.msgs == nil {
		return
	}
	r.msgs.Stop()
	// Unasked the server would keep the consumer for its inactivity threshold.
	if info := r.cons.CachedInfo(); info != nil {
		deleteConsumer(r.s.nc, info.Name)
	}
	r.msgs = nil
}

// deleteConsumer asks the server to delete a consumer without waiting for the answer.
func deleteConsumer(nc *nats.Conn, consumer string) {
	_ = nc.Publish("$JS.API.CONSUMER.DELETE."+stream+"."+consumer, nil) // it expires by itself
}

// caught tells whether everything that was current at first has been read.
func (r *reader) caught() bool { return r.seen >= r.until }

// next waits for a message; ok is false when it should be called again. The
// consumer is replaced when it breaks or the leader has more than it delivers.
func (r *reader) next(ctx context.Context) (m stored, ok bool, err error) {
	wait, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	msg, err := r.msgs.Next(jetstream.NextContext(wait))
	if err == nil {
		meta, err := msg.Metadata()
		if err != nil {
			return m, false, fmt.Errorf("read a message's position: %w", err)
		}
		r.seen = meta.Sequence.Stream
		return stored{subject: msg.Subject(), seq: r.seen, header: msg.Headers(), data: nonNil(msg.Data())}, true, nil
	}
	if ctx.Err() != nil {
		return m, false, ctx.Err()
	}
	if wait.Err() != nil {
		newest, err := r.newest(ctx)
		if err != nil || newest <= r.seen {
			r.until = min(r.until, max(newest, r.seen)) // the rest has been purged
			return m, false, ctx.Err()
		}
	}
	return m, false, r.reopen(ctx)
}

// reopen replaces the consumer, for as long as it takes.
func (r *reader) reopen(ctx context.Context) error {
	r.close()
	for {
		if r.open(ctx) == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
