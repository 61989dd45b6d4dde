package importer

import (
	"bytes"

	"github.com/stenohq/steno/pkg/events/scan"
)

// early is what was taken of a line before its newline came.
type early struct {
	bytes   int // of the line
	records int
	notes   []string
}

// AtEnd says that the file has no more bytes for now. A last line that lacks
// only its newline is taken: no part of a JSON object is a whole one, so
// whatever may still come, its records are those that the complete line begins
// with. Anything else waits for the rest.
func (s *Stream) AtEnd() {
	tail := s.split.tail
	if len(tail) == s.early.bytes || !endsObject(tail) {
		return
	}
	number := s.split.line + 1
	l := parseLine(tail, number == 1, s.format.IsRecord)
	if len(l.records) == 0 || len(l.skips) > 0 {
		return
	}
	s.take(number, l)
	s.early = early{bytes: len(tail), records: len(l.records), notes: l.notes}
}

// endsObject says cheaply that a line could be whole.
func endsObject(tail []byte) bool {
	return bytes.HasSuffix(scan.Trim(tail), []byte("}"))
}
