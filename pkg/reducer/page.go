package reducer

import (
	"errors"
	"fmt"
)

// PageQuery asks for turns. At most one of Before, After and Turn is set; none
// means the newest turns. A cursor is a turn id, compared by its ordinal.
type PageQuery struct {
	Before, After string // turns older, or newer, than this one
	Turn          string // this turn alone
	BeforeStep    int    // with Turn: its steps older than this ordinal; 0 = the newest
	Size          int    // turns; 0 means DefaultPageTurns, the most is MaxPageTurns
	MaxSteps      int    // newest steps of each turn; 0 means MaxPageSteps
	MaxBytes      int    // encoded items; 0 means MaxPageBytes
}

// Page is a part of the timeline with the entities it needs.
type Page struct {
	*Snapshot

	// HasMore reports turns beyond the page, on its far side: older ones, or
	// with After newer ones.
	HasMore bool

	// Incomplete reports that the page reaches back beyond what the snapshot
	// holds: turns or steps that belong to it exist and are not loaded.
	Incomplete bool
}

// Paginate cuts a page out of a snapshot. A turn comes with the markers and
// task refs that follow it; what stands before the first turn comes with the
// first turn. A page that would be too large holds fewer turns, but at least
// one, and of that at least its newest step.
func Paginate(s *Snapshot, q PageQuery) (Page, error) {
	if err := q.check(); err != nil {
		return Page{}, err
	}
	s = s.shown()
	w := window{src: s, steps: orDefault(q.MaxSteps, MaxPageSteps), bytes: orDefault(q.MaxBytes, MaxPageBytes)}
	size := min(orDefault(q.Size, DefaultPageTurns), MaxPageTurns)
	var p Page
	switch {
	case q.Turn != "":
		p.Incomplete = w.one(q)
	case q.After != "":
		p.Incomplete = w.after(q, size)
		p.HasMore = w.cut
	default:
		p.HasMore, p.Incomplete = w.before(q, size)
	}
	p.Snapshot = w.snapshot()
	p.hasMoreOlder = p.HasMore && q.After == ""
	return p, nil
}

func (q *PageQuery) check() error {
	cursors := 0
	for _, c := range []string{q.Before, q.After, q.Turn} {
		if c != "" {
			cursors++
		}
	}
	switch {
	case cursors > 1:
		return errors.New("page: give one of before_turn, after_turn and turn")
	case q.BeforeStep != 0 && q.Turn == "":
		return errors.New("page: before_step needs turn")
	case q.Size < 0 || q.Size > MaxPageTurns:
		return fmt.Errorf("page: size %d, want 1 to %d", q.Size, MaxPageTurns)
	case q.BeforeStep < 0:
		return fmt.Errorf("page: before_step %d is negative", q.BeforeStep)
	}
	return nil
}

// before chooses the newest turns, older than the cursor if there is one.
func (w *window) before(q PageQuery, size int) (hasMore, incomplete bool) {
	t, next := w.src.turns.fromLast(), uint64(0)
	if q.Before != "" {
		if next = w.src.firstTurn(TurnOrdinal(q.Before)); next != 0 {
			t = w.src.turns.from(next)
			t.prev()
		}
	}
	w.newest(t, next, size)
	missing := w.src.hasMoreOlder && !w.cut
	turns := 0
	for _, g := range w.groups {
		if g.turn != nil {
			turns++
		}
	}
	return w.cut || missing, missing && turns < size
}

// after chooses the oldest turns that are newer than the cursor.
func (w *window) after(q PageQuery, size int) (incomplete bool) {
	limit := TurnOrdinal(q.After)
	start := w.src.firstTurn(limit + 1)
	first := w.src.turns.from(w.src.start)
	if start == 0 {
		return w.src.hasMoreOlder && !w.src.inside(&first)
	}
	if start > first.key {
		w.oldest(w.src.turns.from(start), size)
		return false
	}
	// The page holds the first turn.
	if w.src.hasMoreOlder {
		incomplete = !w.src.inside(&first) || first.val.head.Ordinal > limit+1
	} else {
		w.groups = append(w.groups, group{marks: w.src.marksBetween(0, first.key)})
	}
	w.oldest(first, size)
	return incomplete
}

// one chooses a single turn.
func (w *window) one(q PageQuery) (incomplete bool) {
	w.below = q.BeforeStep
	t := w.src.findTurn(q.Turn)
	if !w.src.inside(&t) {
		return w.src.hasMoreOlder
	}
	n, key := t.val, t.key
	next := uint64(0)
	if t.next(); t.ok {
		next = t.key
	}
	w.fits(group{turn: n, marks: w.src.marksBetween(key, next)})
	out := w.groups[0].turn
	reached := out.steps.n == 0 || out.steps.from(0).val == n.steps.from(0).val
	return n.more && reached && out.steps.n < w.steps && !w.src.noSteps
}

// findTurn returns a walk that stands on the turn with that id, or at the end.
// A snapshot has no index of ids; the ordinal is nearly one.
func (s *Snapshot) findTurn(id string) walk[*turnNode] {
	t := s.turns.from(s.firstTurn(TurnOrdinal(id)))
	for ; t.ok && t.val.head.TurnID != id && t.val.head.Ordinal == TurnOrdinal(id); t.next() {
	}
	if t.ok && t.val.head.TurnID == id {
		return t
	}
	for t = s.turns.from(0); t.ok && t.val.head.TurnID != id; t.next() {
	}
	return t
}
