// Package events defines the event envelope, its codec and the subjects it
// travels on. FORMAT.md is the specification. The package has no clock, no
// randomness and no I/O.
package events

// Event is one decoded envelope. All strings and slices alias the buffer given
// to Decode and must not be modified. The zero value of an optional field is
// absence.
type Event struct {
	Type          string
	Payload       []byte // a JSON object, byte for byte as published
	Session       SessionID
	Agent         AgentID
	ID            string
	Timestamp     string // RFC 3339, as given
	RunID         string
	SourceRun     string
	N             uint64 // ordinal within the run, from 1; 0 = absent
	Step          int
	HasStep       bool
	ReferenceID   string
	Blobs         []byte // JSON array; BlobList decodes it
	Labels        []byte // JSON object of strings; LabelMap decodes it
	SchemaVersion int    // 1 when absent
}
