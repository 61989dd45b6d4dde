// Package kvstate keeps the state in the JetStream key-value bucket STENO_STATE
// and the members in STENO_MEMBERS, by the conventions of NATS key-value
// buckets, so that `nats kv get` reads both.
//
// What it relies on, each held by a test against the real server: a batch is
// stored whole or not at all, in one run of consecutive sequence numbers that
// ends with the acknowledged one; every message of it is checked against the
// revision it expects before any is stored; and a message may expect the
// revision of another subject, which is how the own message of a commit is
// fenced by the term.
package kvstate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/stenohq/steno/internal/statestore"
)

// The buckets; internal/natsnode creates them.
const (
	Bucket        = "STENO_STATE"
	MembersBucket = "STENO_MEMBERS"
)

const (
	stream        = "KV_" + Bucket
	subjectPrefix = "$KV." + Bucket + "."

	// defaultTimeout bounds a request whose context has no deadline.
	defaultTimeout = 5 * time.Second
	// maxDocument is the largest document before compression: text that
	// compresses well could fit into a commit and then fill a reader's memory.
	maxDocument = 256 << 20
)

// Store is the state bucket.
type Store struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	enc *zstd.Encoder
	dec *zstd.Decoder
}

var _ statestore.Store = (*Store)(nil)

// New returns the store behind a connection, which stays the caller's. The
// bucket must exist.
func New(nc *nats.Conn) (*Store, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open JetStream for the state bucket: %w", err)
	}
	// One encoder at the fastest level: heads are written often and replaced
	// within seconds, so their size matters less than the time they take.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("make the document encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDocument))
	if err != nil {
		return nil, fmt.Errorf("make the document decoder: %w", err)
	}
	return &Store{nc: nc, js: js, enc: enc, dec: dec}, nil
}

// Get reads a key from the stream's leader.
func (s *Store) Get(ctx context.Context, key string) (statestore.Entry, error) {
	if statestore.IsDocument(key) {
		return s.getDocument(ctx, key)
	}
	entry := statestore.Entry{Key: key}
	m, err := s.lastMessage(ctx, subjectPrefix+key)
	if err != nil {
		return entry, fmt.Errorf("get %s: %w", key, err)
	}
	entry.Rev = statestore.Rev{m.seq}
	if isMarker(m.header) {
		return entry, fmt.Errorf("get %s: %w", key, statestore.ErrNotFound)
	}
	entry.Value = m.data
	return entry, nil
}

// Put writes one key without a fence.
func (s *Store) Put(ctx context.Context, w statestore.Write) (statestore.Rev, error) {
	if statestore.IsDocument(w.Key) {
		revs, err := s.Apply(ctx, statestore.Commit{ID: nuid.Next(), Writes: []statestore.Write{w}})
		if err != nil {
			return nil, err
		}
		return revs[0], nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	msg := plainMessage(w)
	if size(msg) > s.maxPayload() {
		return nil, fmt.Errorf("put %s: %w: %d bytes", w.Key, statestore.ErrTooLarge, size(msg))
	}
	resp, err := s.nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return nil, fmt.Errorf("put %s: %w", w.Key, requestError(err))
	}
	ack, err := parseAck(resp)
	if err != nil {
		return nil, fmt.Errorf("put %s: %w", w.Key, err)
	}
	return statestore.Rev{ack.Seq}, nil
}

// plainMessage is the message of a write that is not a document.
func plainMessage(w statestore.Write) *nats.Msg {
	var last uint64
	if len(w.Expect) > 0 {
		last = w.Expect[0]
	}
	msg := expecting(w.Key, w.Value, last)
	if w.Value == nil {
		msg.Header.Set(kvOperation, kvDelete)
	}
	return msg
}

// expecting is a message to a key that expects the key's revision.
func expecting(key string, data []byte, last uint64) *nats.Msg {
	msg := nats.NewMsg(subjectPrefix + key)
	msg.Data = data
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
	return msg
}

func (s *Store) maxPayload() int64 {
	if limit := s.nc.MaxPayload(); limit > 0 {
		return limit
	}
	return 1 << 20
}

func size(m *nats.Msg) int64 {
	// A header line costs its name, its value and four more bytes, the block
	// twelve; that is what the server counts as well.
	n := len(m.Subject) + len(m.Data) + 12
	for name, values := range m.Header {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return int64(n)
}

func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, defaultTimeout)
}

// requestError classifies the error of a request that brought no answer.
func requestError(err error) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", statestore.ErrTooLarge, err)
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: no leader answers for stream %s", statestore.ErrBusy, stream)
	}
	return fmt.Errorf("%w: %w", statestore.ErrAmbiguous, err)
}
