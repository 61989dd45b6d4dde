package admit

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrState is wrapped by the errors of Decode.
var ErrState = errors.New("no admission state of this version")

// codecVersion begins every encoded state.
const codecVersion = 1

// Append appends the state in a compact, deterministic form: equal states have
// equal bytes.
func (s *State) Append(dst []byte) []byte {
	dst = append(dst, codecVersion)
	dst = appendBool(dst, s.anyStart)
	dst = appendRuns(dst, s.runs)
	dst = appendRuns(dst, s.waiting)
	current := 0
	for i, r := range s.runs {
		if r == s.current {
			current = i + 1
		}
	}
	dst = binary.AppendUvarint(dst, uint64(current))
	dst = binary.AppendUvarint(dst, uint64(len(s.casualIDs.values)))
	for i := range s.casualIDs.values {
		dst = binary.LittleEndian.AppendUint64(dst, s.casualIDs.oldest(i))
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.admitted.values)))
	for i := range s.admitted.values {
		st := s.admitted.oldest(i)
		dst = binary.AppendUvarint(dst, st.n)
		dst = binary.LittleEndian.AppendUint64(dst, st.hash)
	}
	return dst
}

// oldest returns value i counted from the oldest.
func (q *ring[T]) oldest(i int) T { return q.values[(q.at+i)%len(q.values)] }

func appendRuns(dst []byte, runs []*run) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(runs)))
	for _, r := range runs {
		dst = appendText(dst, r.id)
		dst = appendText(dst, r.source)
		dst = appendText(dst, string(r.lastID))
		dst = appendBool(dst, r.afterLoss)
		for _, u := range [...]uint64{r.next, r.ahead, r.aheadMin, r.aheadMax, r.conflicts, r.late, uint64(len(r.closed))} {
			dst = binary.AppendUvarint(dst, u)
		}
		for _, c := range r.closed {
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, c.a), c.b)
		}
	}
	return dst
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Decode is the inverse of Append. data must be the whole of what Append
// appended; it is not retained. The error wraps ErrState.
func Decode(data []byte) (*State, error) {
	if len(data) == 0 || data[0] != codecVersion {
		return nil, ErrState
	}
	d := decoder{rest: data[1:]}
	s := &State{anyStart: d.bool()}
	s.runs = d.runs(MaxRuns)
	s.waiting = d.runs(MaxWaiting)
	if i := d.count(len(s.runs)); i > 0 {
		s.current = s.runs[i-1]
	}
	for range d.count(MaxCasual) {
		s.casualIDs.put(d.word(), MaxCasual)
	}
	for range d.count(MaxAdmitted) {
		s.admitted.put(stamp{n: d.uvarint(), hash: d.word()}, MaxAdmitted)
	}
	// What would not encode to the same bytes was not written by Append.
	if d.bad || len(d.rest) > 0 || !bytes.Equal(s.Append(nil), data) {
		return nil, ErrState
	}
	return s, nil
}

// decoder reads the parts of a state; after a wrong one everything is zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) fail() {
	d.rest, d.bad = nil, true
}

func (d *decoder) uvarint() uint64 {
	u, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return u
}

func (d *decoder) word() uint64 {
	if len(d.rest) < 8 {
		d.fail()
		return 0
	}
	u := binary.LittleEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return u
}

func (d *decoder) bool() bool {
	if len(d.rest) == 0 || d.rest[0] > 1 {
		d.fail()
		return false
	}
	b := d.rest[0] == 1
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) count(limit int) int {
	u := d.uvarint()
	if u > uint64(limit) {
		d.fail()
		return 0
	}
	return int(u)
}

func (d *decoder) text() string {
	size := d.count(len(d.rest))
	if size > len(d.rest) {
		d.fail()
		return ""
	}
	s := string(d.rest[:size])
	d.rest = d.rest[size:]
	return s
}

func (d *decoder) runs(limit int) []*run {
	var runs []*run
	for range d.count(limit) {
		r := &run{id: d.text(), source: d.text(), lastID: []byte(d.text()), afterLoss: d.bool()}
		r.next, r.ahead = d.uvarint(), d.uvarint()
		r.aheadMin, r.aheadMax = d.uvarint(), d.uvarint()
		r.conflicts, r.late = d.uvarint(), d.uvarint()
		for range d.count(MaxRanges) {
			r.closed = append(r.closed, span{d.uvarint(), d.uvarint()})
		}
		if d.bad {
			return nil
		}
		runs = append(runs, r)
	}
	return runs
}
