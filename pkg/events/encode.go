package events

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// AppendEvent appends the envelope as JSON. It is deterministic: the fields
// stand in the order below, absent ones are left out, Extra comes last, and
// line breaks inside the JSON values become spaces. Payload, Blobs, Labels and
// Extra must be valid JSON of their kind; Decode then gives the same event
// back.
func AppendEvent(dst []byte, e *Event) []byte {
	start := len(dst)
	dst = append(dst, `{"event_type":`...)
	dst = scan.AppendQuote(dst, e.Type)
	dst = appendString(dst, "event_id", e.ID)
	dst = appendString(dst, "timestamp", e.Timestamp)
	dst = appendString(dst, "session_id", string(e.Session))
	dst = appendString(dst, "agent_id", string(e.Agent))
	dst = appendString(dst, "run_id", e.RunID)
	dst = appendString(dst, "source_run", e.SourceRun)
	if e.N > 0 {
		dst = strconv.AppendUint(append(dst, `,"n":`...), e.N, 10)
	}
	if e.HasStep {
		dst = strconv.AppendInt(append(dst, `,"step":`...), int64(e.Step), 10)
	}
	dst = appendString(dst, "reference_id", e.ReferenceID)
	if e.SchemaVersion > 1 {
		dst = strconv.AppendInt(append(dst, `,"schema_version":`...), int64(e.SchemaVersion), 10)
	}
	dst = append(append(dst, `,"payload":`...), e.Payload...)
	if len(e.Blobs) > 0 {
		dst = append(append(dst, `,"blobs":`...), e.Blobs...)
	}
	if len(e.Labels) > 0 {
		dst = append(append(dst, `,"labels":`...), e.Labels...)
	}
	if len(e.Extra) > 0 {
		dst = append(append(dst, ','), e.Extra...)
	}
	dst = append(dst, '}')
	flatten(dst[start:])
	return dst
}

func appendString(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), name...), '"', ':')
	return scan.AppendQuote(dst, value)
}
