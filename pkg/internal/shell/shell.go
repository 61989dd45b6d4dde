// Package shell takes apart JSON that holds opaque values as deep as
// pkg/events/scan allows and therefore goes a little deeper itself: operations,
// snapshots, frames. It splits one level at a time and leaves the depth of what
// is inside to whoever reads that.
package shell

import (
	"bytes"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Members walks the members of an object in their order, duplicates included,
// as scan.Members does. A value that is a scalar has been checked; one that is
// an object or array has not: walk it, or give it to scan.Check.
type Members struct {
	walk
	key []byte
}

// Elements walks the elements of an array in the same way.
type Elements struct{ walk }

// ObjectOf begins a walk over the object in raw, perhaps between white space.
func ObjectOf(raw []byte) Members { return Members{walk: begin(raw, '{', '}', "want an object")} }

// ArrayOf begins a walk over the array in raw, perhaps between white space.
func ArrayOf(raw []byte) Elements { return Elements{walk: begin(raw, '[', ']', "want an array")} }

type walk struct {
	data    []byte
	pos     int
	closing byte
	begun   bool
	done    bool
	value   []byte
	err     error
}

func begin(raw []byte, opening, closing byte, problem string) walk {
	w := walk{data: raw, closing: closing}
	w.space()
	if !w.at(opening) {
		w.fail(problem)
		return w
	}
	w.pos++
	return w
}

// Value returns the bytes of the present value, without white space around it.
func (w *walk) Value() []byte { return w.value }

// Err returns what stopped the walk, nil when it reached the end.
func (w *walk) Err() error { return w.err }

// Next moves to the next element; false at the end and after an error.
func (w *Elements) Next() bool { return w.advance() && w.take() }

// Next moves to the next member; false at the end and after an error.
func (m *Members) Next() bool {
	if !m.advance() {
		return false
	}
	if !m.at('"') {
		m.fail("want a member name in quotes")
		return false
	}
	start := m.pos
	if !m.str() {
		return false
	}
	m.key = m.data[start:m.pos]
	if m.err = scan.Check(m.key); m.err != nil {
		return false
	}
	m.space()
	if !m.at(':') {
		m.fail("want a colon")
		return false
	}
	m.pos++
	m.space()
	return m.take()
}

// Key returns the name of the present member, unquoted.
func (m *Members) Key() string {
	s, _ := scan.Unquote(m.key)
	return s
}

func (w *walk) fail(problem string) {
	if w.err == nil {
		w.err = &scan.SyntaxError{Offset: w.pos, Problem: problem}
	}
}

func (w *walk) at(c byte) bool { return w.pos < len(w.data) && w.data[w.pos] == c }

func (w *walk) space() {
	for w.pos < len(w.data) && bytes.IndexByte([]byte(" \t\r\n"), w.data[w.pos]) >= 0 {
		w.pos++
	}
}

// advance moves to where the next member or element begins.
func (w *walk) advance() bool {
	if w.err != nil || w.done {
		return false
	}
	w.space()
	switch {
	case w.at(w.closing):
		w.pos++
		w.space()
		if w.pos != len(w.data) {
			w.fail("text behind the value")
		}
		w.done = true
		return false
	case !w.begun:
		w.begun = true
		return true
	case w.at(','):
		w.pos++
		w.space()
		return true
	}
	w.fail("want a comma or a closing bracket")
	return false
}

// take reads the value at pos.
func (w *walk) take() bool {
	start := w.pos
	switch {
	case w.at('{'), w.at('['):
		if !w.container() {
			return false
		}
	default:
		if w.at('"') {
			if !w.str() {
				return false
			}
		} else {
			for w.pos < len(w.data) && bytes.IndexByte([]byte(",]} \t\r\n"), w.data[w.pos]) < 0 {
				w.pos++
			}
		}
		if err := scan.Check(w.data[start:w.pos]); err != nil {
			w.err = err
			return false
		}
	}
	w.value = w.data[start:w.pos:w.pos]
	return true
}

// container goes behind the object or array at pos, which it only counts.
func (w *walk) container() bool {
	depth := 0
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case '"':
			if !w.str() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		w.pos++
		if depth == 0 {
			return true
		}
	}
	w.fail("the text ends inside an object or array")
	return false
}

// str goes behind the string at pos.
func (w *walk) str() bool {
	for i := w.pos + 1; i < len(w.data); {
		n := bytes.IndexByte(w.data[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for w.data[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			w.pos = i
			return true
		}
	}
	w.pos = len(w.data)
	w.fail("the text ends inside a string")
	return false
}
