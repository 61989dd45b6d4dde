package gateway

import (
	"math"
	"slices"

	"github.com/stenohq/steno/pkg/reducer"
)

// past is a transcript that keeps what the fold's own state closes, as far as
// a page below the turn hi can need it and max bytes reach. It is a fold.Sink:
// what closes it hears before it applies the operations of that batch. What an
// undo or clear takes back it takes back by itself, because the reset that a
// client is sent would also drop what is merely closed.
type past struct {
	t   *reducer.Transcript
	hi  int // closed turns from this ordinal on are not kept
	max int

	closing []closedItem // in this batch
	kept    []closedItem // by after
	bytes   int          // of what is kept
	older   bool         // something older was dropped
	hole    bool         // something from hi on was dropped
}

type closedItem struct {
	id    string
	after int // ordinal of the turn, or of the one before it
	bytes int
}

func newPast(agent string, hi, max int) *past {
	return &past{t: reducer.NewTranscript(agent), hi: hi, max: max}
}

// Close implements fold.Sink.
func (p *past) Close(c reducer.Closed) {
	it := closedItem{after: c.After, bytes: 200}
	switch {
	case c.Turn != nil:
		it.id, it.bytes = c.Turn.TurnID, turnCost(c.Turn)
	case c.Marker != nil:
		it.id, it.bytes = c.Marker.MarkerID, 200+len(c.Marker.Payload)
	case c.TaskRef != nil:
		it.id = c.TaskRef.RefID
	default:
		return // steps go with their turn, entities are small
	}
	p.closing = append(p.closing, it)
}

func turnCost(t *reducer.Turn) int {
	n := 300 + len(t.Prompt.V)
	for _, s := range t.Steps {
		n += 300
		for _, f := range s.Frames {
			n += 300 + len(f.Text) + len(f.Input) + len(f.Output) + len(f.Display) + len(f.InputText.V)
		}
	}
	return n
}

// Gone implements fold.Sink.
func (p *past) Gone(from int) {
	var ids []string
	behind := from == 0
	for it := range p.t.Snapshot(-1).Items() {
		behind = behind || it.Turn != nil && it.Turn.Ordinal >= from
		if behind {
			ids = append(ids, it.ID())
		}
	}
	p.remove(ids)
	kept := p.kept[:0]
	p.bytes = 0
	for _, it := range p.kept {
		if it.after < from {
			kept = append(kept, it)
			p.bytes += it.bytes
		}
	}
	p.kept = kept
}

// apply takes the operations of a batch in, and lets go what closed in it and
// is not wanted.
func (p *past) apply(ops []reducer.Op) {
	for i := range ops {
		if ops[i].Kind != reducer.OpReset {
			p.t.Apply(ops[i : i+1])
		}
	}
	var ids []string
	for _, it := range p.closing {
		if it.after >= p.hi {
			ids, p.hole = append(ids, it.id), true
			continue
		}
		i := len(p.kept) // what ran long closes late: it goes where it belongs
		for i > 0 && p.kept[i-1].after > it.after {
			i--
		}
		p.kept = slices.Insert(p.kept, i, it)
		p.bytes += it.bytes
	}
	p.closing = p.closing[:0]
	if ids = p.shrink(ids); len(ids) > 0 {
		p.remove(ids)
	}
}

// shrink appends the ids of what has to go: the oldest turns, each with what
// follows it, but never the newest one.
func (p *past) shrink(ids []string) []string {
	n := 0
	for p.bytes > p.max && p.kept[n].after != p.kept[len(p.kept)-1].after {
		for turn := p.kept[n].after; p.kept[n].after == turn; n++ {
			ids, p.older = append(ids, p.kept[n].id), true
			p.bytes -= p.kept[n].bytes
		}
	}
	p.kept = p.kept[n:]
	return ids
}

func (p *past) remove(ids []string) {
	p.t.Apply([]reducer.Op{{Kind: reducer.OpItemsRemove, IDs: ids}})
}

// page cuts a page out; ok is false when something it needs was dropped.
func (p *past) page(q reducer.PageQuery) (page reducer.Page, ok bool, err error) {
	page, err = reducer.Paginate(p.t.Snapshot(-1).With(p.t.AgentID(), p.older), q)
	if err != nil {
		return page, false, err
	}
	if p.hole {
		switch {
		case q.Before != "":
			ok = reducer.TurnOrdinal(q.Before) <= p.hi
		case q.Turn != "":
			ok = reducer.TurnOrdinal(q.Turn) < p.hi
		case q.After != "":
			ok = lastTurn(&page) < p.hi
		}
		if !ok {
			return page, false, nil
		}
	}
	return page, !page.Incomplete || !p.older, nil
}

func lastTurn(page *reducer.Page) int {
	last := -1
	for t := range page.Turns() {
		last = t.Ordinal
	}
	return last
}

// above is the ordinal below which the turns of a page lie.
func above(q reducer.PageQuery) int {
	switch {
	case q.Before != "":
		return reducer.TurnOrdinal(q.Before)
	case q.Turn != "":
		return reducer.TurnOrdinal(q.Turn) + 1
	}
	return math.MaxInt
}
