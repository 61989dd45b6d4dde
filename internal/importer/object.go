package importer

import "github.com/stenohq/steno/pkg/events/scan"

// Object is a JSON object as its members; of a repeated name the last counts.
// A member of another type than asked for reads as absent, so that one odd
// field does not lose a record. The values alias the JSON they were read from.
type Object map[string][]byte

// ObjectOf reads a JSON object; anything else is an empty one.
func ObjectOf(raw []byte) Object {
	o := Object{}
	if scan.KindOf(raw) != scan.Object {
		return o
	}
	m := scan.ObjectOf(raw)
	for m.Next() {
		o[m.Key()] = m.Value()
	}
	return o
}

// Str is a member that is a string, else "".
func (o Object) Str(name string) string {
	s, _ := scan.Unquote(o[name])
	return s
}

// Flag is a member that is a boolean, else false.
func (o Object) Flag(name string) bool {
	v, _ := scan.BoolOf(o[name])
	return v
}

// Object is a member that is an object, else an empty one.
func (o Object) Object(name string) Object { return ObjectOf(o[name]) }

// Number returns the member's bytes when it is a number, else nil.
func (o Object) Number(name string) []byte {
	if raw := o[name]; scan.KindOf(raw) == scan.Number {
		return raw
	}
	return nil
}

// Either returns the first of the named strings that is not empty.
func (o Object) Either(names ...string) string {
	for _, name := range names {
		if s := o.Str(name); s != "" {
			return s
		}
	}
	return ""
}

// First returns the first string that is not empty.
func First(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// Clip keeps the beginning of a text that is only shown as a summary.
func Clip(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8Start(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// IsText says whether raw is a JSON string that is not empty.
func IsText(raw []byte) bool { return scan.KindOf(raw) == scan.String && len(raw) > len(`""`) }
