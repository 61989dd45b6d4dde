package protocol

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/internal/shell"
	"github.com/stenohq/steno/pkg/reducer"
)

// Limits on what one frame or answer may name.
const (
	maxAgents = 10_000
	maxText   = 4 << 10 // ids, reasons, cursors
)

// ErrMalformed is wrapped by every decoding error of this package.
var ErrMalformed = errors.New("malformed")

// reader reads the members of one object and keeps the first error. An absent
// member and null read as zero. Strings share no memory with the input.
type reader struct {
	what   string
	fields map[string][]byte
	err    error
}

// newReader reads an object that holds no operations or entities.
func newReader(what string, data []byte) *reader {
	r := newDeepReader(what, data)
	if err := scan.Check(data); err != nil {
		r.fail("", err.Error())
	}
	return r
}

// newDeepReader reads an object that holds operations or entities, and with
// them opaque values: these have a depth of their own.
func newDeepReader(what string, data []byte) *reader {
	r := &reader{what: what, fields: map[string][]byte{}}
	m := shell.ObjectOf(data)
	for m.Next() {
		if !scan.IsNull(m.Value()) {
			r.fields[m.Key()] = m.Value()
		}
	}
	if err := m.Err(); err != nil {
		r.fail("", err.Error())
	}
	return r
}

func (r *reader) fail(key, problem string) {
	if r.err != nil {
		return
	}
	if key != "" {
		key = " " + key
	}
	r.err = fmt.Errorf("%w %s%s: %s", ErrMalformed, r.what, key, problem)
}

func (r *reader) has(key string) bool { return r.fields[key] != nil }

// need reports members that are missing.
func (r *reader) need(keys ...string) {
	for _, k := range keys {
		if !r.has(k) {
			r.fail(k, "is missing")
		}
	}
}

func (r *reader) wrong(key, kind string) {
	r.fail(key, "want "+kind+", have "+scan.KindOf(r.fields[key]).String())
}

func (r *reader) text(key string) string {
	if !r.has(key) {
		return ""
	}
	s, ok := scan.Unquote(r.fields[key])
	switch {
	case !ok:
		r.wrong(key, "a string")
	case len(s) > maxText:
		r.fail(key, fmt.Sprintf("longer than %d bytes", maxText))
	}
	return strings.Clone(s)
}

func (r *reader) uint(key string) uint64 {
	if !r.has(key) {
		return 0
	}
	n, ok := scan.Uint64(r.fields[key])
	if !ok {
		r.wrong(key, "a whole number that is not negative")
	}
	return n
}

// prevSeq reads prev_seq, which only newer servers send.
func (r *reader) prevSeq(seq uint64) uint64 {
	if !r.has("prev_seq") {
		return max(seq, 1) - 1
	}
	return r.uint("prev_seq")
}

func (r *reader) bool(key string) bool {
	if !r.has(key) {
		return false
	}
	b, ok := scan.BoolOf(r.fields[key])
	if !ok {
		r.wrong(key, "true or false")
	}
	return b
}

func (r *reader) texts(key string) []string {
	var out []string
	r.each(key, func(v []byte) error {
		s, ok := scan.Unquote(v)
		if !ok {
			return fmt.Errorf("want strings, have %s", scan.KindOf(v))
		}
		out = append(out, strings.Clone(s))
		if len(out) > maxAgents {
			return fmt.Errorf("more than %d entries", maxAgents)
		}
		return nil
	})
	return out
}

// each reads an array.
func (r *reader) each(key string, element func(v []byte) error) {
	if !r.has(key) || r.err != nil {
		return
	}
	a := shell.ArrayOf(r.fields[key])
	for a.Next() {
		if err := element(a.Value()); err != nil {
			r.fail(key, err.Error())
			return
		}
	}
	if err := a.Err(); err != nil {
		r.fail(key, err.Error())
	}
}

// members reads an object.
func (r *reader) members(key string, member func(name string, v []byte) error) {
	if !r.has(key) || r.err != nil {
		return
	}
	m := shell.ObjectOf(r.fields[key])
	n := 0
	for m.Next() {
		if n++; n > maxAgents {
			r.fail(key, fmt.Sprintf("more than %d entries", maxAgents))
			return
		}
		if err := member(m.Key(), m.Value()); err != nil {
			r.fail(key, err.Error())
			return
		}
	}
	if err := m.Err(); err != nil {
		r.fail(key, err.Error())
	}
}

// seqs reads an object of sequence numbers by agent.
func (r *reader) seqs(key string) map[string]uint64 {
	if !r.has(key) {
		return nil
	}
	out := map[string]uint64{}
	r.members(key, func(name string, v []byte) error {
		n, ok := scan.Uint64(v)
		if !ok {
			return fmt.Errorf("%s: want a whole number that is not negative", name)
		}
		out[name] = n
		return nil
	})
	return out
}

func (r *reader) ops(key string) []reducer.Op {
	if !r.has(key) || r.err != nil {
		return nil
	}
	ops, err := reducer.DecodeOps(r.fields[key])
	if err != nil {
		r.fail("", err.Error())
	}
	return ops
}

func (r *reader) raw(key string) []byte { return r.fields[key] }
