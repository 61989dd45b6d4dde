package importer

import (
	"maps"
	"slices"
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Fields writes a JSON object member by member. The zero value is an empty
// object.
type Fields struct{ b []byte }

// Raw adds a member whose value is JSON already; nil adds nothing.
func (f *Fields) Raw(name string, value []byte) *Fields {
	if value == nil {
		return f
	}
	f.name(name)
	f.b = append(f.b, value...)
	return f
}

// Str adds a string.
func (f *Fields) Str(name, value string) *Fields {
	f.name(name)
	f.b = scan.AppendQuoteWTF8(f.b, value)
	return f
}

// Opt adds a string that is not empty.
func (f *Fields) Opt(name, value string) *Fields {
	if value == "" {
		return f
	}
	return f.Str(name, value)
}

// Int adds a number.
func (f *Fields) Int(name string, value int) *Fields {
	f.name(name)
	f.b = strconv.AppendInt(f.b, int64(value), 10)
	return f
}

// Uint adds a number.
func (f *Fields) Uint(name string, value uint64) *Fields {
	f.name(name)
	f.b = strconv.AppendUint(f.b, value, 10)
	return f
}

// Bool adds a boolean.
func (f *Fields) Bool(name string, value bool) *Fields {
	f.name(name)
	f.b = strconv.AppendBool(f.b, value)
	return f
}

func (f *Fields) name(name string) {
	sep := byte(',')
	if len(f.b) == 0 {
		sep = '{'
	}
	f.b = append(f.b, sep)
	f.b = scan.AppendQuote(f.b, name)
	f.b = append(f.b, ':')
}

// Object ends the object.
func (f *Fields) Object() []byte {
	if len(f.b) == 0 {
		return []byte("{}")
	}
	return append(f.b, '}')
}

// Labels are those of an agent that an import brought in: where it comes from,
// and what else is known of it. Empty values are left out.
func Labels(format string, known map[string]string) []byte {
	all := map[string]string{"runtime": format}
	maps.Copy(all, known)
	all["source"] = "import:" + format
	var p Fields
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.Opt(name, all[name])
	}
	return p.Object()
}
