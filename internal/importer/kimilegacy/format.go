// Package kimilegacy reads the session logs of the older, Python kimi-cli:
// <session>/wire.jsonl, a line {timestamp, message{type, payload}}, with the
// events of sub-agents nested in it; and <session>/context.jsonl, the messages
// that the model was given, which has no times. Where both lie side by side
// they hold the same conversation, and the wire is read.
//
// Records have no ids, only their place. Content and the arguments of tool
// calls come in parts that are joined.
package kimilegacy

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// Name of the format.
const Name = "kimi-legacy"

// Format is the importer.Format of kimi-cli.
type Format struct{}

var _ importer.Format = Format{}

// Name implements importer.Format.
func (Format) Name() string { return Name }

// Detect implements importer.Format: only records that no other format has
// count.
func (Format) Detect(records [][]byte) bool {
	for _, raw := range records {
		r := importer.ObjectOf(raw)
		switch {
		case r.Str("type") == "metadata" && r.Str("protocol_version") != "" && r["created_at"] == nil:
			return true
		case isWire(r):
			return true
		case strings.HasPrefix(r.Str("role"), "_"):
			return true
		}
	}
	return false
}

func isWire(r importer.Object) bool {
	return scan.KindOf(r["timestamp"]) == scan.Number && r.Object("message").Str("type") != ""
}

// IsRecord implements importer.Format.
func (Format) IsRecord(raw []byte) bool {
	r := importer.ObjectOf(raw)
	return isWire(r) || r.Str("role") != "" && (r["content"] != nil || strings.HasPrefix(r.Str("role"), "_"))
}

// NewDecoder implements importer.Format.
func (Format) NewDecoder(src importer.Source) importer.Decoder { return newDecoder(src) }
