// Package importer turns the logs that agents keep on disk into events.
//
// A Stream is a pure function of a file's bytes: it cuts them into lines and
// records, hands these to the Decoder of the file's Format, and numbers what
// comes out, so that the same bytes always give the same events and the events
// of a prefix are a prefix of the events. It works on files that still grow:
// an incomplete last line waits for the rest. Nothing in a file stops it; what
// could not be used is listed in the Report.
//
// Formats live in packages of their own. The package has no clock and no
// goroutine; Plan and Tail read files, everything else is bytes in, events out.
package importer

import (
	"github.com/stenohq/steno/pkg/events"
)

// Format is one kind of log file.
type Format interface {
	// Name is how people and labels call it, such as "claude-code".
	Name() string
	// Detect says whether the first records of a file look like this format.
	Detect(records [][]byte) bool
	// IsRecord says whether a JSON object could be a whole record of the
	// format; it is asked about the ends of torn lines.
	IsRecord(raw []byte) bool
	// Locate says what a file's path tells about it. Every other file of the
	// same import is reachable below or beside it.
	Locate(path string) (Source, error)
	// NewDecoder makes the decoder of one file.
	NewDecoder(src Source) Decoder
}

// Source is what is known of a file besides its bytes.
type Source struct {
	Name    string           // base name without extension
	Session events.SessionID // "" when only the records tell
	Agent   events.AgentID   // whom the file is about; "" is main
	Spawn   Spawn            // who started that agent, when it is a sub-agent
	Labels  map[string]string
	// Alone is the session of a sub-agent as long as its parent is not known:
	// where its events are there already, they stay there.
	Alone events.SessionID
	// PublishAs is another session id for the events, where Session is taken by
	// another file; runs stay those of Session.
	PublishAs events.SessionID
}

// Spawn links a sub-agent to the tool call that started it. Empty fields are
// not known.
type Spawn struct {
	Parent     events.AgentID
	ToolCallID string
	Label      string
}

// Record is one JSON object of a file.
type Record struct {
	Line  int    // 1-based line it stands on
	Index int    // 1-based ordinal among the file's records
	Raw   []byte // a valid JSON object; the decoder must not keep it
}

// Decoder turns the records of one file, in order, into drafts of events. It
// is used by one goroutine.
type Decoder interface {
	// Record takes the next record. What it makes of it goes to out.
	Record(rec Record, out *Output)
	// Session is the session the records name; "" while none did.
	Session() events.SessionID
	// Held lists the records that still wait for another one.
	Held() []Finding
}

// Timeless is a Decoder of a file that may have no times at all. Once it says
// so, with the file's first record, events do not wait for one.
type Timeless interface{ Timeless() bool }

// Draft is an event before it has an identity: the Stream adds ids, n, run and
// a time.
type Draft struct {
	Agent     events.AgentID
	Type      string
	Payload   []byte // a JSON object
	Time      string // RFC 3339; "" takes the record's
	SourceRun string
	Labels    []byte // JSON object of strings; nil for none
	Reference string
	Step      int // of the envelope, where HasStep
	HasStep   bool
	// Verbatim says that the event is the record itself, of a format that is
	// ours: it keeps the record's id, to which other records may refer.
	Verbatim bool
	// Origin is the record the event comes from, when that is not the one
	// being decoded (a record that was held).
	Origin *Origin
}

// Origin is a record as the source of events.
type Origin struct {
	Line, Index int
	ID          string // the record's own id where it has a usable one
	Time        string // RFC 3339, "" when the record has no usable one
	made        int    // events so far
}

// Output collects what one record yields.
type Output struct {
	stream *Stream
	origin *Origin
	drafts []Draft
}

// From says the record's own id ("" for none) and time as the file has them;
// a decoder calls it first. It reports false for a record that stood in the
// file before, which yields nothing.
func (o *Output) From(id, time string) bool { return o.stream.identify(o.origin, id, time) }

// Origin is what a decoder keeps of a record that it holds.
func (o *Output) Origin() *Origin { return o.origin }

// Event adds an event.
func (o *Output) Event(d Draft) { o.drafts = append(o.drafts, d) }

// Skip says that the record, or a part of it, could not be used and why.
func (o *Output) Skip(reason string) { o.stream.report.skip(o.origin.Line, reason) }

// Passed counts the record as passed through unread under a type's name.
func (o *Output) Passed(kind string) { o.stream.report.pass(kind) }
