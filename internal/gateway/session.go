package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
)

// session is everything the hub holds of one watched session. run reads the
// live subscription; anybody may read the published views.
type session struct {
	id  events.SessionID
	src *source
	log *slog.Logger

	ready chan struct{} // closed when the first load is done
	epoch string        // set before ready is closed

	view atomic.Pointer[view] // the feeds and the roster

	mu       sync.Mutex // guards what follows and the making of views
	watchers map[*watch]struct{}

	opening sync.Mutex // held while a feed is made

	// Guarded by the hub's mutex.
	refs  int
	since time.Time // when refs became 0
	stop  context.CancelFunc
}

// run keeps the session until ctx ends. When reading breaks it begins again
// with what it has; the feeds close the gap by themselves.
func (s *session) run(ctx context.Context) {
	pause := 50 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := s.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("session_reading_broke", "session", s.id, "error", err)
		if time.Since(began) > 10*time.Second {
			pause = 50 * time.Millisecond
		}
		_ = sleep(ctx, pause)
		pause = min(2*pause, 2*time.Second)
	}
}

// follow subscribes first and loads afterwards, so that what is stored in
// between is seen by the one or the other; the feeds drop what they have seen.
func (s *session) follow(ctx context.Context) error {
	tail, err := s.src.log.Live(ctx, s.id)
	if err != nil {
		return err
	}
	defer tail.Close()
	if err := s.load(ctx); err != nil {
		return err
	}
	check := newIdleCheck(s.src.limits.IdleCheck)
	var buf []eventlog.Record
	for {
		wait, cancel := context.WithTimeout(ctx, check.wait())
		buf, err = tail.Next(wait, buf[:0], rangeLimit)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		if err := s.accept(ctx, buf); err != nil {
			return err
		}
		clear(buf)
		if err := check.run(ctx, s); err != nil {
			return err
		}
	}
}

// accept hands live records to their feeds, in runs of one agent.
func (s *session) accept(ctx context.Context, recs []eventlog.Record) error {
	for len(recs) > 0 {
		n := 1
		for n < len(recs) && recs[n].Agent == recs[0].Agent {
			n++
		}
		f, err := s.open(ctx, recs[0].Agent)
		if err != nil {
			return err
		}
		if err := f.accept(ctx, recs[:n]); err != nil {
			return err
		}
		recs = recs[n:]
	}
	return nil
}

// load opens a feed for every agent known anywhere and reads it to the
// leader's end. The first time it also learns the epoch and opens ready.
func (s *session) load(ctx context.Context) error {
	if s.epoch == "" {
		epoch, err := s.src.epoch(ctx, s.id)
		if err != nil {
			return err
		}
		s.epoch = epoch
	}
	if err := s.discover(ctx, true); err != nil {
		return err
	}
	select {
	case <-s.ready:
	default:
		close(s.ready)
		s.wakeAll()
	}
	return nil
}

// discover opens the feeds of agents that are new; with all set it also brings
// the known ones to the leader's end.
func (s *session) discover(ctx context.Context, all bool) error {
	agents, err := s.agents(ctx)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if f := s.current().feed(a); f != nil && !all {
			continue
		}
		f, err := s.open(ctx, a)
		if err != nil {
			return err
		}
		if _, err := f.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// agents lists the session's agents from the stream, the heads and the
// archive: after a trim only the latter two may know one.
func (s *session) agents(ctx context.Context) ([]events.AgentID, error) {
	found := map[events.AgentID]bool{}
	stored, err := s.src.log.Agents(ctx, s.id)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		return nil, err
	}
	for _, a := range stored {
		found[a] = true
	}
	heads, err := s.src.headAgents(ctx, s.id)
	if err != nil {
		return nil, err
	}
	for _, a := range heads {
		found[a] = true
	}
	if s.src.archive != nil {
		kept, err := s.src.archive.Agents(ctx, s.id)
		if err != nil && !errors.Is(err, archive.ErrNotFound) {
			return nil, err
		}
		for _, a := range kept {
			found[a] = true
		}
	}
	list := make([]events.AgentID, 0, len(found))
	for a := range found {
		list = append(list, a)
	}
	slices.Sort(list)
	return list, nil
}

func (src *source) headAgents(ctx context.Context, s events.SessionID) ([]events.AgentID, error) {
	prefix := statestore.AgentKey(statestore.PrefixHead, s.Slot(src.log.Slots()), s.Token(), "")
	prefix = strings.TrimSuffix(prefix, ".")
	var list []events.AgentID
	for e, err := range src.state.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		tok := strings.TrimPrefix(e.Key, prefix+".")
		if a, err := events.ParseAgentToken(tok); err == nil {
			list = append(list, a)
		}
	}
	return list, nil
}

// open returns the feed of an agent, making it if need be.
func (s *session) open(ctx context.Context, a events.AgentID) (*feed, error) {
	if f := s.current().feed(a); f != nil {
		return f, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if f := s.current().feed(a); f != nil {
		return f, nil
	}
	f, err := openFeed(ctx, s.src, s.id, a, newEncoder(s.id, a, s.epoch), nil)
	if err != nil {
		return nil, err
	}
	f.wake = func() { s.advanced(f) }
	s.mu.Lock()
	s.view.Store(s.current().with(f))
	s.mu.Unlock()
	s.wakeAll()
	return f, nil
}

// find returns the feed of an agent, or nil when neither the stream's leader
// nor the heads know it. Only a loaded session is asked.
func (s *session) find(ctx context.Context, a events.AgentID) (*feed, error) {
	if f := s.current().feed(a); f != nil {
		return f, nil
	}
	_, err := s.src.log.Last(ctx, s.id, a)
	if errors.Is(err, eventlog.ErrNotFound) {
		err = s.src.headOf(ctx, s.id, a)
		if errors.Is(err, statestore.ErrNotFound) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	f, err := s.open(ctx, a)
	if err != nil {
		return nil, err
	}
	_, err = f.catchUp(ctx)
	return f, err
}

// headOf tells by its error whether the agent has a head.
func (src *source) headOf(ctx context.Context, s events.SessionID, a events.AgentID) error {
	_, err := src.state.Get(ctx, headKey(src, s, a))
	return err
}

func headKey(src *source, s events.SessionID, a events.AgentID) string {
	return statestore.AgentKey(statestore.PrefixHead, s.Slot(src.log.Slots()), s.Token(), a.Token())
}

// refresh looks for agents that have come since the session was loaded.
func (s *session) refresh(ctx context.Context) error { return s.discover(ctx, false) }

// end is the epoch and the end of the main agent's log as far as it is known.
func (s *session) end() protocol.SessionCursor {
	p := protocol.SessionCursor{Epoch: s.epoch}
	if f := s.current().feed(events.MainAgent); f != nil {
		p.Seq, _ = f.position()
	}
	return p
}

func (s *session) current() *view { return s.view.Load() }

// advanced is called when a feed has moved.
func (s *session) advanced(f *feed) {
	if f.rosterChanged() {
		s.mu.Lock()
		s.view.Store(s.current().with(nil))
		s.mu.Unlock()
	}
	s.wakeAll()
}

func (s *session) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.wake()
	}
}

func (s *session) attach(w *watch) {
	s.mu.Lock()
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
}

func (s *session) detach(w *watch) {
	s.mu.Lock()
	delete(s.watchers, w)
	s.mu.Unlock()
}
