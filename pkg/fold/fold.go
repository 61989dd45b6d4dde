// Package fold turns the log of one agent into its transcript: it composes
// admission (pkg/admit) with the fold of events to operations (pkg/reducer),
// keeps the state small by closing what is past, and encodes that state as a
// checkpoint.
//
// An Agent is a pure function of the records given to Step, in order: no
// clock, no randomness, no I/O, no goroutine. Folding from the start and from
// any checkpoint plus the rest give the same operations and the same bytes.
// An Agent is used by one goroutine at a time; the values it returns (batches,
// snapshots, states) are immutable and may be kept and shared for ever.
package fold

import (
	"errors"

	"github.com/stenohq/steno/pkg/reducer"
)

// Version is the fold version. It is raised with any change that alters
// operations, snapshots or the encoded state; it is part of every epoch, and a
// state of another version is refolded, not continued.
const Version = reducer.FoldVersion

// ErrVersion is wrapped by Decode for a state that this build cannot continue:
// of another fold version, or of a newer format. Fold from the log's start.
var ErrVersion = errors.New("state of another fold version or format")

// ErrCorrupt is wrapped by Decode for bytes that Encode did not write. Fold
// from the log's start.
var ErrCorrupt = errors.New("corrupt state")

// Kind says what a record is.
type Kind int

// The kinds of records.
const (
	Event   Kind = iota // an envelope as published
	Invalid             // a stored message that is no valid event
	Lost                // Seq..SeqTo were destroyed
)

// Record is one entry of the agent log. Event and Invalid are folded alike:
// Data decides, so that a log read from the stream and one read from the
// archive agree. Data is not kept after Step returns.
type Record struct {
	Kind      Kind
	Seq       uint64 // ordinal in the agent log, from 1
	SeqTo     uint64 // Lost: the last one of the range; else ignored
	StreamSeq uint64 // position in the stream, kept for the reader
	StoredAt  int64  // Unix milliseconds
	Data      []byte
	Reason    string // why it is Invalid or Lost, for people; not folded
}

// Batch is what one record did. Ops may be empty. The operations are immutable
// and may be kept.
type Batch struct {
	Seq, SeqTo uint64 // equal but for Lost
	StreamSeq  uint64
	Ops        []reducer.Op

	// Unknown is the type of an event that this fold does not know, the first
	// time it occurs; such events are recorded and counted and do nothing else.
	Unknown string
}
