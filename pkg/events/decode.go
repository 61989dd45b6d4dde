package events

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Decode reads one envelope into ev, which it overwrites. It takes ownership
// of data: the fields of ev alias it, and line breaks between JSON tokens are
// replaced by spaces in it, which is the form every reader sees (FORMAT.md).
//
// Decode is strict in what safety needs: JSON syntax, UTF-8, size, nesting,
// the type and length of each known field, the ids, and that no known field
// stands twice. It returns a *scan.SyntaxError or a *FieldError that names the
// field; ev is then unusable. Decode does not look into the payload.
// Validate checks what else a publisher should keep.
func Decode(data []byte, ev *Event) error {
	*ev = Event{SchemaVersion: 1}
	if len(data) > MaxSize {
		return fieldError("event", "is "+strconv.Itoa(len(data))+" bytes long, the limit is "+strconv.Itoa(MaxSize))
	}
	m := scan.ObjectOf(data)
	var seen fieldSet
	for m.Next() {
		if err := decodeMember(ev, &m, &seen, data); err != nil {
			return err
		}
	}
	if err := m.Err(); err != nil {
		return err
	}
	switch {
	case ev.Type == "":
		return fieldError("event_type", "is missing")
	case ev.Payload == nil:
		return fieldError("payload", "is missing")
	}
	flatten(data)
	return nil
}

// Read is Decode for an event of a known agent log: absent ids are filled in
// and present ones must be those of the log. A stored message is an invalid
// record if and only if Read fails.
func Read(data []byte, s SessionID, a AgentID, ev *Event) error {
	if err := Decode(data, ev); err != nil {
		return err
	}
	return ev.Bind(s, a)
}

// Bind fills in absent ids from where the event was found and refuses others.
func (e *Event) Bind(s SessionID, a AgentID) error {
	switch {
	case e.Session != "" && e.Session != s:
		return fieldError("session_id", "is "+strconv.Quote(string(e.Session))+", but the event was sent to session "+strconv.Quote(string(s)))
	case e.Agent != "" && e.Agent != a:
		return fieldError("agent_id", "is "+strconv.Quote(string(e.Agent))+", but the event was sent to agent "+strconv.Quote(string(a)))
	}
	e.Session, e.Agent = s, a
	return nil
}

// Salvage returns run_id and n of a message that Decode refuses, when its
// syntax is right and these two fields are: such a message takes its place in
// its run. n is 0 otherwise.
func Salvage(data []byte) (runID string, n uint64) {
	if len(data) > MaxSize {
		return "", 0
	}
	var ev Event
	var seen fieldSet
	m := scan.ObjectOf(data)
	for m.Next() {
		switch m.Key() {
		case "run_id", "n":
			if decodeMember(&ev, &m, &seen, data) != nil {
				return "", 0
			}
		}
	}
	if m.Err() != nil || ev.RunID == "" || ev.N == 0 {
		return "", 0
	}
	return ev.RunID, ev.N
}

// flatten replaces the line breaks of valid JSON by spaces: inside strings it has
// none. Text that is not valid must be refused first, and kept as it is.
func flatten(data []byte) {
	for _, c := range [...]byte{'\n', '\r'} {
		for rest := data; ; {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}

// decodeMember puts the current member of m into its field.
func decodeMember(ev *Event, m *scan.Members, seen *fieldSet, data []byte) error {
	value := m.Value()
	f := fieldOf(m)
	if f == fieldUnknown {
		start := m.NameOffset()
		ev.Extra = appendExtra(ev.Extra, data[start:m.Offset()+len(value)])
		return nil
	}
	if !seen.first(f) {
		return fieldError(f.String(), "stands twice")
	}
	if scan.IsNull(value) {
		return nil
	}
	switch f {
	case fieldType:
		return decodeName(&ev.Type, f, m, MaxType)
	case fieldPayload:
		return decodeKind(&ev.Payload, f, value, scan.Object)
	case fieldSession:
		return decodeID((*string)(&ev.Session), f, m)
	case fieldAgent:
		return decodeID((*string)(&ev.Agent), f, m)
	case fieldID:
		return decodeName(&ev.ID, f, m, MaxID)
	case fieldTimestamp:
		return decodeName(&ev.Timestamp, f, m, MaxID)
	case fieldRunID:
		return decodeName(&ev.RunID, f, m, MaxID)
	case fieldSourceRun:
		return decodeName(&ev.SourceRun, f, m, MaxID)
	case fieldReferenceID:
		return decodeName(&ev.ReferenceID, f, m, MaxReference)
	case fieldBlobs:
		return decodeKind(&ev.Blobs, f, value, scan.Array)
	case fieldLabels:
		return decodeKind(&ev.Labels, f, value, scan.Object)
	default:
		return decodeNumber(ev, f, value)
	}
}

func decodeNumber(ev *Event, f field, value []byte) error {
	low, high := uint64(0), uint64(MaxStep)
	if f == fieldN {
		low, high = 1, MaxOrdinal
	}
	u, ok := scan.Uint64(value)
	if !ok || u < low || u > high {
		return fieldError(f.String(), "want an integer from "+strconv.FormatUint(low, 10)+" to "+
			strconv.FormatUint(high, 10)+", got "+excerpt(value))
	}
	switch f {
	case fieldN:
		ev.N = u
	case fieldStep:
		ev.Step, ev.HasStep = int(u), true
	default:
		ev.SchemaVersion = int(u)
	}
	return nil
}

// appendExtra joins unknown members. The first one aliases the buffer and is
// copied when a second comes.
func appendExtra(extra, member []byte) []byte {
	if extra == nil {
		return slices.Clip(member)
	}
	return append(append(extra, ','), member...)
}

func decodeKind(dst *[]byte, f field, value []byte, want scan.Kind) error {
	if got := scan.KindOf(value); got != want {
		return fieldError(f.String(), "want "+want.String()+", got "+got.String())
	}
	*dst = value
	return nil
}

func decodeID(dst *string, f field, m *scan.Members) error {
	s, ok := m.Text()
	if !ok {
		return fieldError(f.String(), "want a string, got "+scan.KindOf(m.Value()).String())
	}
	if err := checkID(s); err != nil {
		return &FieldError{Field: f.String(), Problem: err.Error(), err: ErrID}
	}
	*dst = s
	return nil
}

// decodeName reads a string that serves as a key: valid UTF-8 without control
// characters.
func decodeName(dst *string, f field, m *scan.Members, limit int) error {
	s, ok := m.Text()
	switch {
	case !ok:
		return fieldError(f.String(), "want a string, got "+scan.KindOf(m.Value()).String())
	case len(s) > limit:
		return fieldError(f.String(), "is "+strconv.Itoa(len(s))+" bytes long, the limit is "+strconv.Itoa(limit))
	case len(s) != len(m.Value())-2 && !plain(s): // what holds no escape is plain
		return fieldError(f.String(), "holds a control character or half a character")
	}
	*dst = s
	return nil
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 {
			return false
		}
	}
	return utf8.ValidString(s)
}

// excerpt shortens a value for an error message.
func excerpt(value []byte) string {
	if k := scan.KindOf(value); k != scan.Number {
		return k.String()
	}
	if len(value) > 40 {
		return string(value[:40]) + "…"
	}
	return string(value)
}
