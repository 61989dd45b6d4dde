package reducer

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// maxNumber bounds turn and step numbers: far above any real one, and so far
// below 2^53 that counting on from there stays exact for every reader.
const maxNumber = 1 << 50

// foldPayload reads the fields of one object. A field of the wrong type counts
// as absent and is reported by a notice that names it; null is absence. What
// it returns is copied out of the event.
type foldPayload struct {
	f       *Fold
	prefix  string // path of the object inside the payload, with its dot
	members []foldMember
}

type foldMember struct {
	name  string // aliases the event
	value []byte
}

// payload reads the members of the event's payload.
func (f *Fold) payload(ev *events.Event) foldPayload {
	p := foldPayload{f: f, members: f.scratch[:0]}
	p.read(ev.Payload)
	f.scratch = p.members
	return p
}

func (p *foldPayload) read(raw []byte) {
	m := scan.ObjectOf(raw)
	for m.Next() {
		p.members = append(p.members, foldMember{m.Key(), m.Value()})
	}
}

// value returns the last member of that name; nil when absent or null.
func (p *foldPayload) value(name string) []byte {
	for _, m := range slices.Backward(p.members) {
		if m.name == name {
			if scan.IsNull(m.value) {
				return nil
			}
			return m.value
		}
	}
	return nil
}

func (p *foldPayload) has(name string) bool { return p.value(name) != nil }

// isNull tells an explicit null from absence.
func (p *foldPayload) isNull(name string) bool {
	for _, m := range slices.Backward(p.members) {
		if m.name == name {
			return scan.IsNull(m.value)
		}
	}
	return false
}

// bad reports a field; problem completes the sentence that its name begins.
func (p *foldPayload) bad(name, problem string) { p.f.badField(p.prefix+name, problem) }

func (p *foldPayload) wrong(name, want string, raw []byte) {
	p.bad(name, "should be "+want+", not "+scan.KindOf(raw).String())
}

// text returns a string field.
func (p *foldPayload) text(name string) Opt[string] {
	raw := p.value(name)
	if raw == nil {
		return Opt[string]{}
	}
	s, ok := foldString(raw)
	if !ok {
		p.wrong(name, "a string", raw)
		return Opt[string]{}
	}
	return Some(s)
}

// word returns a string field whose empty value means absence.
func (p *foldPayload) word(name string) string { return p.text(name).V }

// key returns a required, not empty string field; "" has been reported.
func (p *foldPayload) key(name string) string {
	raw := p.value(name)
	if raw == nil {
		p.bad(name, "is missing")
		return ""
	}
	s := p.text(name)
	if s.Set && s.V == "" {
		p.bad(name, "is empty")
	}
	return s.V
}

// required returns a string field that must be there but may be empty.
func (p *foldPayload) required(name string) Opt[string] {
	if !p.has(name) {
		p.bad(name, "is missing")
	}
	return p.text(name)
}

// oneOf returns a string field with a closed set of values.
func (p *foldPayload) oneOf(name string, set ...string) string {
	s := p.text(name)
	if !s.Set {
		return ""
	}
	for _, one := range set {
		if s.V == one {
			return one
		}
	}
	p.bad(name, "should be one of "+strings.Join(set, ", "))
	return ""
}

// number returns a number field.
func (p *foldPayload) number(name string) Opt[float64] {
	raw := p.value(name)
	if raw == nil {
		return Opt[float64]{}
	}
	v, ok := scan.Float64(raw)
	if !ok {
		if scan.KindOf(raw) == scan.Number {
			p.bad(name, "is beyond the range of numbers")
		} else {
			p.wrong(name, "a number", raw)
		}
		return Opt[float64]{}
	}
	return Some(v + 0) // no negative zero
}

// ordinal returns an integer field from low to maxNumber. ok is false when
// there is one that is not such a number: what it should name is then unknown.
func (p *foldPayload) ordinal(name string, low int) (n Opt[int], ok bool) {
	raw := p.value(name)
	if raw == nil {
		return n, true
	}
	v, isInt := scan.Int64(raw)
	if !isInt || v < int64(low) || v > maxNumber {
		if scan.KindOf(raw) == scan.Number {
			p.bad(name, "should be an integer from "+strconv.Itoa(low)+" to 2^50")
		} else {
			p.wrong(name, "an integer", raw)
		}
		return n, false
	}
	return Some(int(v)), true
}

// flag returns a boolean field.
func (p *foldPayload) flag(name string) Opt[bool] {
	raw := p.value(name)
	if raw == nil {
		return Opt[bool]{}
	}
	v, ok := scan.BoolOf(raw)
	if !ok {
		p.wrong(name, "a boolean", raw)
		return Opt[bool]{}
	}
	return Some(v)
}

// raw returns an opaque field byte for byte.
func (p *foldPayload) raw(name string) Raw { return Raw(p.value(name)) }

// object returns an object field; ok is false when it is absent or not one.
func (p *foldPayload) object(name string) (sub foldPayload, ok bool) {
	raw := p.value(name)
	if raw == nil {
		return sub, false
	}
	if scan.KindOf(raw) != scan.Object {
		p.wrong(name, "an object", raw)
		return sub, false
	}
	sub = foldPayload{f: p.f, prefix: p.prefix + name + "."}
	sub.read(raw)
	return sub, true
}

// list returns the elements of an array field.
func (p *foldPayload) list(name string) (elements [][]byte, ok bool) {
	raw := p.value(name)
	if raw == nil {
		return nil, false
	}
	if scan.KindOf(raw) != scan.Array {
		p.wrong(name, "an array", raw)
		return nil, false
	}
	a := scan.ArrayOf(raw)
	for a.Next() {
		elements = append(elements, a.Value())
	}
	return elements, true
}

// objects returns the objects of an array field; other elements are reported.
func (p *foldPayload) objects(name string) []foldPayload {
	elements, _ := p.list(name)
	subs := make([]foldPayload, 0, len(elements))
	for _, raw := range elements {
		if scan.KindOf(raw) != scan.Object {
			p.wrong(name+"[]", "an object", raw)
			continue
		}
		sub := foldPayload{f: p.f, prefix: p.prefix + name + "[]."}
		sub.read(raw)
		subs = append(subs, sub)
	}
	return subs
}

// foldString unquotes and copies; surrogate halves become U+FFFD.
func foldString(raw []byte) (string, bool) {
	s, ok := scan.Unquote(raw)
	if !ok {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return strings.Clone(s), true
	}
	return wellFormed(s), true
}

// wellFormed replaces surrogate halves by U+FFFD, one for each.
func wellFormed(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		if isHigh(r) || isLow(r) {
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return string(dst)
}
