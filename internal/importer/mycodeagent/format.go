// Package mycodeagent reads the transcripts of MyCodeAgent:
// transcript-<session>.jsonl, an envelope a line. They are of our plain-loop
// family, so that each line passes as it is, with its own event id; the run of
// the envelope becomes the source run.
//
// transcript-subagent-<id>.jsonl is the log of a sub-agent, which takes the id
// as agent id. It does not say who asked for it: that is the Task call of a
// transcript beside it whose result names the id. Where there is one, the
// sub-agent belongs to that session; else it is on its own.
package mycodeagent

import (
	"slices"

	"github.com/stenohq/steno/internal/importer"
)

// Name of the format.
const Name = "mycodeagent"

// Format is the importer.Format of MyCodeAgent.
type Format struct{}

var _ importer.Format = Format{}

// Name implements importer.Format.
func (Format) Name() string { return Name }

// Detect implements importer.Format.
func (f Format) Detect(records [][]byte) bool {
	return slices.ContainsFunc(records, f.IsRecord)
}

// IsRecord implements importer.Format.
func (Format) IsRecord(raw []byte) bool {
	o := importer.ObjectOf(raw)
	return o.Str("event_type") != "" && o.Str("session_id") != "" && o["run_id"] != nil && o["payload"] != nil
}

// NewDecoder implements importer.Format.
func (Format) NewDecoder(src importer.Source) importer.Decoder { return newDecoder(src) }
