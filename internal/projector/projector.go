// Package projector keeps the present of every session: per slot it folds the
// event log and saves, fenced, each agent's head, the slot's checkpoint and the
// session index.
package projector

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
)

// Deps are the ports and helpers a projector works with.
type Deps struct {
	Log     eventlog.Log
	Store   statestore.Store
	Members statestore.Members
	Logger  *slog.Logger
}

// Config holds the settings; zero values take the defaults.
type Config struct {
	// Name of this process among the projectors, see slots.Config.
	Name   string
	Timing slots.Timing
}

// Service is one projector.
type Service struct {
	deps Deps
	cfg  Config
}

// New returns a projector that does nothing until Run.
func New(deps Deps, cfg Config) *Service { return &Service{deps: deps, cfg: cfg} }

// Run takes slots and projects them until ctx ends; then it commits what is at
// hand, releases its slots and returns nil.
func (s *Service) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Ready is nil when every slot assigned to this process is being projected.
func (s *Service) Ready() error { return errors.ErrUnsupported }
