package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/events"
)

// maxPreamble bounds the drafts that wait for the file's session and first
// usable time.
const maxPreamble = 10_000

// Stream turns the bytes of one file into events. It is used by one goroutine.
type Stream struct {
	format  Format
	src     Source
	dec     Decoder
	split   splitter
	early   early // what was taken of the line that has no end yet
	report  Report
	index   int               // records so far
	first   []byte            // SHA-256 of the first complete line; nil before
	ids     map[uint64]uint64 // hash of a record's id: hash of the record
	hash    [sha256.Size]byte // of the current record
	time    string            // of the newest record that had one
	pending []Draft           // before session and time are known
	logs    map[events.AgentID]*agentLog
	events  []*events.Event
}

type agentLog struct {
	run string
	n   uint64
}

// NewStream begins a file of the given format.
func NewStream(format Format, src Source) *Stream {
	if src.Agent == "" {
		src.Agent = events.MainAgent
	}
	return &Stream{
		format: format,
		src:    src,
		dec:    format.NewDecoder(src),
		split:  splitter{limit: MaxLine},
		report: Report{Format: format.Name()},
		ids:    make(map[uint64]uint64),
		logs:   make(map[events.AgentID]*agentLog),
	}
}

// Write takes the next bytes of the file. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.report.Bytes += int64(len(p))
	s.split.feed(p, s.line)
	return len(p), nil
}

// Events returns the events made since the last call.
func (s *Stream) Events() []*events.Event {
	out := s.events
	s.events = nil
	return out
}

// Report tells where the file stands. The caller owns it.
func (s *Stream) Report() *Report {
	r := s.report
	r.Session = s.session()
	r.Lines = s.split.line
	r.Records = s.index
	r.Unfinished = s.split.pending() - s.early.bytes
	if s.early.bytes > 0 {
		r.Lines++
	}
	r.Held = append([]Finding(nil), s.dec.Held()...)
	if len(s.pending) > 0 {
		r.Held = append(r.Held, Finding{
			Line:   s.pending[0].Origin.Line,
			Reason: fmt.Sprintf("%d events wait for a record that names the session and the time", len(s.pending)),
		})
	}
	r.Agents = make(map[events.AgentID]uint64, len(s.logs))
	for id, log := range s.logs {
		r.Agents[id] = log.n
		if id == s.src.Agent {
			r.RunID = log.run
		}
	}
	return &r
}

func (s *Stream) session() events.SessionID {
	if s.src.Session != "" {
		return s.src.Session
	}
	return s.dec.Session()
}

// line takes one complete line.
func (s *Stream) line(number int, b []byte, tooLong bool) {
	if tooLong {
		s.early = early{}
		s.report.skip(number, fmt.Sprintf("line longer than %d MiB", s.split.limit>>20))
		return
	}
	s.take(number, parseLine(b, number == 1, s.format.IsRecord))
	s.early = early{}
}

// take uses what a line holds beyond what was taken of it before its end came.
func (s *Stream) take(number int, l line) {
	for _, reason := range l.skips {
		s.report.skip(number, reason)
	}
	for _, note := range l.notes {
		if !slices.Contains(s.early.notes, note) {
			s.report.mend(number, note)
		}
	}
	for _, raw := range l.records[min(s.early.records, len(l.records)):] {
		s.record(number, bytes.Clone(raw)) // the buffer is used again, parts of it are kept
	}
}

func (s *Stream) record(number int, raw []byte) {
	s.index++
	s.hash = sha256.Sum256(raw)
	if s.first == nil {
		s.first = bytes.Clone(s.hash[:])
	}
	out := &Output{stream: s, origin: &Origin{Line: number, Index: s.index}}
	s.dec.Record(Record{Line: number, Index: s.index, Raw: raw}, out)
	for _, d := range out.drafts {
		if d.Origin == nil {
			d.Origin = out.origin
		}
		s.draft(d)
	}
}

// identify gives a record its id and time. The id is the file's where it is
// unique there, else the record's place and hash.
func (s *Stream) identify(o *Origin, id, at string) bool {
	if usableTime(at) {
		o.Time = strings.Clone(at)
		s.time = o.Time
	}
	hash := binary.BigEndian.Uint64(s.hash[:])
	o.ID = fmt.Sprintf("r%d-%x", o.Index, s.hash[:6])
	if !usableID(id) {
		return true
	}
	sum := sha256.Sum256([]byte(id))
	key := binary.BigEndian.Uint64(sum[:])
	before, seen := s.ids[key]
	if seen {
		if before == hash {
			s.report.Repeats++
			return false
		}
		return true
	}
	s.ids[key] = hash
	o.ID = strings.Clone(id)
	return true
}

func usableTime(t string) bool {
	if t == "" || len(t) > 40 {
		return false
	}
	_, ok := events.ParseTime(t)
	return ok
}

func usableID(id string) bool {
	if id == "" || len(id) > 80 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
