package admit

import "slices"

// State is the admission state of one agent log. The zero value is that of an
// empty log. It is not safe for concurrent use.
type State struct {
	runs    []*run // in the order they were first admitted, at most MaxRuns
	waiting []*run // in the order they were first seen, at most MaxWaiting
	current *run   // one of runs, nil before the first

	anyStart bool // after a loss, until a run begins

	casualIDs ring[uint64] // of events without n
	admitted  ring[stamp]  // of the current run
}

// run is one incarnation of the publisher.
type run struct {
	id     string
	source string // the last source run
	next   uint64 // what is below was admitted, or is in a closed range
	closed []span // holes, oldest first, at most MaxRanges

	ahead    uint64 // messages ahead since the last admitted one
	aheadMin uint64 // of those not yet admitted nor reported; 0 = none
	aheadMax uint64

	afterLoss bool
	conflicts uint64
	late      uint64
	lastID    []byte // event id admitted under next-1
}

// span is a range of ordinals, both inclusive.
type span struct{ a, b uint64 }

// stamp is what is remembered of an admitted event: its id's hash, 0 when it
// had none.
type stamp struct{ n, hash uint64 }

func (s *State) find(id string) *run {
	if s.current != nil && s.current.id == id {
		return s.current
	}
	for _, r := range slices.Backward(s.runs) {
		if r.id == id {
			return r
		}
	}
	for _, r := range s.waiting {
		if r.id == id {
			return r
		}
	}
	return nil
}

// began reports whether an event of r was admitted.
func (s *State) began(r *run) bool { return r == s.current || slices.Contains(s.runs, r) }

// await remembers a run of which no event was admitted yet.
func (s *State) await(r *run) {
	if len(s.waiting) == MaxWaiting {
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
	s.waiting = append(s.waiting, r)
}

// keep moves a run among those that were admitted.
func (s *State) keep(r *run) {
	if i := slices.Index(s.waiting, r); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	if len(s.runs) == MaxRuns {
		oldest := 0
		if s.runs[0] == s.current {
			oldest = 1
		}
		s.runs = slices.Delete(s.runs, oldest, oldest+1)
	}
	s.runs = append(s.runs, r)
}

// ring keeps the last max values put into it.
type ring[T any] struct {
	values []T
	at     int // of the oldest once it is full
}

func (q *ring[T]) put(v T, maximum int) {
	if len(q.values) < maximum {
		q.values = append(q.values, v)
		return
	}
	q.values[q.at] = v
	q.at = (q.at + 1) % maximum
}

func (q *ring[T]) clear() { q.values, q.at = q.values[:0], 0 }
