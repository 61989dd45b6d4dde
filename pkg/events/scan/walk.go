package scan

// Kind is the type of a JSON value.
type Kind byte

// The kinds. Invalid is what begins like no value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Object
	Array
)

var kindNames = [...]string{"no value", "null", "a boolean", "a number", "a string", "an object", "an array"}

// String names the kind with its article, for error messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Invalid]
}

// KindOf tells the kind of a value by its first byte; it does not check it.
func KindOf(raw []byte) Kind {
	if len(raw) == 0 {
		return Invalid
	}
	switch c := raw[0]; {
	case c == '"':
		return String
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	case c == '-' || c >= '0' && c <= '9':
		return Number
	}
	return Invalid
}

// Members walks the members of an object in their order, duplicates
// included:
//
//	m := scan.ObjectOf(raw)
//	for m.Next() {
//		switch m.Key() { case "name": name = m.Value() … }
//	}
//	err := m.Err()
//
// It checks the syntax as it goes, of what stands behind the object too. The
// zero value is an empty object.
type Members struct {
	walk
	name   []byte
	nameAt int
}

// ObjectOf begins a walk over the object in raw, perhaps between white space.
func ObjectOf(raw []byte) Members { return Members{walk: begin(raw, '{', "want an object")} }

// Next moves to the next member; false at the end and after an error.
func (m *Members) Next() bool {
	if !m.advance('}') {
		return false
	}
	start := m.pos
	if start >= len(m.data) || m.data[start] != '"' {
		m.err = fail(start, "want a member name in quotes")
		return false
	}
	end, err := skipString(m.data, start)
	if err == nil {
		m.name, m.nameAt = m.data[start:end:end], start
		end, err = skipColon(m.data, end)
	}
	if err != nil {
		m.err = err
		return false
	}
	m.pos = end
	return m.take()
}

// Key returns the name of the current member, unquoted.
func (m *Members) Key() string {
	s, _ := Unquote(m.name)
	return s
}

// RawKey returns the name of the current member as it is written, quotes
// included.
func (m *Members) RawKey() []byte { return m.name }

// NameOffset returns where the current member begins in the slice walked.
func (m *Members) NameOffset() int { return m.nameAt }

// Elements walks the elements of an array as Members walks an object.
type Elements struct{ walk }

// ArrayOf begins a walk over the array in raw, perhaps between white space.
func ArrayOf(raw []byte) Elements { return Elements{walk: begin(raw, '[', "want an array")} }

// Next moves to the next element; false at the end and after an error.
func (e *Elements) Next() bool { return e.advance(']') && e.take() }

// walk is the state shared by Members and Elements.
type walk struct {
	data  []byte
	pos   int // behind the last value, 0 before the bracket
	first bool
	value []byte

	escaped bool // the value is a string with escapes
	err     error
}

func begin(raw []byte, bracket byte, problem string) walk {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != bracket {
		return walk{err: fail(i, problem)}
	}
	return walk{data: raw, pos: i + 1, first: true}
}

// Value returns the bytes of the current value, without white space around
// it.
func (w *walk) Value() []byte { return w.value }

// Text returns the current value unquoted; ok is false when it is no string. It
// is faster than Unquote of Value.
func (w *walk) Text() (s string, ok bool) {
	switch {
	case len(w.value) == 0 || w.value[0] != '"':
		return "", false
	case w.escaped:
		return Unquote(w.value)
	}
	return alias(w.value[1 : len(w.value)-1]), true
}

// Err returns what stopped the walk, nil when it reached the end.
func (w *walk) Err() error { return w.err }

// Offset returns where the current value begins in the slice walked.
func (w *walk) Offset() int { return w.pos - len(w.value) }

// advance moves to where the next name or value begins.
func (w *walk) advance(closing byte) bool {
	if w.err != nil || w.data == nil {
		return false
	}
	i := skipSpace(w.data, w.pos)
	switch {
	case i >= len(w.data):
		w.err = fail(i, "the text ends inside an object or array")
		return false
	case w.data[i] == closing:
		if i = skipSpace(w.data, i+1); i != len(w.data) {
			w.err = fail(i, "text behind the value")
		}
		w.data = nil
		return false
	case w.first:
		w.first = false
	case w.data[i] == ',':
		i = skipSpace(w.data, i+1)
	default:
		w.err = fail(i, "want a comma or a closing bracket")
		return false
	}
	w.pos = i
	return true
}

// take reads the value at pos.
func (w *walk) take() bool {
	var end int
	var err error
	if w.pos < len(w.data) && w.data[w.pos] == '"' {
		end, w.escaped, err = scanString(w.data, w.pos)
	} else {
		end, err = skipValue(w.data, w.pos, MaxDepth-1)
	}
	if err != nil {
		w.err = err
		return false
	}
	w.value = w.data[w.pos:end:end]
	w.pos = end
	return true
}

// Get returns the value of the last member of that name in an object.
func Get(raw []byte, name string) (value []byte, ok bool) {
	m := ObjectOf(raw)
	for m.Next() {
		if m.Key() == name {
			value, ok = m.Value(), true
		}
	}
	if m.Err() != nil {
		return nil, false
	}
	return value, ok
}
