// Package claudecode reads the session logs of Claude Code: one JSON object a
// line in ~/.claude/projects/<slug>/<sessionId>.jsonl, those of sub-agents in
// <sessionId>/subagents/agent-<id>.jsonl.
//
// A prompt opens a turn, an API message (message.id) is a step, its content
// blocks are texts, thinking and tool calls. The usage that each line of a
// message repeats counts once, when the step ends: that is when the next
// message begins, the turn ends, or the message says that it was the last. The
// step a file ends in stays open, as nobody knows whether it goes on.
//
// Records that show nothing pass as events foreign.claude-code.<type> with the
// whole record as payload (image bytes replaced by their size).
package claudecode

import (
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// Name of the format.
const Name = "claude-code"

// Format is the importer.Format of Claude Code.
type Format struct{}

var _ importer.Format = Format{}

// Name implements importer.Format.
func (Format) Name() string { return Name }

// Detect implements importer.Format: graph records have a uuid and a
// parentUuid or a session, sidecar records are known by their type.
func (Format) Detect(records [][]byte) bool {
	for _, raw := range records {
		r := importer.ObjectOf(raw)
		if r.Str("uuid") != "" && (r["parentUuid"] != nil || r.Str("sessionId") != "") {
			return true
		}
		switch r.Str("type") {
		case "file-history-snapshot":
			if r["snapshot"] != nil {
				return true
			}
		case "summary":
			if r["leafUuid"] != nil {
				return true
			}
		case "queue-operation", "permission-mode", "mode", "last-prompt", "ai-title", "custom-title", "agent-name":
			if r.Str("sessionId") != "" {
				return true
			}
		}
	}
	return false
}

// IsRecord implements importer.Format.
func (Format) IsRecord(raw []byte) bool {
	if scan.KindOf(raw) != scan.Object {
		return false
	}
	r := importer.ObjectOf(raw)
	switch r.Str("type") {
	case "":
		return false
	case "file-history-snapshot":
		return r["snapshot"] != nil
	case "summary":
		return r["leafUuid"] != nil
	}
	return r.Str("sessionId") != ""
}

// NewDecoder implements importer.Format.
func (Format) NewDecoder(src importer.Source) importer.Decoder { return newDecoder(src) }
