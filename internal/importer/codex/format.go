// Package codex reads the rollouts of the Codex CLI: one JSON object a line in
// ~/.codex/sessions/Y/M/D/rollout-<time>-<id>.jsonl, {timestamp, type, payload}.
// The oldest ones have bare records without an envelope.
//
// A turn is what stands between task_started and task_complete or turn_aborted,
// in files without these what follows a prompt. A step is what stands before
// each token_count that tells of a new call of the model; it carries that call's
// usage. What a file copied from the session it was forked from is shown, but
// its usage is not counted again.
//
// Many things stand twice: as a response item, which is taken, and as an event.
// An event that stays without its item until the turn ends is taken instead.
//
// Records that show nothing pass as events foreign.codex.<type> with the whole
// record as payload (image bytes replaced by their size).
package codex

import (
	"slices"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// Name of the format.
const Name = "codex"

// Format is the importer.Format of the Codex CLI.
type Format struct{}

var _ importer.Format = Format{}

// Name implements importer.Format.
func (Format) Name() string { return Name }

// Detect implements importer.Format.
func (f Format) Detect(records [][]byte) bool { return slices.ContainsFunc(records, f.IsRecord) }

// IsRecord implements importer.Format.
func (Format) IsRecord(raw []byte) bool {
	if scan.KindOf(raw) != scan.Object {
		return false
	}
	o := importer.ObjectOf(raw)
	kind := o.Str("type")
	switch {
	case isEnvelope(kind):
		return scan.KindOf(o["payload"]) == scan.Object || o.Str("id") != ""
	case o.Str("record_type") == "state":
		return true
	case kind == "":
		return isBareMeta(o)
	}
	return o["payload"] == nil && isBareItem(kind, o)
}

// isEnvelope says whether a type is one of those that wrap a payload.
func isEnvelope(kind string) bool {
	switch kind {
	case "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state":
		return true
	}
	return false
}

// isBareMeta recognises the first record of the oldest form.
func isBareMeta(o importer.Object) bool {
	_, instructions := o["instructions"]
	_, git := o["git"]
	return o.Str("id") != "" && o["timestamp"] != nil && (instructions || git)
}

// isBareItem recognises a response item without an envelope. Other formats have
// records of type message too, but not with such content.
func isBareItem(kind string, o importer.Object) bool {
	switch kind {
	case "function_call", "custom_tool_call":
		return o.Str("call_id") != "" && o.Str("name") != ""
	case "function_call_output", "custom_tool_call_output":
		return o.Str("call_id") != "" && o["output"] != nil
	case "local_shell_call":
		return o["action"] != nil
	case "reasoning":
		return o["summary"] != nil
	case "message":
		parts, ok := partsOf(o["content"])
		return ok && o.Str("role") != "" && len(parts) > 0 &&
			(parts[0].kind == "input_text" || parts[0].kind == "output_text" || parts[0].kind == "input_image")
	}
	return false
}

// NewDecoder implements importer.Format.
func (Format) NewDecoder(src importer.Source) importer.Decoder { return newDecoder(src) }
