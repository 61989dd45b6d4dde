// Package eventlog is the port to the event streams: what the services need
// of JetStream and nothing of its API. jslog is the JetStream adapter, memlog
// the in-memory one with fault injection; logtest is the suite both pass.
package eventlog

import (
	"context"
	"errors"
	"time"

	"github.com/stenohq/steno/pkg/events"
)

// Errors an adapter wraps; callers test with errors.Is.
var (
	// ErrNotFound: the agent has no stored message.
	ErrNotFound = errors.New("not found")
	// ErrFull: the stream is at its byte limit. Nothing was stored; try later.
	ErrFull = errors.New("stream is full")
	// ErrTooLarge: the message is above the stream's limit and never fits.
	ErrTooLarge = errors.New("message too large")
	// ErrAmbiguous: no answer came in time; the message may be stored or not.
	ErrAmbiguous = errors.New("no acknowledgement in time")
	// ErrUnavailable: no server answered in time, or it answered that it
	// cannot now. A read may be repeated.
	ErrUnavailable = errors.New("event log is unavailable")
	// ErrReplaced: the stream a tail reads has been deleted or made anew. Its
	// sequence numbers mean something else now; the tail is of no more use.
	ErrReplaced = errors.New("stream has been deleted or made anew")
	// ErrClosed: the tail, the subscription or the log has been closed.
	ErrClosed = errors.New("closed")
)

// Headers of a stored message that a restore or repair published.
const (
	// HeaderStoredAt is the time at which the original was stored, RFC 3339.
	HeaderStoredAt = "Steno-Stored-At"
	// HeaderLost marks a placeholder; its value is the reason.
	HeaderLost = "Steno-Lost"
)

// StreamID is one incarnation of a stream. Stream sequence numbers are only
// comparable within one.
type StreamID struct {
	Name    string
	Created time.Time // UTC
}

// Record is one stored message. Data is the envelope as published; the
// receiver owns it and nobody modifies it afterwards.
type Record struct {
	Session   events.SessionID
	Agent     events.AgentID
	Slot      int
	StreamSeq uint64
	// Prev is the stream sequence before this one on the same subject, 0 for
	// the first and after a trim. Only Live sets it.
	Prev     uint64
	StoredAt time.Time // UTC; header Steno-Stored-At where a restore set it
	// Lost is above 0 on a placeholder that a restore or repair published for
	// lines that were destroyed (header Steno-Lost: reason); Data is empty.
	Lost bool
	Data []byte
}

// Ack confirms storage.
type Ack struct {
	StreamSeq uint64
	Duplicate bool // the message id was stored already, within the window
}

// Bounds are a stream's first and last sequence; Last is First-1 when empty.
type Bounds struct {
	Stream      StreamID
	First, Last uint64
}

// Log is the set of event streams. All methods may be called concurrently.
// Reads return ErrUnavailable when nobody answers in time.
//
// What stands under a subject that no agent of that slot can have is no
// record: Tail, Live, Range and Agents pass over it.
type Log interface {
	// Slots is the fixed number of slots of the topology.
	Slots() int

	// Append stores one envelope and returns when the server has acknowledged
	// it (durable to the stream's sync setting). msgID is the de-duplication
	// id, "" for none. Errors: ErrFull, ErrTooLarge, ErrAmbiguous, or ctx's.
	Append(ctx context.Context, s events.SessionID, a events.AgentID, data []byte, msgID string) (Ack, error)

	// Tail reads the records of one slot with a stream sequence above after,
	// in order, each once, and goes on with new ones. Reconnects and lost
	// consumers are handled inside.
	Tail(ctx context.Context, slot int, after uint64) (Tail, error)

	// Live reads the records of a session right after they are stored. Nothing
	// is replayed and records may be missing when the connection falters:
	// compare Prev with what was seen last and fill the gap with Range.
	Live(ctx context.Context, s events.SessionID) (Tail, error)

	// Range returns the records of one agent with a stream sequence above
	// after, in order, at most limit; fewer than limit means there are no more
	// at the answering server. It may be served by a lagging replica.
	Range(ctx context.Context, s events.SessionID, a events.AgentID, after uint64, limit int) ([]Record, error)

	// Last is the agent's newest record, read from the stream's leader.
	Last(ctx context.Context, s events.SessionID, a events.AgentID) (Record, error)

	// Agents lists the agents of a session that have records in the stream,
	// in no order; Sessions lists all sessions with their agents' ids.
	Agents(ctx context.Context, s events.SessionID) ([]events.AgentID, error)

	// Bounds describes the stream that holds a slot, read from its leader.
	Bounds(ctx context.Context, slot int) (Bounds, error)
}

// Tail is a reading position. One goroutine reads; Close may come from any.
type Tail interface {
	// Next waits for at least one record and appends those at hand, at most
	// max, to buf. It returns ErrClosed after Close, or ctx's error.
	Next(ctx context.Context, buf []Record, max int) ([]Record, error)

	// Pending is the number of records known to lie beyond the last one
	// returned (0 on Live).
	Pending() uint64

	// Close ends the tail and unblocks Next. Later calls do nothing.
	Close() error
}
