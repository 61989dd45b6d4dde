package events

import (
	"bytes"

	"github.com/stenohq/steno/pkg/events/scan"
)

// fieldSet holds one bit for each known field.
type fieldSet uint32

// first records a field and reports whether it stands for the first time.
func (s *fieldSet) first(f field) bool {
	had := *s&(1<<f) != 0
	*s |= 1 << f
	return !had
}

// field numbers a known field.
type field uint

const (
	fieldType field = iota
	fieldPayload
	fieldSession
	fieldAgent
	fieldID
	fieldTimestamp
	fieldRunID
	fieldSourceRun
	fieldN
	fieldStep
	fieldReferenceID
	fieldBlobs
	fieldLabels
	fieldSchemaVersion
	fieldUnknown
)

// fieldOf tells which field the current member is.
func fieldOf(m *scan.Members) field {
	name := m.RawKey()
	f := fieldNamed(string(name[1 : len(name)-1]))
	if f == fieldUnknown && bytes.IndexByte(name, '\\') >= 0 {
		f = fieldNamed(m.Key())
	}
	return f
}

func fieldNamed(name string) field {
	switch name {
	case "event_type":
		return fieldType
	case "payload":
		return fieldPayload
	case "session_id":
		return fieldSession
	case "agent_id":
		return fieldAgent
	case "event_id":
		return fieldID
	case "timestamp":
		return fieldTimestamp
	case "run_id":
		return fieldRunID
	case "source_run":
		return fieldSourceRun
	case "n":
		return fieldN
	case "step":
		return fieldStep
	case "reference_id":
		return fieldReferenceID
	case "blobs":
		return fieldBlobs
	case "labels":
		return fieldLabels
	case "schema_version":
		return fieldSchemaVersion
	}
	return fieldUnknown
}

func (f field) String() string {
	return [...]string{
		"event_type", "payload", "session_id", "agent_id", "event_id", "timestamp", "run_id",
		"source_run", "n", "step", "reference_id", "blobs", "labels", "schema_version", "unknown",
	}[f]
}
