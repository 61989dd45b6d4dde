// Package archive is the port for reading archives: the agent log as the
// recorder wrote it. wirelog implements it on a directory.
package archive

import (
	"context"
	"errors"
	"iter"

	"github.com/stenohq/steno/pkg/events"
)

// ErrNotFound says that the archive holds nothing of that agent.
var ErrNotFound = errors.New("not in the archive")

// Kind says what a line is.
type Kind int

// The kinds of lines.
const (
	Event   Kind = iota // a valid envelope
	Invalid             // a stored message that is no valid event
	Lost                // Seq..SeqTo were destroyed
)

// Line is one line of wire.jsonl. Data is the envelope as published (for
// Invalid the raw message), without the recorder's fields. It is valid until
// the next iteration.
type Line struct {
	Kind       Kind
	Seq, SeqTo uint64 // SeqTo = Seq but for Lost
	StreamSeq  uint64
	StoredAt   int64  // Unix milliseconds
	Reason     string // Invalid, Lost
	Data       []byte
}

// Reader reads archives. Methods may be called concurrently.
type Reader interface {
	// Read yields the lines of one agent with seq above after, in order, each
	// seq once, finished parts and the open file as one log. It holds one line
	// in memory. ErrNotFound, or an error that names file and line.
	Read(ctx context.Context, s events.SessionID, a events.AgentID, after uint64) iter.Seq2[Line, error]

	// Agents lists what the archive holds of a session; Sessions all of it.
	Agents(ctx context.Context, s events.SessionID) ([]events.AgentID, error)
	Sessions(ctx context.Context) ([]events.SessionID, error)
}
