package projector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

// rangeSize is how many records a refold reads at a time.
const rangeSize = 1000

// refolder folds agents from the log while the worker goes on: those whose
// head another fold version wrote, or nobody can read. Those the worker waits
// for come first.
type refolder struct {
	w    *worker
	done chan refolded

	mu    sync.Mutex // guards asked
	asked []task
	wake  chan struct{}
}

// task is an agent to refold, at least up to a record that is known to exist.
type task struct {
	key
	upTo uint64
}

// refolded is a fold that has reached the log's end as a replica knew it.
type refolded struct {
	key
	fold  *fold.Agent
	saved stored
	all   bool // no agent: every head of the slot has been looked at
	err   error
}

func newRefolder(w *worker) *refolder {
	return &refolder{w: w, done: make(chan refolded), wake: make(chan struct{}, 1)}
}

// ask queues an agent that the worker waits for.
func (r *refolder) ask(k key, upTo uint64) {
	r.mu.Lock()
	r.asked = append(r.asked, task{k, upTo})
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *refolder) next() (task, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) == 0 {
		return task{}, false
	}
	t := r.asked[0]
	r.asked = r.asked[1:]
	return t, true
}

// run refolds until ctx ends. scan looks at all heads of the slot first.
func (r *refolder) run(ctx context.Context, scan bool) {
	var old []key
	var err error
	if scan {
		if old, err = r.oldHeads(ctx); err != nil {
			r.tell(ctx, refolded{err: err})
			return
		}
	}
	for {
		t, ok := r.next()
		if !ok && len(old) > 0 {
			t, ok, old = task{key: old[0]}, true, old[1:]
		}
		if ok {
			r.refold(ctx, t)
			continue
		}
		if scan {
			scan = false
			r.tell(ctx, refolded{all: true})
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
	}
}

func (r *refolder) tell(ctx context.Context, done refolded) {
	select {
	case r.done <- done:
	case <-ctx.Done():
	}
}

func (r *refolder) refold(ctx context.Context, t task) {
	a, saved, err := r.w.foldLog(ctx, t)
	if ctx.Err() == nil {
		r.tell(ctx, refolded{key: t.key, fold: a, saved: saved, err: err})
	}
}

// A replica that has not yet what is known to exist is asked again so often.
const (
	lagPause = 20 * time.Millisecond
	lagTries = 250
)

// foldLog folds an agent to the end of its log, from its saved state where
// that can be continued.
func (w *worker) foldLog(ctx context.Context, t task) (*fold.Agent, stored, error) {
	saved, err := w.load(ctx, t.key)
	if err != nil {
		return nil, saved, err
	}
	a, err := saved.decode(t.key)
	if saved.state.Head == nil || err != nil {
		if w.first > 1 {
			return nil, saved, fmt.Errorf("agent %s/%s has no head that can be continued, and stream %s begins at %d", t.session, t.agent, w.stream.Name, w.first)
		}
		a = fold.New(t.session, t.agent)
	}
	for tries := 0; ; tries++ {
		if err := w.foldRange(ctx, a); err != nil {
			return nil, saved, err
		}
		if a.StreamSeq() >= t.upTo || tries == lagTries {
			return a, saved, nil
		}
		select {
		case <-ctx.Done():
			return nil, saved, ctx.Err()
		case <-time.After(lagPause):
		}
	}
}

// foldRange folds what a replica has of the agent's log.
func (w *worker) foldRange(ctx context.Context, a *fold.Agent) error {
	for {
		var recs []eventlog.Record
		err := w.retry(ctx, "log of an agent", func() (err error) {
			recs, err = w.events.Range(ctx, a.Session(), a.Agent(), a.StreamSeq(), rangeSize)
			return err
		})
		if err != nil {
			return err
		}
		for i := range recs {
			a.Step(foldRecord(&recs[i], a.Seq()+1))
		}
		if len(recs) < rangeSize {
			return nil
		}
	}
}

// oldHeads lists the agents whose head cannot be continued, those of the
// newest sessions first.
func (r *refolder) oldHeads(ctx context.Context) ([]key, error) {
	prefix := fmt.Sprintf("%s.%d", statestore.PrefixHead, r.w.slot)
	var old []key
	err := r.w.retry(ctx, prefix, func() error {
		old = old[:0]
		for entry, err := range r.w.store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			k, err := parseHeadKey(strings.TrimPrefix(entry.Key, prefix+"."))
			if err != nil {
				continue // nobody's head
			}
			_, err = fold.Decode(k.session, k.agent, fold.State{Head: entry.Value})
			if errors.Is(err, fold.ErrVersion) {
				old = append(old, k)
			}
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return nil, err
	}
	active := map[events.SessionID]string{}
	for _, k := range old {
		if _, ok := active[k.session]; ok {
			continue
		}
		entry, err := r.w.get(ctx, statestore.IndexKey(k.session.Token()))
		if err != nil {
			return nil, err
		}
		var row row
		_ = json.Unmarshal(entry.Value, &row) // without a row it comes last
		active[k.session] = row.Active
	}
	slices.SortStableFunc(old, func(a, b key) int { return -cmp.Compare(active[a.session], active[b.session]) })
	return old, nil
}

func parseHeadKey(tokens string) (key, error) {
	s, a, _ := strings.Cut(tokens, ".")
	session, err := events.ParseSessionToken(s)
	if err != nil {
		return key{}, err
	}
	agent, err := events.ParseAgentToken(a)
	return key{session, agent}, err
}

// refolded takes in what the refolder made.
func (w *worker) refolded(ctx context.Context, r refolded) error {
	if r.err != nil {
		return r.err
	}
	if r.all {
		w.scanned = true
		return nil
	}
	a := w.agents[r.key]
	switch {
	case a == nil:
		// Found by the scan. Nothing of it is unsaved, but its head is old.
		s, err := w.sessionOf(ctx, r.session)
		if err != nil {
			return err
		}
		a = newAgent(r.key, w.now())
		a.session = s
		w.hold(a)
	case a.fold != nil:
		return nil // the worker has loaded it meanwhile
	case r.fold.StreamSeq() < a.seen:
		w.refold.ask(r.key, a.seen) // more came meanwhile
		return nil
	}
	a.fold, a.revs, a.size = r.fold, r.saved.revs, size(r.saved.state)
	a.rewrite, a.touched = true, w.now()
	a.session.take(a)
	a.session.dirty, a.session.urgent = true, true
	return nil
}
