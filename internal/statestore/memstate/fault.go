package memstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/stenohq/steno/internal/statestore"
)

// Fault is what goes wrong with one operation.
type Fault int

// The faults. Reads know None and Unavailable only.
const (
	None        Fault = iota
	Unavailable       // no leader: nothing is read or written
	Busy              // refused for now
	Conflict          // refused as if a revision had moved
	LostRequest       // ambiguous, not written
	LostAck           // ambiguous, written
	Late              // ambiguous, written when DeliverLate is called
)

// ErrUnavailable is what a read says without a leader.
var ErrUnavailable = errors.New("no leader")

// OpKind names an operation.
type OpKind int

// The operations.
const (
	OpGet OpKind = iota
	OpPut
	OpApply
	OpOutcome
	OpList
)

// Op is an operation about to be done.
type Op struct {
	Kind   OpKind
	Key    string // of Get, Put and List
	Commit statestore.Commit
}

// Inject decides what goes wrong. It is called with the store locked.
type Inject func(Op) Fault

// Observe sees every commit and put that is accepted, just before it is
// stored. It is called with the store locked.
type Observe func(statestore.Commit)

// Inject sets the faults; nil means none.
func (s *Store) Inject(f Inject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inject = f
}

// Observe sets the observer.
func (s *Store) Observe(f Observe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe = f
}

// DeliverLate delivers the commits that a Late fault kept back, oldest first,
// and tells how many were accepted.
func (s *Store) DeliverLate() (accepted, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.late {
		if _, err := s.apply(c); err != nil {
			refused++
		} else {
			accepted++
		}
	}
	s.late = nil
	return accepted, refused
}

func (s *Store) fault(op Op) Fault {
	if s.inject == nil {
		return None
	}
	return s.inject(op)
}

// fail is the fault of a read.
func (s *Store) fail(ctx context.Context, op Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.fault(op) != None {
		return ErrUnavailable
	}
	return nil
}

// attempt applies a commit unless a fault prevents it.
func (s *Store) attempt(ctx context.Context, op Op, c statestore.Commit, revs *[]statestore.Rev) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", statestore.ErrAmbiguous, err)
	}
	switch s.fault(op) {
	case Unavailable, Busy:
		return statestore.ErrBusy
	case Conflict:
		return statestore.ErrConflict
	case LostRequest:
		return statestore.ErrAmbiguous
	case Late:
		s.late = append(s.late, copyOf(c))
		return statestore.ErrAmbiguous
	case LostAck:
		if _, err := s.apply(c); err != nil {
			return fmt.Errorf("%w, and in truth: %s", statestore.ErrAmbiguous, err.Error())
		}
		return statestore.ErrAmbiguous
	case None:
	}
	var err error
	*revs, err = s.apply(c)
	return err
}

func copyOf(c statestore.Commit) statestore.Commit {
	c.Fences = append([]statestore.Fence(nil), c.Fences...)
	c.Writes = append([]statestore.Write(nil), c.Writes...)
	for i := range c.Writes {
		c.Writes[i].Value = clone(c.Writes[i].Value)
	}
	return c
}
