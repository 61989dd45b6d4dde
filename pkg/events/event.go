// Package events defines the event envelope, its codec and the subjects it
// travels on. FORMAT.md is the specification. The package has no clock, no
// randomness and no I/O.
package events

// Limits of an envelope. Lengths are in bytes.
const (
	MaxSize      = 1 << 20   // of a whole message
	MaxID        = 128       // of session_id, agent_id, event_id, run_id, source_run
	MaxType      = 256       // of event_type
	MaxReference = 1024      // of reference_id
	MaxOrdinal   = 1<<53 - 1 // of n: what every JSON reader holds exactly
	MaxStep      = 1<<31 - 1
)

// Event is one decoded envelope. All strings and slices alias the buffer given
// to Decode and must not be modified. The zero value of an optional field is
// absence.
type Event struct {
	Type          string
	Payload       []byte // a JSON object, byte for byte as published
	Session       SessionID
	Agent         AgentID
	ID            string
	Timestamp     string // RFC 3339, as given; Time converts it
	RunID         string
	SourceRun     string
	N             uint64 // ordinal within the run, from 1; 0 = absent
	Step          int
	HasStep       bool
	ReferenceID   string
	Blobs         []byte // JSON array; BlobList decodes it
	Labels        []byte // JSON object of strings; LabelMap decodes it
	SchemaVersion int    // 1 when absent
	Extra         []byte // unknown members in their order, as in `"a":1,"b":[2]`
}

// Run returns the run the event counts under in resume and memory: the
// source's own where the run is an import, else the run.
func (e *Event) Run() string {
	if e.SourceRun != "" {
		return e.SourceRun
	}
	return e.RunID
}
