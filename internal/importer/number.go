package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// draft gives an event its identity once the session and a time are known;
// until then it waits, and so does everything behind it.
func (s *Stream) draft(d Draft) {
	s.pending = append(s.pending, d)
	if s.session() == "" {
		if len(s.pending) > maxPreamble {
			s.report.skip(s.pending[0].Origin.Line, fmt.Sprintf("no session id in the first %d events", maxPreamble))
			s.pending = s.pending[1:]
		}
		return
	}
	if s.time == "" && d.Time == "" && len(s.pending) <= maxPreamble && !s.timeless() {
		return
	}
	waiting := s.pending
	s.pending = nil
	for _, w := range waiting {
		s.number(w)
	}
}

func (s *Stream) timeless() bool {
	t, ok := s.dec.(Timeless)
	return ok && t.Timeless()
}

func (s *Stream) number(d Draft) {
	log := s.log(d.Agent)
	log.n++
	e := &events.Event{
		Type:          plainName(d.Type),
		Payload:       d.Payload,
		Session:       s.published(),
		Agent:         d.Agent,
		ID:            s.format.Name() + ":" + d.Origin.ID + ":" + strconv.Itoa(d.Origin.made),
		Timestamp:     s.timeOf(d),
		RunID:         log.run,
		SourceRun:     plainName(d.SourceRun),
		N:             log.n,
		ReferenceID:   plainName(d.Reference),
		Labels:        d.Labels,
		Step:          d.Step,
		HasStep:       d.HasStep,
		SchemaVersion: 1,
	}
	if d.Verbatim {
		e.ID = d.Origin.ID
	} else {
		d.Origin.made++
	}
	s.fit(e, d.Origin.Line)
	s.report.Events++
	s.events = append(s.events, e)
}

// plainName makes a text of the file fit for a name: control characters and
// parts of characters become question marks.
func plainName(s string) string {
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || unicode.IsControl(c) {
			return '?'
		}
		return c
	}, s)
}

func (s *Stream) timeOf(d Draft) string {
	switch {
	case usableTime(d.Time):
		return d.Time
	case d.Origin.Time != "":
		return d.Origin.Time
	}
	return s.time
}

// log is the agent log that the file feeds; each has a run and an n of its own.
func (s *Stream) log(agent events.AgentID) *agentLog {
	log := s.logs[agent]
	if log == nil {
		log = &agentLog{run: RunID(s.format.Name(), s.session(), agent, s.first)}
		s.logs[agent] = log
	}
	return log
}

func (s *Stream) published() events.SessionID {
	if s.src.PublishAs != "" {
		return s.src.PublishAs
	}
	return s.session()
}

// RunID is the run of one file in one agent log: a function of what the file
// is, not of where it lies. first is the SHA-256 of its first record.
func RunID(format string, session events.SessionID, agent events.AgentID, first []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%x\n", format, session, agent, first)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// What the envelope adds to a payload at most.
const envelope = 2048

// A value above bigValue is cut to keptValue when the event would not fit into
// a message.
const (
	bigValue  = 64 << 10
	keptValue = 16 << 10
)

// fit makes an event storable: values that a message cannot hold are cut, and
// what is still no valid event is replaced, so that n has no hole.
func (s *Stream) fit(e *events.Event, line int) {
	if len(e.Payload)+len(e.Labels) > events.MaxSize-envelope {
		var cut int
		if e.Payload, cut = cutValues(e.Payload); cut > 0 {
			s.report.skip(line, fmt.Sprintf("%s: %d bytes cut off, an event holds 1 MiB", e.Type, cut))
		}
	}
	var reason string
	switch {
	case len(e.Payload)+len(e.Labels) > events.MaxSize-envelope:
		reason = fmt.Sprintf("event of %d bytes, above 1 MiB", len(e.Payload))
	case tooDeep(e.Payload):
		reason = fmt.Sprintf("nested deeper than %d", scan.MaxDepth)
	case len(e.Type) > events.MaxType:
		reason = fmt.Sprintf("event type of %d bytes", len(e.Type))
	default:
		return
	}
	s.report.skip(line, e.Type[:min(len(e.Type), events.MaxType)]+": "+reason)
	var p Fields
	p.Uint("n", e.N).Str("event_type", e.Type[:min(len(e.Type), events.MaxType)]).Str("reason", reason)
	e.Type, e.Payload = "steno.skipped", p.Object()
}

// tooDeep says whether the payload would be nested too deeply in an envelope.
func tooDeep(payload []byte) bool {
	brackets := bytes.Count(payload, []byte("{")) + bytes.Count(payload, []byte("["))
	if brackets < scan.MaxDepth {
		return false
	}
	wrapped := append(append([]byte{'['}, payload...), ']')
	return scan.Check(wrapped) != nil
}

// cutValues shortens the members of a payload that are above 64 KiB to their
// first 16 KiB, as a string, and tells how many bytes went.
func cutValues(payload []byte) (out []byte, cut int) {
	var p Fields
	m := scan.ObjectOf(payload)
	for m.Next() {
		value := m.Value()
		if len(value) <= bigValue {
			p.Raw(m.Key(), value)
			continue
		}
		text, isString := scan.Unquote(value)
		if !isString {
			text = string(value)
		}
		kept := text[:min(keptValue, len(text))]
		for len(kept) > 0 && len(kept) < len(text) && !utf8Start(text[len(kept)]) {
			kept = kept[:len(kept)-1]
		}
		cut += len(value) - len(kept)
		p.Str(m.Key(), kept)
	}
	if m.Err() != nil {
		return payload, 0
	}
	return p.Object(), cut
}

func utf8Start(c byte) bool { return c&0xC0 != 0x80 }
