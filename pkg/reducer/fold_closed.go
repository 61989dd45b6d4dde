package reducer

import "slices"

// closedTurns holds the ordinals of closed turns as runs, in their order.
type closedTurns struct{ runs []closedRun }

// closedRun is a range of closed turns of which all, or none, are of a user.
type closedRun struct {
	first, last int
	user        bool
}

func (c *closedTurns) empty() bool { return len(c.runs) == 0 }

// add adds one ordinal that is not there.
func (c *closedTurns) add(n int, user bool) {
	i := len(c.runs)
	for i > 0 && c.runs[i-1].first > n {
		i--
	}
	left := i > 0 && c.runs[i-1].last == n-1 && c.runs[i-1].user == user
	right := i < len(c.runs) && c.runs[i].first == n+1 && c.runs[i].user == user
	switch {
	case left && right:
		c.runs[i-1].last = c.runs[i].last
		c.runs = append(c.runs[:i], c.runs[i+1:]...)
	case left:
		c.runs[i-1].last = n
	case right:
		c.runs[i].first = n
	default:
		c.runs = append(c.runs, closedRun{})
		copy(c.runs[i+1:], c.runs[i:])
		c.runs[i] = closedRun{n, n, user}
	}
}

// below returns the largest ordinal below n, -1 for none.
func (c *closedTurns) below(n int) int {
	for _, r := range slices.Backward(c.runs) {
		if r.first < n {
			return min(r.last, n-1)
		}
	}
	return -1
}

// dropFrom removes the ordinals from one on and returns how many they were.
func (c *closedTurns) dropFrom(from int) (n int) {
	for len(c.runs) > 0 {
		r := &c.runs[len(c.runs)-1]
		if r.last < from {
			break
		}
		if r.first < from {
			n += r.last - from + 1
			r.last = from - 1
			break
		}
		n += r.last - r.first + 1
		c.runs = c.runs[:len(c.runs)-1]
	}
	return n
}

// countBack returns the ordinal of the count-th newest turn, held or closed,
// or of the count-th newest one of a user; -1 when there are fewer.
func (f *Fold) countBack(count int, ofUsers bool) int {
	found := -1
	f.newestFirst(func(r closedRun) bool {
		if ofUsers && !r.user {
			return true
		}
		n := r.last - r.first + 1
		if n < count {
			count -= n
			return true
		}
		found = r.last - count + 1
		return false
	})
	return found
}

// newestFirst walks all turns, held and closed, from the newest on, as runs.
func (f *Fold) newestFirst(yield func(closedRun) bool) {
	held := len(f.turns) - 1
	for _, r := range slices.Backward(f.closed.runs) {
		for r.first <= r.last {
			part := r
			for ; held >= 0 && f.turns[held].head.Ordinal > r.last; held-- {
				if !yield(f.turns[held].asRun()) {
					return
				}
			}
			if held >= 0 { // a held turn may stand among closed ones
				part.first = max(part.first, f.turns[held].head.Ordinal+1)
			}
			if !yield(part) {
				return
			}
			r.last = part.first - 1
		}
	}
	for ; held >= 0; held-- {
		if !yield(f.turns[held].asRun()) {
			return
		}
	}
}

func (t *foldTurn) asRun() closedRun {
	n := t.head.Ordinal
	return closedRun{n, n, t.head.Origin.Kind == OriginUser}
}
