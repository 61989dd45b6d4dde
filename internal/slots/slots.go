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
//
// # Why this is safe
//
// A slot's term is the stream sequence of its term key. It only rises, and
// every commit proves it in the same atomic batch, so a member that lost its
// slot, however late it notices, is refused whole. Every key of a commit also
// expects the revision its owner read or wrote last, so an owner's own batch
// that arrives late is refused as well. A member has one batch under way; when
// its answer is lost the member sends nothing else until it knows what became
// of it. Heartbeats and assignment only decide who tries; they prove nothing.
package slots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
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
	// ErrStopped: the member has stopped, or the slot did not drain in time.
	// A commit under way then may be written or not.
	ErrStopped = errors.New("member has stopped")
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
	Logger  *slog.Logger // nil discards
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
	HoldOff  time.Duration // a slot whose work failed is not taken for so long (5 s)
}

var memberName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (c Config) withDefaults() (Config, error) {
	if c.Role == "" || c.Slots < 1 || c.Store == nil || c.Members == nil {
		return c, errors.New("a member needs a role, slots, a store and members")
	}
	if !memberName.MatchString(c.Name) {
		return c, fmt.Errorf("member name %q: want letters, digits, _ and -", c.Name)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	t := &c.Timing
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Beat, 1500 * time.Millisecond},
		{&t.Late, 4500 * time.Millisecond},
		{&t.Named, 5 * time.Second},
		{&t.HandOver, 2 * time.Second},
		{&t.Settle, 10 * time.Second},
		{&t.Drain, 10 * time.Second},
		{&t.Attempt, 5 * time.Second},
		{&t.Retry, time.Second},
		{&t.HoldOff, 5 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c, nil
}

// Work is what a service does with a slot it owns. An error is reported and
// the slot given up; it is taken again later.
type Work func(ctx context.Context, slot *Owned) error
