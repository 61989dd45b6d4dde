package fold

import (
	"encoding/binary"
	"fmt"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// State is an encoded Agent. Memory and Resume are empty for an Agent that
// folds the tree alone, and an Agent decoded without them does so.
type State struct {
	Head, Memory, Resume []byte
}

// stateFormat is the version of the layout of State.Head: this number, the
// fold version, the parts of coder.head, the admission state and the tree.
const stateFormat = 1

// Encode returns the state in a deterministic form: equal folds have equal
// bytes. The bytes belong to the caller.
func (a *Agent) Encode() State {
	dst := make([]byte, 0, 4096+a.tree.Kept())
	dst = binary.AppendUvarint(dst, stateFormat)
	dst = binary.AppendUvarint(dst, Version)
	dst = appendText(dst, string(a.session))
	dst = appendText(dst, string(a.agent))
	for _, u := range [...]uint64{a.seq, a.streamSeq, a.events, a.lost.from, a.lost.to} {
		dst = binary.AppendUvarint(dst, u)
	}
	dst = binary.AppendVarint(dst, a.first)
	dst = binary.AppendVarint(dst, a.last.millis())
	dst = appendText(dst, a.lost.markerID)
	dst = binary.AppendUvarint(dst, uint64(len(a.unknown)))
	for _, h := range a.unknown {
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	dst = appendText(dst, string(a.admit.Append(nil)))
	s := State{Head: a.tree.AppendState(dst)}
	if a.derived != nil {
		a.derived.encode(&s)
	}
	return s
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Decode returns the Agent that Encode was called on. The error wraps
// ErrVersion or ErrCorrupt; in both cases the log is folded from its start.
// Decode does not keep the state's bytes.
func Decode(session events.SessionID, agent events.AgentID, s State, opts ...Option) (*Agent, error) {
	r := stateReader{rest: s.Head}
	format, version := r.uvarint(), r.uvarint()
	switch {
	case r.bad:
		return nil, fmt.Errorf("state of agent %s of session %s: %w", agent, session, ErrCorrupt)
	case format != stateFormat:
		return nil, fmt.Errorf("state of agent %s of session %s has format %d, this program reads %d: %w",
			agent, session, format, stateFormat, ErrVersion)
	case version != Version:
		return nil, fmt.Errorf("state of agent %s of session %s is of fold %d, this program's is %d: %w",
			agent, session, version, Version, ErrVersion)
	}
	a := &Agent{session: session, agent: agent}
	for _, opt := range opts {
		opt(a)
	}
	if !a.decode(&r) {
		return nil, fmt.Errorf("state of agent %s of session %s: %w", agent, session, ErrCorrupt)
	}
	if err := a.decodeDerived(s); err != nil {
		return nil, fmt.Errorf("resume state and memory of agent %s of session %s: %w", agent, session, err)
	}
	return a, nil
}

// decode reads what stands behind the versions.
func (a *Agent) decode(r *stateReader) bool {
	if r.text() != string(a.session) || r.text() != string(a.agent) {
		return false
	}
	for _, u := range [...]*uint64{&a.seq, &a.streamSeq, &a.events, &a.lost.from, &a.lost.to} {
		*u = r.uvarint()
	}
	a.first, a.last.storedAt = r.varint(), r.varint()
	a.lost.markerID = r.text()
	n := r.uvarint()
	if n > maxUnknown {
		return false
	}
	for range n {
		a.unknown = append(a.unknown, r.word())
	}
	state := r.text()
	if r.bad {
		return false
	}
	var err error
	if a.admit, err = admit.Decode([]byte(state)); err != nil {
		return false
	}
	if a.tree, err = reducer.DecodeFold(string(a.agent), a.sink, r.rest); err != nil {
		return false
	}
	if a.reuseOps {
		a.tree.ReuseOps()
	}
	return true
}

// stateReader reads the parts of a head; after a wrong one everything is zero.
type stateReader struct {
	rest []byte
	bad  bool
}

func (r *stateReader) fail() { r.rest, r.bad = nil, true }

func (r *stateReader) uvarint() uint64 {
	u, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return u
}

func (r *stateReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *stateReader) word() uint64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	u := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return u
}

func (r *stateReader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
