// Package slots shares the slots of a role out among the live members and lets
// the owner of a slot write state that nobody else can overwrite: membership,
// assignment, terms and the fenced commit.
//
// A Member is one process of one role. Run takes slots and starts the given
// function for each slot it owns, in its own goroutine; the function reads the
// slot's log behind Owned.Checkpoint and saves what it made of it with
// Owned.Commit, until its context ends (the slot is lost: anything it still
// writes is refused) or Owned.Draining is closed (the slot is to be handed
// over: commit what is at hand and return).
package slots

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stenohq/steno/internal/statestore"
)

// Errors of a commit and causes of an ended slot context.
var (
	// ErrLost: another member owns the slot. Nothing of this commit was
	// written.
	ErrLost = errors.New("slot is owned by another member")
	// ErrMoved: a key of this group was changed by somebody else, so the group
	// was left out. Load the keys again.
	ErrMoved = errors.New("key was changed by somebody else")
)

// Config describes a member. Zero durations take the defaults.
type Config struct {
	Role string // statestore.RoleProjector, …
	// Name tells this process from all others that may be alive: [A-Za-z0-9_-]+.
	// Where a lock makes sure that there is one process only, a constant name
	// lets it take its slots back at once after a crash.
	Name    string
	Slots   int
	Store   statestore.Store
	Members statestore.Members
	Logger  *slog.Logger
	Timing  Timing
}

// Timing holds the protocol's intervals.
type Timing struct {
	Beat     time.Duration // heartbeat (1.5 s)
	Late     time.Duration // without a heartbeat for so long commits pause (4.5 s)
	Named    time.Duration // assigned for so long a live member's slot is taken (5 s)
	HandOver time.Duration // assigned elsewhere for so long a slot is handed over (2 s)
	Settle   time.Duration // nothing is taken so soon after the members came back (10 s)
	Drain    time.Duration // how long a draining slot may commit (10 s)
	Attempt  time.Duration // one request to the store (5 s)
	Retry    time.Duration // the longest pause between two attempts (1 s)
}

// Checkpoint is how far a slot is saved: everything of the stream up to and
// including StreamSeq.
type Checkpoint struct {
	Stream    string
	Created   time.Time // of the stream; zero when there is no checkpoint yet
	StreamSeq uint64
	// FoldVersion is the lowest fold version among the slot's heads (projector).
	FoldVersion int
}

// Group is a set of writes that stay together in one batch: the keys of one
// agent. Each Write expects the revision that was read or written last.
type Group struct {
	Writes []statestore.Write
}

// Result is what became of a group: the new revision of each write in order,
// or an error that wraps ErrMoved or statestore.ErrTooLarge.
type Result struct {
	Revs []statestore.Rev
	Err  error
}

// Work is what a service does with a slot it owns. An error is reported and
// the slot given up; it is taken again later.
type Work func(ctx context.Context, slot *Owned) error
