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
	"log/slog"
	"net"
	"net/http"

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
	cfg Config
	log *slog.Logger
}

// New makes a gateway; Run brings it to life.
func New(cfg Config) *Gateway {
	cfg.Limits = cfg.Limits.withDefaults()
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Gateway{cfg: cfg, log: log}
}

// Handler answers every route of the gateway.
func (g *Gateway) Handler() http.Handler { return http.NotFoundHandler() }

// Run watches the session index, serves the listener and keeps the hub until
// ctx ends; then it closes WebSockets with 1001, lets requests finish within
// Limits.Drain, and returns nil.
func (g *Gateway) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready is nil once the session index has been read and while the log answers.
func (g *Gateway) Ready() error { return nil }

// Queries answers what runtimes and importers ask.
func (g *Gateway) Queries() *Queries { return &Queries{g: g} }
