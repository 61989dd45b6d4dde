package reducer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/internal/shell"
)

// DecodeError says which value of operations, a snapshot or a page is not of
// the shape the contract gives it.
type DecodeError struct {
	Path    string // as in ops[3].frame.state
	Problem string // as in "want a string, have a number"
}

func (e *DecodeError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// decoder reads values and keeps the first error. What it returns shares no
// memory with the input. Members it does not know are skipped; null is the
// same as absence but for the patches of meta.merge.
type decoder struct {
	path []string
	err  *DecodeError
	read bool // the object or array given to a member function has been read
}

func (d *decoder) fail(problem string) {
	if d.err == nil {
		d.err = &DecodeError{Path: strings.TrimPrefix(strings.Join(d.path, ""), "."), Problem: problem}
	}
}

// result is the error as an error that is nil when there is none.
func (d *decoder) result() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

func (d *decoder) want(kind string, raw []byte) {
	d.fail("want " + kind + ", have " + scan.KindOf(raw).String())
}

// object calls member for every member that is not null. required lists the
// names that must be there.
func (d *decoder) object(raw []byte, required string, member func(name string, v []byte)) {
	d.objectNulls(raw, required, func(name string, v []byte) {
		if !scan.IsNull(v) {
			member(name, v)
		}
	})
}

func (d *decoder) objectNulls(raw []byte, required string, member func(name string, v []byte)) {
	if scan.KindOf(raw) != scan.Object {
		d.want("an object", raw)
		return
	}
	missing := strings.Fields(required)
	m := shell.ObjectOf(raw)
	for d.err == nil && m.Next() {
		name, v := m.Key(), m.Value()
		d.path = append(d.path, "."+name)
		d.read = false
		member(name, v)
		d.checkUnread(v)
		d.path = d.path[:len(d.path)-1]
		if i := slices.Index(missing, name); i >= 0 && !scan.IsNull(v) {
			missing = slices.Delete(missing, i, i+1)
		}
	}
	d.read = true
	switch {
	case d.err != nil:
	case m.Err() != nil:
		d.fail(m.Err().Error())
	case len(missing) > 0:
		d.fail("member " + missing[0] + " is missing")
	}
}

// checkUnread checks the syntax of an object or array that nobody walked.
func (d *decoder) checkUnread(v []byte) {
	if kind := scan.KindOf(v); d.err != nil || d.read || kind != scan.Object && kind != scan.Array {
		return
	}
	if err := scan.Check(v); err != nil {
		d.fail(err.Error())
	}
}

// peek reads one member, a string of a closed set that tells what the object
// is. It stands first in what this package writes; of several the first counts.
func (d *decoder) peek(raw []byte, name string, set ...string) string {
	if scan.KindOf(raw) != scan.Object {
		d.want("an object", raw)
		return ""
	}
	m := shell.ObjectOf(raw)
	for m.Next() && (m.Key() != name || scan.IsNull(m.Value())) {
	}
	if m.Err() != nil {
		d.fail(m.Err().Error())
		return ""
	}
	value := m.Value()
	if m.Key() != name || scan.IsNull(value) {
		d.fail("member " + name + " is missing")
		return ""
	}
	d.path = append(d.path, "."+name)
	s := oneOf(d, value, set...)
	d.path = d.path[:len(d.path)-1]
	return s
}

// array calls element for every element.
func (d *decoder) array(raw []byte, element func(v []byte)) {
	if scan.KindOf(raw) != scan.Array {
		d.want("an array", raw)
		return
	}
	a := shell.ArrayOf(raw)
	for i := 0; d.err == nil && a.Next(); i++ {
		d.path = append(d.path, "["+strconv.Itoa(i)+"]")
		element(a.Value())
		d.path = d.path[:len(d.path)-1]
	}
	d.read = true
	if d.err == nil && a.Err() != nil {
		d.fail(a.Err().Error())
	}
}

func (d *decoder) text(raw []byte) string {
	s, ok := scan.Unquote(raw)
	if !ok {
		d.want("a string", raw)
	}
	return strings.Clone(s)
}

func (d *decoder) optText(raw []byte) Opt[string] { return Some(d.text(raw)) }

// id reads a string that must not be empty.
func (d *decoder) id(raw []byte) string {
	s := d.text(raw)
	if s == "" && d.err == nil {
		d.fail("must not be empty")
	}
	return s
}

func (d *decoder) ids(raw []byte) []string {
	ids := []string{}
	d.array(raw, func(v []byte) { ids = append(ids, d.text(v)) })
	return ids
}

// oneOf reads a string of a closed set.
func oneOf[T ~string](d *decoder, raw []byte, set ...T) T {
	s := T(d.text(raw))
	if d.err == nil && !slices.Contains(set, s) {
		d.fail("value " + strconv.Quote(string(s)) + " is outside its set")
	}
	return s
}

func (d *decoder) number(raw []byte) float64 {
	f, ok := scan.Float64(raw)
	if !ok {
		if scan.KindOf(raw) == scan.Number {
			d.fail("number out of range")
		} else {
			d.want("a number", raw)
		}
	}
	return f
}

func (d *decoder) optNumber(raw []byte) Opt[float64] { return Some(d.number(raw)) }

// whole reads an integer from 0 to 2^53-1.
func (d *decoder) whole(raw []byte) int {
	f := d.number(raw)
	if d.err == nil && (f < 0 || f > maxOrdinal || f != float64(int64(f))) {
		d.fail("want an integer from 0 to 9007199254740991")
		return 0
	}
	return int(f)
}

func (d *decoder) boolean(raw []byte) bool {
	b, ok := scan.BoolOf(raw)
	if !ok {
		d.want("a boolean", raw)
	}
	return b
}

// opaque keeps a value byte for byte.
func (d *decoder) opaque(raw []byte) Raw {
	if err := scan.Check(raw); err != nil {
		d.fail(err.Error())
	}
	d.read = true
	return Raw(raw)
}
