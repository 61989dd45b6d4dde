package recorder

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// refillPage is how many records are read at a time.
const refillPage = 256

// errLagging: a replica that is behind answered. Try again.
var errLagging = errors.New("the stream's answer ends too early: a replica that is behind gave it")

// source gives an agent's file back what it lost, from the stream.
type source struct {
	log     eventlog.Log
	slot    int
	session events.SessionID
	agent   events.AgentID
}

var _ wirelog.Source = source{}

// Refill implements wirelog.Source. Trimming removes the oldest, so what is
// left of a gap is its end: the last one has the number SeqTo.
func (s source) Refill(ctx context.Context, g wirelog.Gap) iter.Seq2[wirelog.Message, error] {
	return func(yield func(wirelog.Message, error) bool) {
		if g.Before == 0 && (g.After > 0 || g.Seq > 1) {
			return // nothing tells which ones they were
		}
		left, err := s.count(ctx, g)
		if err != nil {
			yield(wirelog.Message{}, err)
			return
		}
		missing := g.SeqTo - g.Seq + 1
		skip := uint64(0)
		if g.After == 0 && g.Seq > 1 && left > missing {
			// Nothing tells where the gap begins: what is before it was recorded
			// elsewhere or from another incarnation of the stream.
			skip, left = left-missing, missing
		}
		if left > missing {
			yield(wirelog.Message{}, fmt.Errorf("%d messages where lines %d to %d are missing", left, g.Seq, g.SeqTo))
			return
		}
		seq := g.SeqTo - left + 1
		for r, err := range s.records(ctx, g) {
			if err != nil || seq > g.SeqTo {
				if err == nil {
					err = errLagging // more of them than a moment ago
				}
				yield(wirelog.Message{}, err)
				return
			}
			if skip > 0 {
				skip--
				continue
			}
			m := messageOf(r)
			m.Seq = seq
			if !yield(m, nil) {
				return
			}
			seq++
		}
		if seq != g.SeqTo+1 {
			yield(wirelog.Message{}, errLagging)
		}
	}
}

// count tells how much of a gap the stream still has.
func (s source) count(ctx context.Context, g wirelog.Gap) (uint64, error) {
	n := uint64(0)
	for _, err := range s.records(ctx, g) {
		switch {
		case errors.Is(err, errLagging):
			if gone, err := s.gone(ctx, g.Before-1); err != nil || gone {
				return 0, err
			}
			return 0, errLagging
		case err != nil:
			return 0, err
		}
		n++
	}
	return n, nil
}

// gone tells whether all of the agent's records up to a stream sequence, of
// which that one was its own, were removed from the stream.
func (s source) gone(ctx context.Context, upTo uint64) (bool, error) {
	b, err := s.log.Bounds(ctx, s.slot)
	if err != nil || b.First > upTo {
		return err == nil, err
	}
	last, err := s.log.Last(ctx, s.session, s.agent)
	if errors.Is(err, eventlog.ErrNotFound) {
		return true, nil
	}
	return err == nil && last.StreamSeq < upTo, err
}

// records yields the agent's records inside a gap. It ends with errLagging
// unless it came to the gap's end: the agent's own record there, inside the
// gap or behind it, proves that all before it was seen.
func (s source) records(ctx context.Context, g wirelog.Gap) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		after := g.After
		for {
			page, err := s.log.Range(ctx, s.session, s.agent, after, refillPage)
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			for _, r := range page {
				if g.Before > 0 && r.StreamSeq >= g.Before {
					return
				}
				if !yield(r, nil) {
					return
				}
				after = r.StreamSeq
			}
			if g.Before > 0 && after+1 >= g.Before {
				return
			}
			if len(page) < refillPage {
				if g.Before > 0 {
					yield(eventlog.Record{}, errLagging)
				}
				return
			}
		}
	}
}

func messageOf(r eventlog.Record) wirelog.Message {
	return wirelog.Message{
		StreamSeq: r.StreamSeq, StoredAt: r.StoredAt.UnixMilli(), Data: r.Data,
		Lost: r.Lost || events.IsPlaceholder(r.Data),
	}
}
