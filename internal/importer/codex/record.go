package codex

import (
	"time"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

type object = importer.Object

// record is what the decoder works on while it handles one record.
type record struct {
	object        // the payload
	raw    []byte // the whole record
	kind   string // of the envelope
	sub    string // of the payload
	time   string
	out    *importer.Output
	origin *importer.Origin // of the record that events come from
}

// recordOf takes a record apart. In the oldest form there is no envelope.
func recordOf(rec importer.Record, out *importer.Output) *record {
	o := importer.ObjectOf(rec.Raw)
	r := &record{object: o, raw: rec.Raw, kind: o.Str("type"), out: out, origin: out.Origin()}
	r.time = timeOf(o["timestamp"])
	if scan.KindOf(o["payload"]) == scan.Object {
		r.object = o.Object("payload")
		r.sub = r.Str("type")
		return r
	}
	switch {
	case o["payload"] != nil:
		r.object = object{}
	case r.kind == "" && o.Str("record_type") != "":
		r.kind = o.Str("record_type")
	case r.kind == "" && o.Str("id") != "" && o["timestamp"] != nil:
		r.kind = "session_meta"
	case isEnvelope(r.kind):
	case isItem(r.kind):
		r.kind, r.sub = "response_item", r.kind
	case isEvent(r.kind):
		r.kind, r.sub = "event_msg", r.kind
	}
	return r
}

// isItem says whether a type is a response item's.
func isItem(kind string) bool {
	switch kind {
	case "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
		"custom_tool_call_output", "local_shell_call", "web_search_call", "tool_search_call",
		"tool_search_output", "image_generation_call", "agent_message":
		return true
	}
	return false
}

// isEvent says whether a type is an event's, and no response item's.
func isEvent(kind string) bool {
	switch kind {
	case "user_message", "agent_reasoning", "token_count", "task_started", "task_complete", "turn_aborted",
		"exec_command_end", "patch_apply_end", "mcp_tool_call_end", "web_search_end", "error", "context_compacted":
		return true
	}
	return false
}

// id is the record's own id: only response items have one that is theirs.
func (r *record) id() string {
	if r.kind == "response_item" {
		return r.Str("id")
	}
	return ""
}

// from is the record as the source of what was held: events take the place and
// the time of the record that said it.
func (r *record) from(origin *importer.Origin) *record {
	c := *r
	c.origin = origin
	return &c
}

// now is the record's time, "" when it has no usable one.
func (r *record) now() string { return r.origin.Time }

// layouts are the ways in which times without a zone, or with a blank, occur.
var layouts = [...]string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"}

// timeOf reads a time: a string, seconds or milliseconds since 1970, or seconds
// and nanoseconds. It is "" for anything else.
func timeOf(raw []byte) string {
	switch scan.KindOf(raw) {
	case scan.String:
		s, _ := scan.Unquote(raw)
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil {
				return t.UTC().Format(time.RFC3339Nano)
			}
		}
		return s // the stream takes it when it is one
	case scan.Number:
		return epoch(raw)
	case scan.Object:
		o := importer.ObjectOf(raw)
		secs, ok := firstInt(o, "secs", "secs_since_epoch", "seconds")
		nanos, _ := firstInt(o, "nanos", "nanos_since_epoch")
		if !ok || secs <= 0 || secs > maxSecs || nanos < 0 || nanos > 999_999_999 {
			return ""
		}
		return time.Unix(secs, nanos).UTC().Format(time.RFC3339Nano)
	default:
		return ""
	}
}

// maxSecs is the end of the year 9999.
const maxSecs = 253402300799

// epoch is a number since 1970: nobody means milliseconds of the year 1973.
func epoch(raw []byte) string {
	unit := time.Second
	if n, _ := scan.Float64(raw); n >= 1e11 {
		unit = time.Millisecond
	}
	return importer.EpochTime(raw, unit)
}

func firstInt(o object, names ...string) (int64, bool) {
	for _, name := range names {
		if n, ok := scan.Int64(o[name]); ok {
			return n, true
		}
	}
	return 0, false
}

// millis is a time as milliseconds since 1970.
func millis(t string) (int64, bool) {
	at, err := time.Parse(time.RFC3339Nano, t)
	return at.UnixMilli(), err == nil
}
