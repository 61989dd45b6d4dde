// Package projector keeps the present of every session: per slot it folds the
// event log and saves, fenced, each agent's head, the slot's checkpoint and the
// session index.
//
// One goroutine per slot, the worker, owns everything about its agents. It
// gets records from a reading goroutine, hands commits to a committing one and
// refolds to a refolding one, and waits for all three before it returns.
//
// What is saved never overtakes itself: a head carries the position of its
// fold; the checkpoint is below the first record of any agent that its saved
// head does not hold. So after a crash every record is folded again or skipped
// by the head that has it, and no order of commits can lose one.
package projector

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
)

// Deps are the ports a projector works with.
type Deps struct {
	Log     eventlog.Log
	Store   statestore.Store
	Members statestore.Members
	Logger  *slog.Logger // nil discards
}

// Config holds the settings; zero values take the defaults.
type Config struct {
	// Name of this process among the projectors, see slots.Config.
	Name   string
	Timing slots.Timing
	Limits Limits
}

// Limits bound what a worker holds and how often it saves.
type Limits struct {
	HeadEvents int           // a head is due after so many events (1,000)
	HeadAge    time.Duration // or when the first unsaved one is so old (2 s)
	HeadForce  time.Duration // however small its events, but not before (30 s)
	RowAge     time.Duration // a session's row is written at most so often (1 s)
	Idle       time.Duration // a saved agent without records for so long is let go (30 s)
	Agents     int           // saved agents held beyond this number are let go (2,000)
	Unsaved    int           // with so many unsaved agents reading waits (10,000)
	CommitSize int           // raw bytes of one commit, about (16 MiB)
	Stall      time.Duration // without progress for so long the slot is not ready (30 s)
}

func (l Limits) withDefaults() Limits {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	num := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	num(&l.HeadEvents, 1000)
	def(&l.HeadAge, 2*time.Second)
	def(&l.HeadForce, 30*time.Second)
	def(&l.RowAge, time.Second)
	def(&l.Idle, 30*time.Second)
	num(&l.Agents, 2000)
	num(&l.Unsaved, 10_000)
	num(&l.CommitSize, 16<<20)
	def(&l.Stall, 30*time.Second)
	return l
}

// Service is one projector.
type Service struct {
	deps   Deps
	limits Limits
	member *slots.Member

	mu      sync.Mutex // guards workers
	workers map[int]*worker
}

// New returns a projector that does nothing until Run.
func New(deps Deps, cfg Config) *Service {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{
		deps:   deps,
		limits: cfg.Limits.withDefaults(),
		member: slots.New(slots.Config{
			Role:    statestore.RoleProjector,
			Name:    cfg.Name,
			Slots:   deps.Log.Slots(),
			Store:   deps.Store,
			Members: deps.Members,
			Logger:  deps.Logger,
			Timing:  cfg.Timing,
		}),
		workers: map[int]*worker{},
	}
}

// Run takes slots and projects them until ctx ends; then it commits what is at
// hand, releases its slots and returns nil.
func (s *Service) Run(ctx context.Context) error {
	if err := s.member.Run(ctx, s.work); err != nil {
		return fmt.Errorf("run the projector: %w", err)
	}
	return nil
}

func (s *Service) work(ctx context.Context, slot *slots.Owned) error {
	w := newWorker(s, slot)
	s.mu.Lock()
	s.workers[slot.Slot()] = w
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.workers, slot.Slot())
		s.mu.Unlock()
	}()
	return w.run(ctx)
}

// Ready is nil when every slot assigned to this process is being projected: it
// is owned, and whatever its log or its commits had to do was done lately.
func (s *Service) Ready() error {
	if err := s.member.Ready(); err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if still := time.Since(time.Unix(0, w.moved.Load())); still > s.limits.Stall {
			return fmt.Errorf("projector: slot %d stands still for %v: is the state store or the event log out of reach?", w.slot, still.Round(time.Second))
		}
	}
	return nil
}

// SlotStatus is where one slot stands.
type SlotStatus struct {
	Slot     int
	Folded   uint64 // stream sequence of the last record folded
	Saved    uint64 // the checkpoint
	Pending  uint64 // records of the slot that are known to wait
	Agents   int    // in memory
	Sessions int    // in memory
}

// Status lists the slots of this process, by number, as of a moment ago.
func (s *Service) Status() []SlotStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]SlotStatus, 0, len(s.workers))
	for _, w := range s.workers {
		all = append(all, *w.status.Load())
	}
	slices.SortFunc(all, func(a, b SlotStatus) int { return a.Slot - b.Slot })
	return all
}
