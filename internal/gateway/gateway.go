// Package gateway serves sessions to dashboards and programs: REST, WebSocket
// and server-sent events over the folds of the agent logs it watches. It holds
// no state of its own: what it serves is re-made from the event log, the heads
// in the state store and, where there is one, the archive.
//
// A session somebody watches is held by the hub: one live subscription, one
// feed per agent. A feed is a fold plus a ring of its newest batches; every
// connection is a cursor into the rings, so that no client has a queue that
// could grow and none can hold up another.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
)

// Config is what a gateway is made of.
type Config struct {
	Log        eventlog.Log
	State      statestore.Store
	Archive    archive.Reader // nil: history is re-made from the stream alone
	TopologyID string         // the id of key `topology`; part of every epoch

	// Listener is served by Run, which closes it; nil: the caller serves
	// Handler itself and must stop serving it before Run returns.
	Listener net.Listener
	// Page serves `/` and what lies below it; nil: 404.
	Page http.Handler
	// Origins lists further hosts (path.Match patterns) whose pages may open a
	// WebSocket; the gateway's own host always may.
	Origins []string
	// Limits that are zero take the value of DefaultLimits.
	Limits Limits
	// Logger is nil for none.
	Logger *slog.Logger
}

// Gateway is the service. Its methods may be called concurrently.
type Gateway struct {
	cfg       Config
	log       *slog.Logger
	hub       *hub
	index     *index
	histories histories
	queries   *Queries
	foreign   *http.CrossOriginProtection
	routes    map[string]map[string]handler

	mu          sync.Mutex // guards what follows
	life        context.Context
	unwell      error // what the log said when it was asked last
	ending      bool
	connections int            // WebSockets and event streams
	guests      sync.WaitGroup // the same
}

// errStopping is why long-lived answers end when Run does.
var errStopping = errors.New("gateway is stopping")

// New makes a gateway; Run brings it to life.
func New(cfg Config) *Gateway {
	cfg.Limits = cfg.Limits.withDefaults()
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	src := &source{
		log: cfg.Log, state: cfg.State, archive: cfg.Archive,
		topology: cfg.TopologyID, limits: cfg.Limits, refolds: make(chan struct{}, maxRefolds),
	}
	g := &Gateway{cfg: cfg, log: log, hub: newHub(src, log), index: newIndex(cfg.State, log), routes: routes(), foreign: http.NewCrossOriginProtection()}
	g.histories.keep, g.histories.bytes = cfg.Limits.HistoryTimeout, cfg.Limits.HistoryBytes
	g.queries = newQueries(g.hub, src)
	return g
}

// Handler answers every route of the gateway.
func (g *Gateway) Handler() http.Handler { return g }

// Queries answers what runtimes and importers ask.
func (g *Gateway) Queries() *Queries { return g.queries }

// Ready is nil while Run is running, the session index has been read, and the
// log answers.
func (g *Gateway) Ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.life == nil:
		return errors.New("the gateway is not running")
	case g.ending:
		return errStopping
	case !g.index.caught.Load():
		return errors.New("the session list has not been read yet")
	}
	return g.unwell
}

// pulse asks the log every now and then whether it answers, until ctx ends.
func (g *Gateway) pulse(ctx context.Context) {
	for sleep(ctx, g.cfg.Limits.IdleCheck) == nil {
		ask, cancel := context.WithTimeout(ctx, g.cfg.Limits.CatchUp)
		_, err := g.cfg.Log.Bounds(ask, 0)
		cancel()
		if err != nil {
			err = fmt.Errorf("the event log does not answer: %w", err)
		}
		g.mu.Lock()
		g.unwell = err
		g.mu.Unlock()
	}
}

// Run watches the session index, serves the listener and keeps the hub until
// ctx ends; then it closes WebSockets with 1001, lets requests finish within
// Limits.Drain, and returns nil. It returns an error only when the listener
// breaks. A gateway runs once.
func (g *Gateway) Run(ctx context.Context) error {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var parts sync.WaitGroup
	parts.Go(func() { g.hub.run(work) })
	parts.Go(func() { g.index.run(work) })
	parts.Go(func() { g.histories.expire(work) })
	parts.Go(func() { g.pulse(work) })
	g.mu.Lock()
	g.life = life
	g.mu.Unlock()

	err := g.listen(ctx)

	// Two steps: long-lived answers are told to end while the hub still
	// serves them, then everything else stops.
	g.mu.Lock()
	g.ending = true
	g.mu.Unlock()
	end(errStopping)
	g.guests.Wait()
	stop()
	parts.Wait()
	return err
}

// listen serves until ctx ends and requests have finished.
func (g *Gateway) listen(ctx context.Context) error {
	if g.cfg.Listener == nil {
		<-ctx.Done()
		return nil
	}
	srv := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(g.cfg.Listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", g.cfg.Listener.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Limits.Drain)
	defer cancel()
	// Event streams count as requests: they end because life, a child of ctx,
	// has ended. WebSockets are none of the server's.
	if err := srv.Shutdown(drain); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		g.log.Warn("listener_broke_while_stopping", "error", err)
	}
	return nil
}

// enter counts a long-lived answer in. Its life ends, with errStopping, before
// Run returns; the answer calls done when it has ended.
func (g *Gateway) enter() (life context.Context, done func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life == nil || g.ending {
		return nil, nil, false
	}
	g.connections++
	g.guests.Add(1)
	return g.life, g.leave, true
}

func (g *Gateway) leave() {
	g.mu.Lock()
	g.connections--
	g.mu.Unlock()
	g.guests.Done()
}
