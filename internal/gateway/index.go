package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenohq/steno/internal/statestore"
)

// index is the session list: the rows index.<session> of the state store,
// watched once for all clients.
type index struct {
	state  statestore.Store
	log    *slog.Logger
	caught atomic.Bool

	mu      sync.Mutex // guards what follows
	rows    map[string]*row
	sorted  []*row // newest activity first; nil when out of date
	version uint64
	changes []change // the newest changes, oldest first
	open    map[string]*row
	watched map[*listWatch]struct{}
}

// row is one session. It is immutable once it is in the index.
type row struct {
	id      string
	doc     json.RawMessage // as the projector wrote it
	title   string
	host    string
	state   string // as written; running may have become stale
	active  time.Time
	version uint64
	removed bool
}

type change struct {
	version uint64
	row     *row
}

// maxChanges bounds what a list watcher may miss before it is sent the list
// again.
const maxChanges = 4096

// staleAfter is the silence after which a running session counts as stale.
const staleAfter = time.Minute

func newIndex(state statestore.Store, log *slog.Logger) *index {
	return &index{
		state: state, log: log, rows: map[string]*row{}, open: map[string]*row{},
		watched: map[*listWatch]struct{}{},
	}
}

// run watches the rows until ctx ends.
func (x *index) run(ctx context.Context) {
	var aging sync.WaitGroup
	aging.Go(func() { x.age(ctx) })
	defer aging.Wait()
	pause := 100 * time.Millisecond
	for ctx.Err() == nil {
		err := x.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		x.log.Warn("session_index_watch_broke", "error", err)
		_ = sleep(ctx, pause)
		pause = min(2*pause, 2*time.Second)
	}
}

// follow reads all rows and then the changes. Rows that are gone since an
// earlier watch are removed once the present has been told.
func (x *index) follow(ctx context.Context) error {
	seen := map[string]bool{}
	for ch, err := range x.state.Watch(ctx, statestore.PrefixIndex) {
		switch {
		case err != nil:
			return err
		case ch.Caught:
			x.keepOnly(seen)
			seen = nil
			x.caught.Store(true)
			x.mu.Lock()
			x.tell()
			x.mu.Unlock()
		case ch.Deleted:
			x.remove(rowID(ch.Key))
		default:
			r, err := parseRow(ch.Value)
			if err != nil {
				x.log.Warn("session_index_row_unreadable", "key", ch.Key, "error", err)
				continue
			}
			if seen != nil {
				seen[r.id] = true
			}
			x.put(r)
		}
	}
	return errors.New("the watch has ended")
}

func rowID(key string) string {
	return strings.ReplaceAll(strings.TrimPrefix(key, statestore.PrefixIndex+"."), "=2E", ".")
}

func parseRow(data []byte) (*row, error) {
	var doc struct {
		ID     string            `json:"session_id"`
		Title  string            `json:"title"`
		State  string            `json:"state"`
		Active string            `json:"last_activity"`
		Labels map[string]string `json:"labels"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if _, p := sessionID(doc.ID); p != nil {
		return nil, p
	}
	r := &row{id: doc.ID, doc: data, title: doc.Title, state: doc.State, host: doc.Labels["host"]}
	if t, err := time.Parse(time.RFC3339, doc.Active); err == nil {
		r.active = t
	}
	return r, nil
}

// stateNow is the row's state at a time: an open turn of which nothing was
// heard for a while is stale.
func (r *row) stateNow(t time.Time) string {
	if r.state == "running" && t.Sub(r.active) > staleAfter {
		return "stale"
	}
	return r.state
}

func (x *index) put(r *row) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows[r.id] = r
	delete(x.open, r.id)
	if r.stateNow(time.Now()) == "running" {
		x.open[r.id] = r
	}
	x.changed(r)
}

func (x *index) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, ok := x.rows[id]
	if !ok {
		return
	}
	delete(x.rows, id)
	delete(x.open, id)
	gone := *r
	gone.removed = true
	x.changed(&gone)
}

func (x *index) keepOnly(seen map[string]bool) {
	x.mu.Lock()
	var gone []string
	for id := range x.rows {
		if !seen[id] {
			gone = append(gone, id)
		}
	}
	x.mu.Unlock()
	for _, id := range gone {
		x.remove(id)
	}
}

// changed records a change; the caller holds mu.
func (x *index) changed(r *row) {
	x.version++
	r.version = x.version
	x.sorted = nil
	x.changes = append(x.changes, change{x.version, r})
	if len(x.changes) > 2*maxChanges {
		x.changes = append([]change(nil), x.changes[len(x.changes)-maxChanges:]...)
	}
	x.tell()
}

// tell wakes the list watchers; the caller holds mu.
func (x *index) tell() {
	for w := range x.watched {
		w.notify()
	}
}

// age tells list watchers of sessions that have become stale.
func (x *index) age(ctx context.Context) {
	for sleep(ctx, 5*time.Second) == nil {
		x.mu.Lock()
		for id, r := range x.open {
			if r.stateNow(time.Now()) != "running" {
				delete(x.open, id)
				again := *r
				x.rows[id] = &again
				x.changed(&again)
			}
		}
		x.mu.Unlock()
	}
}

// list returns the rows, newest activity first; it must not be changed.
func (x *index) list() []*row {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ordered()
}

func (x *index) ordered() []*row {
	if x.sorted == nil {
		x.sorted = make([]*row, 0, len(x.rows))
		for _, r := range x.rows {
			x.sorted = append(x.sorted, r)
		}
		sort.Slice(x.sorted, func(i, j int) bool { return x.sorted[i].before(x.sorted[j]) })
	}
	return x.sorted
}

// before orders newest activity first, then by id.
func (r *row) before(o *row) bool {
	if !r.active.Equal(o.active) {
		return r.active.After(o.active)
	}
	return r.id < o.id
}

func (x *index) get(id string) *row {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rows[id]
}
