package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// transcript answers a page of turns from the present where it reaches back
// far enough, else from the history re-made from the log.
func (c *call) transcript() *problem {
	q := &c.query
	agent := q.agent()
	g := q.grade(grade.Delta)
	ask := reducer.PageQuery{
		Before: q.turn("before_turn"), After: q.turn("after_turn"), Turn: q.turn("turn"),
		Size: q.number("page_size", reducer.DefaultPageTurns, 1, maxPage),
	}
	ask.BeforeStep = q.number("before_step", 0, 1, 1<<30)
	minSeq, _ := q.seq("min_seq")
	if g == grade.Off {
		q.fail(badRequest("bad_grade", "grade off shows nothing"))
	}
	if q.wrong != nil {
		return q.wrong
	}
	f, release, p := c.feed(agent)
	if p != nil {
		return p
	}
	defer release()
	snap, seq, p := c.present(f, minSeq)
	if p != nil {
		return p
	}
	page, err := reducer.Paginate(snap, ask)
	if err != nil {
		return badRequest("bad_parameter", err.Error())
	}
	if page.Incomplete {
		past, pastSeq, err := c.g.histories.page(c.r.Context(), f, ask, seq)
		switch {
		case err == nil:
			page, seq = past, pastSeq
		case !errors.Is(err, errTrimmed): // then the present is all there is
			return asProblem(err)
		}
	}
	answer := protocol.Page{
		AgentID: string(agent), Snapshot: grade.Redact(page.Snapshot, g), HasMore: page.HasMore,
		Agents: c.roster(), Seq: seq, Epoch: f.enc.epoch,
	}
	return c.body(answer.AppendJSON(nil))
}

// turn is a turn cursor: t5, or 5.
func (q *query) turn(name string) string {
	s, ok := q.one(name)
	if !ok {
		return ""
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s, "t"))
	if err != nil || n < 0 {
		q.fail(badRequest("bad_parameter", name+" is "+shown(s)+"; it must be a turn id such as t5"))
		return ""
	}
	return "t" + strconv.Itoa(n)
}

// present is the feed's state, not older than min.
func (c *call) present(f *feed, min uint64) (*reducer.Snapshot, uint64, *problem) {
	snap, seq := f.snapshot(-1)
	if seq >= min {
		return snap, seq, nil
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.g.cfg.Limits.CatchUp)
	defer cancel()
	if _, err := f.catchUp(ctx); err != nil {
		return nil, 0, asProblem(err)
	}
	if snap, seq = f.snapshot(-1); seq < min {
		return nil, 0, unavailable(fmt.Sprintf("the log of agent %s ends at seq %d, before min_seq %d", f.agent, seq, min))
	}
	return snap, seq, nil
}

// roster is the session's agents as far as they are known.
func (c *call) roster() []reducer.AgentDescriptor {
	if s := c.g.hub.peek(c.session); s != nil {
		return s.current().descriptors(0)
	}
	return nil
}
