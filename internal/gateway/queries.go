package gateway

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

// Queries are the questions of runtimes and importers, asked over NATS
// (steno.query.<session>.<agent>.<question>) as over HTTP. They keep the folds
// of the agents asked about last, so that asking again only reads on.
type Queries struct {
	hub *hub
	src *source

	mu    sync.Mutex // guards what follows
	feeds map[agentKey]*list.Element
	used  list.List // of *feed, used last at the front
}

type agentKey struct {
	session events.SessionID
	agent   events.AgentID
}

func newQueries(h *hub, src *source) *Queries {
	own := *src
	own.limits.RingBytes = 1 // nobody reads their batches
	return &Queries{hub: h, src: &own, feeds: map[agentKey]*list.Element{}}
}

// Runs answers where a publisher of run stands in an agent log, as of the
// stream's leader at some moment after the call: the JSON object
// {"next": n, "last_event_id": id, "current": run}. An agent without a log is
// answered with next 1. Errors are the log's, the state store's, or ctx's.
func (q *Queries) Runs(ctx context.Context, s events.SessionID, a events.AgentID, run string) ([]byte, error) {
	answer, err := q.ask(ctx, s, a, run)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"next": answer.Next, "last_event_id": answer.LastEventID, "current": answer.Current,
	})
}

func (q *Queries) ask(ctx context.Context, s events.SessionID, a events.AgentID, run string) (fold.RunsAnswer, error) {
	f, err := q.feed(ctx, s, a)
	if err != nil {
		return fold.RunsAnswer{}, err
	}
	if _, err := f.catchUp(ctx); err != nil {
		return fold.RunsAnswer{}, err
	}
	return f.runs(run), nil
}

// feed is the hub's feed of an agent that is watched, else one of its own.
func (q *Queries) feed(ctx context.Context, s events.SessionID, a events.AgentID) (*feed, error) {
	if held := q.hub.peek(s); held != nil {
		if f := held.current().feed(a); f != nil {
			return f, nil
		}
	}
	key := agentKey{s, a}
	q.mu.Lock()
	if e := q.feeds[key]; e != nil {
		q.used.MoveToFront(e)
		q.mu.Unlock()
		return e.Value.(*feed), nil
	}
	q.mu.Unlock()
	f, err := openFeed(ctx, q.src, s, a, newEncoder(s, a, ""), func() {})
	if err != nil {
		return nil, err
	}
	// An agent nobody has published for is not worth a place.
	if seq, _ := f.position(); seq == 0 {
		if _, err := q.src.log.Last(ctx, s, a); errors.Is(err, eventlog.ErrNotFound) {
			return f, nil
		}
	}
	return q.keep(key, f), nil
}

// keep adds a feed and drops the one not used for longest.
func (q *Queries) keep(key agentKey, f *feed) *feed {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.feeds[key]; e != nil { // another call was faster
		return e.Value.(*feed)
	}
	q.feeds[key] = q.used.PushFront(f)
	if q.used.Len() > q.src.limits.QueryFeeds {
		old := q.used.Remove(q.used.Back()).(*feed)
		delete(q.feeds, agentKey{old.session, old.agent})
	}
	return f
}
