package wirelog

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// class is what a physical line is.
type class uint8

const (
	bad class = iota
	metadata
	event   // inline
	wrapped // an event in base64
	invalid
	lost
	chain
)

// parsed is one line as far as order and chain need it.
type parsed struct {
	class
	events.Position
	seqTo  uint64
	prev   Hash // its h
	link   Hash // what the next line must name as its h
	cut    int  // event: where the recorder's fields begin
	reason []byte
	raw    []byte // base64
}

// parse classifies a line without its newline and reads its fields, apart from
// link unless it is a chain line. It does not look into an inline envelope: the
// chain does that. reason and raw alias the line.
func parse(line []byte) parsed {
	var p parsed
	if p.tail(line) {
		p.class, p.seqTo = event, p.Seq
		return p
	}
	p = parsed{}
	if !bytes.HasPrefix(line, []byte(typePrefix)) || !p.own(line) {
		return parsed{}
	}
	return p
}

// parseLinked is parse with link.
func parseLinked(line []byte) parsed {
	p := parse(line)
	if p.class != chain {
		p.link = events.HashLine(line)
	}
	return p
}

// The literals of the recorder's fields at the end of an event's line.
const (
	litHash   = `","h":"`
	litStored = `,"stored_at":"`
	litStream = `,"stream_seq":`
	litSeq    = `,"seq":`
	timeLen   = len(events.TimeFormat)
	hashLen   = 64
)

// tail reads {…,"seq":N,"stream_seq":N,"stored_at":"T","h":"H"} from its end,
// so that nothing a publisher wrote can pass for it.
func (p *parsed) tail(line []byte) bool {
	end := len(line) - len(`"}`)
	at := end - hashLen
	if at < 0 || line[0] != '{' || string(line[end:]) != `"}` {
		return false
	}
	var ok bool
	if p.prev, ok = parseHash(line[at:end]); !ok {
		return false
	}
	if end, ok = literalBefore(line, at, litHash); !ok || end < timeLen {
		return false
	}
	at = end - timeLen
	if p.StoredAt, ok = parseMillis(line[at:end]); !ok {
		return false
	}
	if end, ok = literalBefore(line, at, litStored); !ok {
		return false
	}
	if p.StreamSeq, at, ok = digitsBefore(line, end); !ok {
		return false
	}
	if end, ok = literalBefore(line, at, litStream); !ok {
		return false
	}
	if p.Seq, at, ok = digitsBefore(line, end); !ok || p.Seq == 0 {
		return false
	}
	p.cut, ok = literalBefore(line, at, litSeq)
	return ok && p.cut > 1
}

func literalBefore(line []byte, end int, lit string) (int, bool) {
	at := end - len(lit)
	return at, at >= 0 && string(line[at:end]) == lit
}

func digitsBefore(line []byte, end int) (uint64, int, bool) {
	at := end
	for at > 0 && line[at-1] >= '0' && line[at-1] <= '9' {
		at--
	}
	if end-at > 1 && line[at] == '0' {
		return 0, at, false
	}
	u, ok := scan.Uint64(line[at:end])
	return u, at, ok
}

// parseMillis reads exactly what events.AppendTime writes.
func parseMillis(b []byte) (int64, bool) {
	ms, ok := events.ParseTime(string(b))
	if !ok {
		return 0, false
	}
	var again [timeLen]byte
	return ms, bytes.Equal(events.AppendTime(again[:0], ms), b)
}

// own reads a line of the recorder's own.
func (p *parsed) own(line []byte) bool {
	var has struct{ seq, to, stream, stored, h, next bool }
	m := scan.ObjectOf(line)
	for m.Next() {
		ok, v := true, m.Value()
		switch m.Key() {
		case "type":
			p.class, ok = classOf(v)
		case "seq":
			p.Seq, ok = scan.Uint64(v)
			has.seq = p.Seq > 0
		case "seq_to":
			p.seqTo, ok = scan.Uint64(v)
			has.to = true
		case "stream_seq":
			p.StreamSeq, ok = scan.Uint64(v)
			has.stream = true
		case "stored_at":
			p.StoredAt, ok = parseMillis(unquoted(v))
			has.stored = true
		case "h":
			p.prev, ok = parseHash(unquoted(v))
			has.h = true
		case "next_h":
			p.link, ok = parseHash(unquoted(v))
			has.next = true
		case "reason":
			p.reason = v
			ok = scan.KindOf(v) == scan.String
		case "raw":
			p.raw = unquoted(v)
			ok = scan.KindOf(v) == scan.String
		}
		if !ok {
			return false
		}
	}
	counted := has.seq && has.stream && has.stored && has.h
	if !has.to {
		p.seqTo = p.Seq
	}
	switch p.class {
	case metadata:
		return m.Err() == nil
	case chain:
		return m.Err() == nil && has.h && has.next
	case lost:
		return m.Err() == nil && counted && has.to && p.seqTo >= p.Seq
	case wrapped, invalid:
		return m.Err() == nil && counted && p.raw != nil && !has.to
	case bad, event:
	}
	return false
}

// unquoted is the text between the quotes; none of the values has escapes.
func unquoted(v []byte) []byte {
	if scan.KindOf(v) != scan.String {
		return nil
	}
	return v[1 : len(v)-1]
}

func classOf(v []byte) (class, bool) {
	switch string(v) {
	case `"metadata"`:
		return metadata, true
	case `"event"`:
		return wrapped, true
	case `"invalid"`:
		return invalid, true
	case `"lost"`:
		return lost, true
	case `"chain"`:
		return chain, true
	}
	return bad, false
}

// decoder turns parsed lines into what a reader gets. Its buffer is reused.
type decoder struct{ raw []byte }

// decode fills out. For an inline event it writes into line, and the result
// aliases it.
func (d *decoder) decode(line []byte, p *parsed, out *archive.Line) error {
	*out = archive.Line{Seq: p.Seq, SeqTo: p.seqTo, StreamSeq: p.StreamSeq, StoredAt: p.StoredAt}
	if p.reason != nil {
		out.Reason, _ = scan.Unquote(bytes.Clone(p.reason))
	}
	switch p.class {
	case event:
		line[p.cut] = '}'
		out.Kind, out.Data = archive.Event, line[:p.cut+1:p.cut+1]
		return nil
	case wrapped:
		out.Kind = archive.Event
	case invalid:
		out.Kind = archive.Invalid
	case lost:
		out.Kind = archive.Lost
		return nil
	case bad, metadata, chain:
		return ErrFormat
	}
	var err error
	if d.raw, err = base64.StdEncoding.Strict().AppendDecode(d.raw[:0], p.raw); err != nil {
		return fmt.Errorf("%w: raw: %w", ErrFormat, err)
	}
	out.Data = d.raw
	return nil
}
