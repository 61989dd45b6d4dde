package admit

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// message is what the rules look at.
type message struct {
	run, source, id string
	n               uint64
	event           bool // false: an invalid message
}

// casual decides about an event without n.
func (s *State) casual(seq uint64, m message) Decision {
	id := m.id
	if id == "" {
		id = "q" + strconv.FormatUint(seq, 10)
	}
	h := hash(id)
	if slices.Contains(s.casualIDs.values, h) {
		return Decision{Outcome: Double}
	}
	s.casualIDs.put(h, MaxCasual)
	if m.run == "" {
		return Decision{}
	}
	r := s.find(m.run)
	if r == nil {
		r = &run{id: strings.Clone(m.run), next: 1}
	}
	var d Decision
	s.enter(r, m, &d)
	return d
}

// counted decides about a message with n.
func (s *State) counted(m message) Decision {
	r := s.find(m.run)
	unknown := r == nil
	if unknown {
		r = &run{id: strings.Clone(m.run), next: 1, afterLoss: s.anyStart}
	}
	var d Decision
	switch {
	case m.n == r.next:
		r.next++
		r.lastID = append(r.lastID[:0], m.id...)
	case m.n < r.next:
		if !r.fill(m.n) {
			d.Outcome = Double
			s.compare(r, m, &d)
			return d
		}
	default:
		if !r.jump(m, &d) {
			d.Outcome = Ahead
			if unknown {
				s.await(r)
			}
			return d
		}
	}
	r.afterLoss = r.afterLoss && m.n < r.next-1
	r.ahead = 0
	if r.aheadMax < r.next {
		r.aheadMin, r.aheadMax = 0, 0
	}
	if m.event {
		s.enter(r, m, &d)
	} else if unknown {
		s.await(r)
	}
	if r == s.current {
		s.admitted.put(stamp{n: m.n, hash: hash(m.id)}, MaxAdmitted)
	}
	return d
}

// fill admits n when a closed range begins with it.
func (r *run) fill(n uint64) bool {
	for i := range r.closed {
		if r.closed[i].a == n {
			r.closed[i].a++
			if r.closed[i].a > r.closed[i].b {
				r.closed = slices.Delete(r.closed, i, i+1)
			}
			return true
		}
	}
	return false
}

// inClosed reports whether n is in a closed range.
func (r *run) inClosed(n uint64) bool {
	return slices.ContainsFunc(r.closed, func(c span) bool { return c.a <= n && n <= c.b })
}

// jump decides about a message above next: whether it closes the hole.
func (r *run) jump(m message, d *Decision) bool {
	kind := AfterLoss
	if !r.afterLoss {
		r.ahead++
		if r.aheadMin == 0 || m.n < r.aheadMin {
			r.aheadMin = m.n
		}
		r.aheadMax = max(r.aheadMax, m.n)
		if r.ahead < MaxAhead {
			return false
		}
		kind = HoleClosed
	}
	if len(r.closed) == MaxRanges {
		r.closed = slices.Delete(r.closed, 0, 1)
	}
	r.closed = append(r.closed, span{r.next, m.n - 1})
	d.Notices = append(d.Notices, Notice{Kind: kind, Run: r.id, From: r.next, To: m.n - 1})
	r.next = m.n + 1
	r.lastID = append(r.lastID[:0], m.id...)
	return true
}

// compare looks for a second writer behind a double.
func (s *State) compare(r *run, m message, d *Decision) {
	if r.inClosed(m.n) {
		d.Outcome = Ahead
		return
	}
	if r != s.current || m.id == "" {
		return
	}
	h := hash(m.id)
	for _, st := range s.admitted.values {
		if st.n == m.n && st.hash != 0 && st.hash != h {
			d.Conflict = true
			r.conflicts++
			d.count(TwoWriters, r.id, r.conflicts)
			return
		}
	}
}

// enter settles under which run an admitted event counts, and whether it
// begins one.
func (s *State) enter(r *run, m message, d *Decision) {
	switch {
	case r == s.current:
		if m.source != "" && m.source != r.source {
			d.NewSource = true
			d.Former = r.key()
		}
	case s.began(r) || s.older(r.id):
		d.Late = true
		if !s.began(r) {
			s.keep(r)
		}
		r.late++
		d.count(LateRun, r.id, r.late)
	default:
		s.begin(r, d)
	}
	if m.source != "" && m.source != r.source {
		r.source = strings.Clone(m.source)
	}
	d.Run = r.key()
}

// begin lets r take over.
func (s *State) begin(r *run, d *Decision) {
	d.NewRun = true
	if s.current != nil {
		d.Former = s.current.key()
	}
	for _, list := range [][]*run{s.runs, s.waiting} {
		for _, other := range list {
			if other != r && other.aheadMax > 0 {
				d.Notices = append(d.Notices, Notice{
					Kind: LeftAhead, Run: other.id,
					From: max(other.aheadMin, other.next), To: other.aheadMax,
				})
				other.aheadMin, other.aheadMax = 0, 0
			}
		}
	}
	s.keep(r)
	s.current = r
	s.anyStart = false
	s.admitted.clear()
}

// key is the run that r's events count under in resume and memory.
func (r *run) key() string {
	if r.source != "" {
		return r.source
	}
	return r.id
}

// older reports whether an unknown run began before the current one: its
// spool comes late, or it was forgotten.
func (s *State) older(id string) bool {
	return s.current != nil && isUUIDv7(id) && isUUIDv7(s.current.id) &&
		strings.ToLower(id) < strings.ToLower(s.current.id)
}

func isUUIDv7(id string) bool {
	if len(id) != 36 || id[14] != '7' || !strings.ContainsRune("89abAB", rune(id[19])) {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHex(c) {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// count reports a count when it reaches a power of two.
func (d *Decision) count(kind NoticeKind, run string, n uint64) {
	if n&(n-1) == 0 {
		d.Notices = append(d.Notices, Notice{Kind: kind, Run: run, Count: n})
	}
}

// hash is a 64-bit hash of an id, 0 for an empty one. It is part of the
// encoded state and must not change.
func hash(id string) uint64 {
	if id == "" {
		return 0
	}
	h := uint64(len(id)) * 0x9E3779B97F4A7C15
	for ; len(id) > 8; id = id[8:] {
		h = mix(h, word(id[:8]))
	}
	var tail [8]byte
	copy(tail[:], id)
	return mix(h, binary.LittleEndian.Uint64(tail[:])) | 1
}

func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func mix(h, w uint64) uint64 {
	high, low := bits.Mul64(h^w, 0xD6E8FEB86659FD93)
	return high ^ low ^ bits.RotateLeft64(w, 32)
}
