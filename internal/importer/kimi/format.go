// Package kimi reads the session logs of kimi-code: one wire.jsonl for each
// agent at <session>/agents/<agent>/wire.jsonl, a record {type, …, time} a
// line. Protocols 1.0 to 1.5 are read by their records, not by the number.
//
// turn.prompt opens a turn, and the message that follows it is its second
// copy; logs without it open turns by their messages. A step.begin is a step,
// each attempt of a retried one is its own. The numbers that the engine gives
// its turns count hidden ones (a retry, a queued prompt that was cancelled)
// too; turns are numbered here as they are seen, and the records that name an
// engine's number find theirs.
//
// agent.message.appended repeats a turn's messages at its end and counts only
// where there is no first copy. Records that show nothing pass as events
// foreign.kimi.<type> with the whole record as payload.
package kimi

import (
	"github.com/stenohq/steno/internal/importer"
)

// Name of the format.
const Name = "kimi"

// Format is the importer.Format of kimi-code.
type Format struct{}

var _ importer.Format = Format{}

// Name implements importer.Format.
func (Format) Name() string { return Name }

// Detect implements importer.Format.
func (Format) Detect(records [][]byte) bool {
	for _, raw := range records {
		r := importer.ObjectOf(raw)
		switch r.Str("type") {
		case "metadata":
			if r.Str("protocol_version") != "" && r["created_at"] != nil {
				return true
			}
		case "context.append_message":
			if r["message"] != nil {
				return true
			}
		case "context.append_loop_event":
			if r["event"] != nil {
				return true
			}
		case "turn.prompt":
			if r["input"] != nil {
				return true
			}
		case "profile.bind", "config.update", "runtime.set_binding", "agent.message.appended":
			if r["time"] != nil {
				return true
			}
		}
	}
	return false
}

// IsRecord implements importer.Format.
func (Format) IsRecord(raw []byte) bool {
	r := importer.ObjectOf(raw)
	return r.Str("type") != "" && (r["time"] != nil || r["created_at"] != nil)
}

// NewDecoder implements importer.Format.
func (Format) NewDecoder(src importer.Source) importer.Decoder { return newDecoder(src) }
