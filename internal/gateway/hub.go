package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stenohq/steno/pkg/events"
)

// hub holds the sessions somebody watches. The first watcher brings one in;
// it leaves some time after the last one has gone.
type hub struct {
	src *source
	log *slog.Logger

	mu       sync.Mutex // guards what follows, and refs, since and stop of sessions
	ctx      context.Context
	sessions map[events.SessionID]*session
	wg       sync.WaitGroup
}

func newHub(src *source, log *slog.Logger) *hub {
	return &hub{src: src, log: log, sessions: map[events.SessionID]*session{}}
}

// run lets sessions be acquired until ctx ends, unloads those nobody watches,
// and returns when all of them have stopped.
func (h *hub) run(ctx context.Context) {
	h.mu.Lock()
	h.ctx = ctx
	h.mu.Unlock()
	tick := time.NewTicker(max(h.src.limits.Grace/4, 10*time.Millisecond))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			h.unload()
		}
	}
	h.mu.Lock()
	h.ctx = nil
	clear(h.sessions)
	h.mu.Unlock()
	h.wg.Wait()
}

// acquire returns the session, bringing it in if need be; it may not be loaded
// yet. The caller calls release once.
func (h *hub) acquire(id events.SessionID) (*session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[id]; s != nil {
		s.refs++
		return s, nil
	}
	if h.ctx == nil {
		return nil, unavailable("the gateway is starting or stopping; try again in a moment")
	}
	ctx, cancel := context.WithCancel(h.ctx)
	s := &session{
		id: id, src: h.src, log: h.log, refs: 1, stop: cancel,
		ready: make(chan struct{}), watchers: map[*watch]struct{}{},
	}
	s.view.Store(&view{})
	h.sessions[id] = s
	h.wg.Go(func() { s.run(ctx) })
	return s, nil
}

func (h *hub) release(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.refs--
	s.since = time.Now()
}

// loaded acquires a session and waits until it has been read to the leader's
// end. The caller calls release once when the error is nil.
func (h *hub) loaded(ctx context.Context, id events.SessionID) (*session, error) {
	s, err := h.acquire(id) //nolint:contextcheck // a session outlives who brings it in
	if err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		h.release(s)
		return nil, err
	}
	return s, nil
}

// wait waits until the session is loaded, at most Limits.CatchUp.
func (s *session) wait(ctx context.Context) error {
	limit := time.NewTimer(s.src.limits.CatchUp)
	defer limit.Stop()
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit.C:
		return unavailable("session " + string(s.id) + " is still being read; try again in a moment")
	}
}

// peek returns the session when it is held and loaded, without acquiring it.
func (h *hub) peek(id events.SessionID) *session {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.ready:
		return s
	default:
		return nil
	}
}

func (h *hub) unload() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.sessions {
		if s.refs == 0 && time.Since(s.since) > h.src.limits.Grace {
			s.stop()
			delete(h.sessions, id)
		}
	}
}
