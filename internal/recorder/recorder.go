// Package recorder writes the archive: per slot it reads the event log and
// keeps every stored message, once and in order, in the file of its agent.
// Package wirelog is the file format; README.md there says what survives what.
//
// For each slot it owns one goroutine reads and another writes. The writer
// numbers the messages, makes them durable together with those of all other
// slots, and about once a second saves, fenced, how far each agent's file and
// the slot have come. A file may be ahead of what was saved: a message that is
// in it already is compared, not written again.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
)

// Deps are the ports a recorder works with.
type Deps struct {
	Log     eventlog.Log
	Store   statestore.Store
	Members statestore.Members
	Logger  *slog.Logger // nil discards
}

// Config holds the settings; zero values take the defaults.
type Config struct {
	// Dir is the data directory. Its files lie in Dir/sessions, and one
	// recorder at a time may use it.
	Dir string
	// Open replaces opening Dir, for tests.
	Open func() (*wirelog.Dir, error)
	// TopologyID is the id of the topology, part of every epoch.
	TopologyID string
	// Name of this process among the recorders, see slots.Config. By default
	// it is the data directory's own id: its lock makes sure that there is one.
	Name   string
	Timing slots.Timing
	Files  wirelog.Options

	// OnDurable, when set, is told of each batch that has become durable: how
	// many records, and when the oldest of them was stored. It is called by
	// several goroutines.
	OnDurable func(records int, oldest time.Time)

	// Save is the interval of the fenced commits (1 s).
	Save time.Duration
	// MaxAgents bounds the agents kept in memory for one slot (4,096).
	MaxAgents int
	// Stalled is how long a slot may stand still with messages waiting before
	// Ready says so (10 s).
	Stalled time.Duration
}

func (c Config) withDefaults() Config {
	if c.Open == nil {
		dir, opts := c.Dir, c.Files
		c.Open = func() (*wirelog.Dir, error) { return wirelog.OpenDir(dir, opts) }
	}
	if c.Save <= 0 {
		c.Save = time.Second
	}
	if c.MaxAgents <= 0 {
		c.MaxAgents = 4096
	}
	if c.Stalled <= 0 {
		c.Stalled = 10 * time.Second
	}
	return c
}

// Service is one recorder.
type Service struct {
	deps Deps
	cfg  Config
	log  *slog.Logger

	status status
	mu     sync.Mutex
	member *slots.Member // set while Run runs
	dir    *wirelog.Dir
}

// New returns a recorder that does nothing until Run.
func New(deps Deps, cfg Config) *Service {
	log := deps.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Service{deps: deps, cfg: cfg.withDefaults(), log: log}
}

// Run takes slots and records them until ctx ends; then it makes what is at
// hand durable, commits, releases its slots and returns nil. Errors of the log,
// the store and the disk are reported by Ready and tried again for ever; an
// error is returned when the data directory cannot be opened or is in use
// (wirelog.ErrLocked), or the configuration is wrong.
func (s *Service) Run(ctx context.Context) error {
	dir, err := s.cfg.Open()
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	name := s.cfg.Name
	if name == "" {
		name = dir.ID()
	}
	member := slots.New(slots.Config{
		Role: statestore.RoleRecorder, Name: name, Slots: s.deps.Log.Slots(),
		Store: s.deps.Store, Members: s.deps.Members, Logger: s.log, Timing: s.cfg.Timing,
	})
	s.mu.Lock()
	s.member, s.dir = member, dir
	s.mu.Unlock()
	err = member.Run(ctx, func(ctx context.Context, o *slots.Owned) error {
		return s.record(ctx, o)
	})
	s.mu.Lock()
	s.member = nil
	s.mu.Unlock()
	return errors.Join(err, dir.Close())
}

// Ready is nil when every slot assigned to this process is being recorded and
// what is stored becomes durable.
func (s *Service) Ready() error {
	s.mu.Lock()
	member := s.member
	s.mu.Unlock()
	if member == nil {
		return errors.New("recorder is not running")
	}
	if err := member.Ready(); err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	return s.status.ready(s.deps.Log.Slots(), s.cfg.Stalled)
}
