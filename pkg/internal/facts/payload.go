package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// object is a JSON object read into a list; of a name that stands twice the
// last one counts. What is of a wrong kind counts as absent: the tree reports
// it.
type object []member

type member struct {
	name  string
	value []byte
}

func read(raw []byte) object {
	if scan.KindOf(raw) != scan.Object {
		return nil
	}
	var o object
	m := scan.ObjectOf(raw)
	for m.Next() {
		o = append(o, member{m.Key(), m.Value()})
	}
	return o
}

// raw returns a member, nil when it is absent or null.
func (o object) raw(name string) []byte {
	for _, v := range slices.Backward(o) {
		if v.name == name {
			if scan.IsNull(v.value) {
				return nil
			}
			return v.value
		}
	}
	return nil
}

func (o object) text(name string) string {
	s, _ := scan.Unquote(o.raw(name))
	return wellFormed(s)
}

func (o object) has(name string) bool { return o.raw(name) != nil }

func (o object) isString(name string) bool { return scan.KindOf(o.raw(name)) == scan.String }

func (o object) flag(name string) bool {
	v, _ := scan.BoolOf(o.raw(name))
	return v
}

// number returns a whole number from 0 on; -1 when there is none.
func (o object) number(name string) int {
	n, ok := scan.Uint64(o.raw(name))
	if !ok || n > events.MaxStep {
		return -1
	}
	return int(n)
}

func (o object) object(name string) object { return read(o.raw(name)) }

func (o object) opaque(name string) reducer.Raw { return reducer.Raw(o.raw(name)) }

// elements returns the objects of an array.
func (o object) elements(name string) []object {
	raw := o.raw(name)
	if scan.KindOf(raw) != scan.Array {
		return nil
	}
	var list []object
	a := scan.ArrayOf(raw)
	for a.Next() {
		if scan.KindOf(a.Value()) == scan.Object {
			list = append(list, read(a.Value()))
		}
	}
	return list
}

// wellFormed replaces what is not UTF-8, such as surrogate halves, by U+FFFD.
func wellFormed(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// quote returns s as a JSON string.
func quote(s string) reducer.Raw { return reducer.Raw(scan.AppendQuote(nil, s)) }

// parsed returns the JSON that a string holds, where it holds one, else the
// value itself.
func parsed(raw []byte) reducer.Raw {
	if s, ok := scan.Unquote(raw); ok {
		if inner := scan.Trim([]byte(s)); scan.Valid(inner) {
			return reducer.Raw(inner)
		}
	}
	return reducer.Raw(raw)
}

// Streamed returns the arguments of a message's call as a value: the JSON that
// its text holds, else the text; empty when nothing was streamed.
func Streamed(args reducer.Raw) reducer.Raw {
	if args == `""` {
		return ""
	}
	return parsed([]byte(args))
}

// compact returns JSON without white space between its tokens; numbers and
// strings stay as they are.
func compact(raw reducer.Raw) string {
	var sb strings.Builder
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\':
			sb.WriteByte(c)
			i++
			c = raw[i]
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		sb.WriteByte(c)
	}
	return sb.String()
}

// Text returns the text of message content: a string, or the text parts of an
// array joined.
func Text(content reducer.Raw) string {
	raw := []byte(content)
	if s, ok := scan.Unquote(raw); ok {
		return wellFormed(s)
	}
	if scan.KindOf(raw) != scan.Array {
		return ""
	}
	var sb strings.Builder
	a := scan.ArrayOf(raw)
	for a.Next() {
		if s, ok := scan.Unquote(a.Value()); ok {
			sb.WriteString(wellFormed(s))
			continue
		}
		sb.WriteString(read(a.Value()).text("text"))
	}
	return sb.String()
}

// failure finds why a call failed: in an error, else in the error of its
// result, else in a result that is a text.
func failure(err, result []byte) *Error {
	if len(err) == 0 {
		if e := read(result).raw("error"); e != nil {
			err = e
		}
	}
	if s, ok := scan.Unquote(err); ok {
		return &Error{Message: wellFormed(s)}
	}
	if e := read(err); e != nil {
		return &Error{Code: e.text("code"), Message: e.text("message")}
	}
	if s, ok := scan.Unquote(result); ok {
		return &Error{Message: wellFormed(s)}
	}
	return &Error{}
}

// eventID is the id an event is known by.
func eventID(in Input) string {
	if in.Event.ID == "" {
		return "q" + strconv.FormatUint(in.Seq, 10)
	}
	return in.Event.ID
}

// blobsAt returns the blobs of a payload member as those of message content.
func blobsAt(ev *events.Event, path string) []events.Blob {
	if ev.Blobs == nil {
		return nil
	}
	list, err := ev.BlobList()
	if err != nil {
		return nil // the tree reports it
	}
	var out []events.Blob
	for _, b := range list {
		if rest, ok := strings.CutPrefix(b.Path, path); ok && (rest == "" || rest[0] == '/') {
			b.Path = "/content" + rest
			out = append(out, b)
		}
	}
	return out
}
