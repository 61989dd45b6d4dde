package events

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/stenohq/steno/pkg/events/scan"
)

// ParseLine reads any line but the metadata line, of which it only tells the
// kind. The fixed end of an event line is read from behind, so that nothing a
// publisher wrote can pass for it; the envelope in Data is not checked. The
// error is a *scan.SyntaxError or a *FieldError and means that the line is
// damaged.
func ParseLine(line []byte) (Line, error) {
	if l, ok := parseEventLine(line); ok {
		return l, nil
	}
	if err := scan.Check(line); err != nil {
		return Line{}, err
	}
	kind, _ := scan.Get(line, "type")
	switch string(kind) {
	case `"invalid"`:
		return parseInvalidLine(line)
	case `"lost"`:
		return parseLostLine(line)
	case `"metadata"`:
		return Line{Kind: LineMetadata}, nil
	}
	return Line{}, fieldError("h", "want a line that ends with seq, stream_seq, stored_at and h")
}

const (
	hexLen  = 2 * len(LineHash{})
	timeLen = len(TimeFormat)
)

// parseEventLine takes apart
// {…,"seq":N,"stream_seq":N,"stored_at":"T","h":"H"} from its end.
func parseEventLine(line []byte) (l Line, ok bool) {
	rest, ok := bytes.CutSuffix(line, []byte(`"}`))
	if !ok || len(rest) < hexLen {
		return l, false
	}
	hash := rest[len(rest)-hexLen:]
	if rest, ok = bytes.CutSuffix(rest[:len(rest)-hexLen], []byte(`","h":"`)); !ok || len(rest) < timeLen {
		return l, false
	}
	stored := rest[len(rest)-timeLen:]
	if rest, ok = bytes.CutSuffix(rest[:len(rest)-timeLen], []byte(`,"stored_at":"`)); !ok {
		return l, false
	}
	if l.StreamSeq, rest, ok = cutNumber(rest, `,"stream_seq":`); !ok {
		return l, false
	}
	if l.Seq, rest, ok = cutNumber(rest, `,"seq":`); !ok || len(rest) < 2 || l.Seq == 0 {
		return l, false
	}
	if l.StoredAt, ok = parseStored(stored); !ok || !parseHash(&l.Prev, hash) {
		return l, false
	}
	l.SeqTo = l.Seq
	// The closing brace of the envelope stood where the comma of "seq" is.
	l.Data = make([]byte, len(rest)+1)
	copy(l.Data, rest)
	l.Data[len(rest)] = '}'
	return l, true
}

// cutNumber takes the digits at the end of b and the name before them.
func cutNumber(b []byte, name string) (u uint64, rest []byte, ok bool) {
	i := len(b)
	for i > 0 && b[i-1]-'0' <= 9 {
		i--
	}
	digits := b[i:]
	if u, ok = scan.Uint64(digits); !ok || len(digits) > 1 && digits[0] == '0' {
		return 0, nil, false
	}
	at := i - len(name)
	if at < 0 || string(b[at:i]) != name {
		return 0, nil, false
	}
	return u, b[:at], true
}

// parseStored reads a time in TimeFormat, and only that. Writing it again
// checks it, separators included.
func parseStored(b []byte) (int64, bool) {
	if len(b) != timeLen {
		return 0, false
	}
	var part [7]int
	for i, at := range [...][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}, {20, 23}} {
		u, ok := scan.Uint64(b[at[0]:at[1]])
		if !ok {
			return 0, false
		}
		part[i] = int(u)
	}
	ms := time.Date(part[0], time.Month(part[1]), part[2], part[3], part[4], part[5], part[6]*1e6, time.UTC).UnixMilli()
	var again [timeLen]byte
	return ms, string(AppendTime(again[:0], ms)) == string(b)
}

func parseHash(h *LineHash, b []byte) bool {
	if len(b) != hexLen {
		return false
	}
	_, err := hex.Decode(h[:], b)
	return err == nil && isSHA256(string(b))
}

func parseInvalidLine(line []byte) (Line, error) {
	l := Line{Kind: LineInvalid}
	var stored, hash, raw []byte
	m := scan.ObjectOf(line)
	for m.Next() {
		ok := true
		switch m.Key() {
		case "seq":
			l.Seq, ok = scan.Uint64(m.Value())
		case "stream_seq":
			l.StreamSeq, ok = scan.Uint64(m.Value())
		case "stored_at":
			stored = unquoted(m.Value())
			l.StoredAt, ok = parseStored(stored)
		case "h":
			hash = unquoted(m.Value())
			ok = parseHash(&l.Prev, hash)
		case "reason":
			l.Reason, ok = scan.Unquote(m.Value())
		case "raw":
			raw = unquoted(m.Value())
			var err error
			l.Data, err = base64.StdEncoding.AppendDecode(nil, raw)
			ok = err == nil && raw != nil
		}
		if !ok {
			return Line{}, fieldError(m.Key(), "has a wrong value in an invalid line")
		}
	}
	if l.Seq == 0 || stored == nil || hash == nil || raw == nil {
		return Line{}, fieldError("invalid", "want seq, stream_seq, stored_at, h, reason and raw")
	}
	l.SeqTo = l.Seq
	return l, m.Err()
}

func parseLostLine(line []byte) (Line, error) {
	l := Line{Kind: LineLost}
	var hash []byte
	m := scan.ObjectOf(line)
	for m.Next() {
		ok := true
		switch m.Key() {
		case "seq":
			l.Seq, ok = scan.Uint64(m.Value())
		case "seq_to":
			l.SeqTo, ok = scan.Uint64(m.Value())
		case "h":
			hash = unquoted(m.Value())
			ok = parseHash(&l.Prev, hash)
		}
		if !ok {
			return Line{}, fieldError(m.Key(), "has a wrong value in a lost line")
		}
	}
	if l.Seq == 0 || l.SeqTo < l.Seq || hash == nil {
		return Line{}, fieldError("lost", "want seq, a seq_to not below it, and h")
	}
	return l, m.Err()
}

func unquoted(raw []byte) []byte {
	s, ok := scan.Unquote(raw)
	if !ok {
		return nil
	}
	return []byte(s)
}

// WireFormat is the format that metadata lines name.
const WireFormat = "steno.wire/1"

// Metadata is the first line of a part of an archive.
type Metadata struct {
	Session       SessionID
	Agent         AgentID
	Epoch         string // the part before the dot
	Part          int    // from 1
	FirstSeq      uint64
	Prev          LineHash // of the last line of the part before; zero in part 1
	Stream        string
	StreamCreated int64 // Unix milliseconds
	CreatedAt     int64 // of the part, Unix milliseconds
}

// AppendMetadataLine appends the first line of a part.
func AppendMetadataLine(dst []byte, md *Metadata) []byte {
	dst = append(dst, `{"type":"metadata","format":"`+WireFormat+`"`...)
	dst = appendString(dst, "session_id", string(md.Session))
	dst = appendString(dst, "agent_id", string(md.Agent))
	dst = appendString(dst, "epoch", md.Epoch)
	dst = strconv.AppendInt(append(dst, `,"part":`...), int64(md.Part), 10)
	dst = strconv.AppendUint(append(dst, `,"first_seq":`...), md.FirstSeq, 10)
	dst = appendHash(dst, "prev_h", md.Prev)
	dst = appendString(dst, "stream", md.Stream)
	dst = append(AppendTime(append(dst, `,"stream_created":"`...), md.StreamCreated), '"')
	dst = append(AppendTime(append(dst, `,"created_at":"`...), md.CreatedAt), '"')
	return append(dst, '}')
}

// ParseMetadataLine is its inverse. Unknown members are ignored; another
// format is an error.
func ParseMetadataLine(line []byte) (Metadata, error) {
	var md Metadata
	var kind, format string
	m := scan.ObjectOf(line)
	for m.Next() {
		if err := parseMetadataMember(&md, &kind, &format, m.Key(), m.Value()); err != nil {
			return Metadata{}, err
		}
	}
	switch {
	case m.Err() != nil:
		return Metadata{}, m.Err()
	case kind != "metadata":
		return Metadata{}, fieldError("type", "want metadata in the first line of a part")
	case format != WireFormat:
		return Metadata{}, fieldError("format", "is "+strconv.Quote(format)+", this program reads "+WireFormat)
	case checkID(string(md.Session)) != nil:
		return Metadata{}, fieldError("session_id", ErrID.Error())
	case checkID(string(md.Agent)) != nil:
		return Metadata{}, fieldError("agent_id", ErrID.Error())
	}
	return md, nil
}

func parseMetadataMember(md *Metadata, kind, format *string, key string, value []byte) error {
	ok := true
	var u uint64
	switch key {
	case "type":
		*kind, ok = scan.Unquote(value)
	case "format":
		*format, ok = scan.Unquote(value)
	case "session_id":
		ok = unquoteInto((*string)(&md.Session), value)
	case "agent_id":
		ok = unquoteInto((*string)(&md.Agent), value)
	case "epoch":
		ok = unquoteInto(&md.Epoch, value)
	case "part":
		u, ok = scan.Uint64(value)
		md.Part, ok = int(u), ok && u <= MaxStep
	case "first_seq":
		md.FirstSeq, ok = scan.Uint64(value)
	case "prev_h":
		ok = parseHash(&md.Prev, unquoted(value))
	case "stream":
		ok = unquoteInto(&md.Stream, value)
	case "stream_created":
		md.StreamCreated, ok = ParseTime(string(unquoted(value)))
	case "created_at":
		md.CreatedAt, ok = ParseTime(string(unquoted(value)))
	}
	if !ok {
		return fieldError(key, "has a wrong value in a metadata line")
	}
	return nil
}

func unquoteInto(dst *string, value []byte) bool {
	s, ok := scan.Unquote(value)
	*dst = s
	return ok
}
