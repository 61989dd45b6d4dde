package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/events/scan"
)

// maxTears bounds the search for a whole record behind a torn one.
const maxTears = 256

// line is what one line of a file holds.
type line struct {
	records [][]byte // valid JSON objects
	skips   []string // why a part of the line is not used
	notes   []string // what was mended
}

var bom = []byte("\xef\xbb\xbf")

// parseLine finds the records of one line: usually one, several when records
// were glued together, none when it cannot be read.
func parseLine(b []byte, first bool, isRecord func([]byte) bool) line {
	var l line
	if first && bytes.HasPrefix(b, bom) {
		b = b[len(bom):]
		l.notes = append(l.notes, "byte-order mark removed")
	}
	b = bytes.TrimSuffix(b, []byte("\r"))
	if n := bytes.Count(b, []byte{0}); n > 0 {
		b = bytes.ReplaceAll(b, []byte{0}, nil)
		if len(scan.Trim(b)) == 0 {
			l.skips = append(l.skips, fmt.Sprintf("%d NUL bytes and nothing else", n))
			return l
		}
		l.notes = append(l.notes, fmt.Sprintf("%d NUL bytes removed", n))
	}
	b = scan.Trim(b)
	if len(b) == 0 {
		l.skips = append(l.skips, "blank line")
		return l
	}
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
		l.notes = append(l.notes, "bytes that are not UTF-8 replaced by U+FFFD")
	}
	if scan.Check(b) == nil {
		l.take(b)
		return l
	}
	l.unglue(b, isRecord)
	if len(l.records) > 1 {
		l.notes = append(l.notes, fmt.Sprintf("%d records on one line", len(l.records)))
	}
	return l
}

// take adds one JSON value.
func (l *line) take(value []byte) {
	if kind := scan.KindOf(value); kind != scan.Object {
		l.skips = append(l.skips, fmt.Sprintf("JSON but no object: %s", kind))
		return
	}
	l.records = append(l.records, value)
}

// unglue splits a line that is not one JSON value.
func (l *line) unglue(b []byte, isRecord func([]byte) bool) {
	for len(b) > 0 {
		value, rest, err := firstValue(b)
		if err == nil {
			l.take(value)
			b = scan.Trim(rest)
			continue
		}
		if at := behindTear(b, isRecord); at > 0 {
			l.skips = append(l.skips, fmt.Sprintf("torn record of %d bytes: %v", at, err))
			b = b[at:]
			continue
		}
		l.skips = append(l.skips, fmt.Sprintf("not JSON: %v", err))
		return
	}
}

// firstValue cuts one JSON value off the beginning of b.
func firstValue(b []byte) (value, rest []byte, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		if cause := scan.Check(b); cause != nil {
			err = cause
		}
		return nil, nil, err
	}
	end := dec.InputOffset()
	value = scan.Trim(b[:end])
	if err := scan.Check(value); err != nil {
		return nil, nil, err // nested too deeply
	}
	return value, b[end:], nil
}

// behindTear finds where, behind a record that was cut off, the next whole one
// begins; 0 when none does.
func behindTear(b []byte, isRecord func([]byte) bool) int {
	at := 0
	for range maxTears {
		i := bytes.Index(b[at+1:], []byte(`{"`))
		if i < 0 {
			return 0
		}
		at += 1 + i
		if value, _, err := firstValue(b[at:]); err == nil && isRecord(value) {
			return at
		}
	}
	return 0
}
