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
	w := window{src: s, steps: orDefault(q.MaxSteps, MaxPageSteps), bytes: orDefault(q.MaxBytes, MaxPageBytes)}
	groups := s.timeline()
	size := min(orDefault(q.Size, DefaultPageTurns), MaxPageTurns)
	var p Page
	switch {
	case q.Turn != "":
		p.Incomplete = w.one(groups, q)
	case q.After != "":
		p.Incomplete = w.after(groups, q, size)
		p.HasMore = w.cut
	default:
		p.HasMore, p.Incomplete = w.before(groups, q, size)
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
func (w *window) before(groups []group, q PageQuery, size int) (hasMore, incomplete bool) {
	missing := w.src.hasMoreOlder
	if q.Before != "" {
		limit := TurnOrdinal(q.Before)
		end := 1
		for end < len(groups) && groups[end].turn.head.Ordinal < limit {
			end++
		}
		groups = groups[:end]
	}
	w.newest(groups, size)
	turns := 0
	for _, g := range w.groups {
		if g.turn != nil {
			turns++
		}
	}
	return w.cut || missing, missing && !w.cut && turns < size
}

// after chooses the oldest turns that are newer than the cursor.
func (w *window) after(groups []group, q PageQuery, size int) (incomplete bool) {
	limit := TurnOrdinal(q.After)
	start := 1
	for start < len(groups) && groups[start].turn.head.Ordinal <= limit {
		start++
	}
	switch {
	case start != 1:
	case !w.src.hasMoreOlder:
		start = 0 // the page holds the first turn, and what stands before it
	default:
		incomplete = len(groups) == 1 || groups[1].turn.head.Ordinal > limit+1
	}
	w.oldest(groups[start:], size)
	return incomplete
}

// one chooses a single turn.
func (w *window) one(groups []group, q PageQuery) (incomplete bool) {
	w.below = q.BeforeStep
	for i := range groups {
		n := groups[i].turn
		if n == nil || n.head.TurnID != q.Turn {
			continue
		}
		w.fits(&groups[i])
		out := w.groups[0].turn
		reached := out.steps.n == 0 || out.steps.from(0).val == n.steps.from(0).val
		return n.more && reached && out.steps.n < w.steps
	}
	return w.src.hasMoreOlder
}
