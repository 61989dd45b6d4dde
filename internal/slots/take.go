package slots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stenohq/steno/internal/statestore"
)

// takable marks the slots that this member may try to take as being taken.
func (m *Member) takable(base context.Context) []*Owned {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.beaten.IsZero() || now.Sub(m.beaten) > m.cfg.Timing.Late || now.Before(m.settled) {
		return nil
	}
	var all []*Owned
	for slot := range m.named {
		if m.slots[slot] != nil || now.Before(m.failed[slot].until) {
			continue
		}
		o := m.newOwned(base, slot)
		m.slots[slot] = o
		all = append(all, o)
	}
	return all
}

// serve takes a slot, does the work and releases it.
func (m *Member) serve(base context.Context, o *Owned, work Work) {
	err := m.take(o)
	if err == nil {
		m.cfg.Logger.Info("slot taken", "role", m.cfg.Role, "slot", o.slot, "term", o.term, "stream_seq", o.ckpt.StreamSeq)
		err = o.verdict(o.do(work))
		m.release(base, o, err)
	}
	m.finish(o, err)
}

func (o *Owned) do(work Work) error { return work(o.ctx, o) }

// verdict says why the work ended: nil after a hand-over.
func (o *Owned) verdict(err error) error {
	if cause := o.cause(); cause != nil {
		return cause
	}
	if err == nil && !isClosed(o.draining) {
		return errors.New("the work ended by itself")
	}
	return err
}

// errNotYet: the slot is another member's for now.
var errNotYet = errors.New("slot is not to be taken yet")

// finish forgets the slot and notes why it ended.
func (m *Member) finish(o *Owned, err error) {
	o.end(ErrStopped)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.slots, o.slot)
	delete(m.away, o.slot)
	log := m.cfg.Logger.With("role", m.cfg.Role, "slot", o.slot, "term", o.term)
	switch {
	case errors.Is(err, errNotYet):
	case err == nil:
		log.Info("slot handed over")
	case errors.Is(err, ErrLost):
		m.failed[o.slot] = failure{err: err}
		log.Warn("slot lost", "error", err)
	default:
		m.failed[o.slot] = failure{err: err, until: time.Now().Add(m.cfg.Timing.HoldOff)}
		log.Error("slot given up", "error", err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// take writes the slot's term and reads its checkpoint, or returns errNotYet.
func (m *Member) take(o *Owned) error {
	key := statestore.TermKey(m.cfg.Role, o.slot)
	entry, err := m.get(o.ctx, key)
	if err != nil {
		return err
	}
	if err := m.mayTake(o.slot, entry); err != nil {
		return err
	}
	nonce := uuid.NewString()
	value, err := json.Marshal(termRecord{Holder: m.cfg.Name, Nonce: nonce})
	if err != nil {
		return fmt.Errorf("encode the term: %w", err)
	}
	rev, err := m.putTerm(o.ctx, statestore.Write{Key: key, Value: value, Expect: entry.Rev}, nonce)
	if err != nil {
		return err
	}
	ckptKey := statestore.CheckpointKey(m.cfg.Role, o.slot)
	saved, err := m.get(o.ctx, ckptKey)
	if err != nil {
		return err
	}
	var ckpt Checkpoint
	if saved.Value != nil {
		if ckpt, err = DecodeCheckpoint(saved.Value); err != nil {
			return fmt.Errorf("%s: %w", ckptKey, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o.ckpt, o.ckptRev, o.term = ckpt, saved.Rev, rev[0]
	delete(m.failed, o.slot)
	return nil
}

// mayTake judges the slot's term.
func (m *Member) mayTake(slot int, entry statestore.Entry) error {
	if entry.Value == nil {
		return nil // never taken
	}
	var term termRecord
	if err := json.Unmarshal(entry.Value, &term); err != nil {
		return fmt.Errorf("%s: decode the term: %w", entry.Key, err)
	}
	// A holder of this member's name is this member before a restart, or in a
	// take whose answer was lost.
	if term.Released || term.Holder == m.cfg.Name {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	since, mine := m.named[slot]
	if mine && (!slices.Contains(m.live, term.Holder) || time.Since(since) >= m.cfg.Timing.Named) {
		return nil
	}
	return errNotYet
}

// putTerm writes a term until its outcome is certain: the nonce tells whether
// an attempt whose answer was lost arrived.
func (m *Member) putTerm(ctx context.Context, w statestore.Write, nonce string) (statestore.Rev, error) {
	for pause := m.newPause(); ; pause.wait(ctx) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		rev, err := m.attemptPut(ctx, w)
		if err == nil {
			return rev, nil
		}
		if !errors.Is(err, statestore.ErrAmbiguous) && !errors.Is(err, statestore.ErrBusy) && !errors.Is(err, statestore.ErrConflict) {
			return nil, err
		}
		entry, err := m.get(ctx, w.Key)
		if err != nil {
			return nil, err
		}
		var now termRecord
		if entry.Value != nil && json.Unmarshal(entry.Value, &now) == nil && now.Nonce == nonce && slices.Equal(w.Value, entry.Value) {
			return entry.Rev, nil
		}
		if !slices.Equal(entry.Rev, w.Expect) {
			return nil, errNotYet // somebody else was faster
		}
	}
}

func (m *Member) attemptPut(ctx context.Context, w statestore.Write) (statestore.Rev, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timing.Attempt)
	defer cancel()
	return m.cfg.Store.Put(ctx, w)
}

// release writes that the slot is free, unless it is lost. It also refuses
// whatever of this ownership is still under way.
func (m *Member) release(base context.Context, o *Owned, verdict error) {
	if errors.Is(verdict, ErrLost) {
		return
	}
	ctx, cancel := context.WithTimeout(base, m.cfg.Timing.Attempt)
	defer cancel()
	nonce := uuid.NewString()
	value, err := json.Marshal(termRecord{Holder: m.cfg.Name, Nonce: nonce, Released: true})
	if err == nil {
		key := statestore.TermKey(m.cfg.Role, o.slot)
		_, err = m.putTerm(ctx, statestore.Write{Key: key, Value: value, Expect: statestore.Rev{o.term}}, nonce)
	}
	if err != nil && !errors.Is(err, errNotYet) {
		m.cfg.Logger.Warn("release the slot", "role", m.cfg.Role, "slot", o.slot, "error", err)
	}
}

// get reads a key until the leader answers. An absent key is an entry without
// a value.
func (m *Member) get(ctx context.Context, key string) (statestore.Entry, error) {
	for pause := m.newPause(); ; pause.wait(ctx) {
		if ctx.Err() != nil {
			return statestore.Entry{}, context.Cause(ctx)
		}
		attempt, cancel := context.WithTimeout(ctx, m.cfg.Timing.Attempt)
		entry, err := m.cfg.Store.Get(attempt, key)
		cancel()
		if err == nil {
			return entry, nil
		}
		if errors.Is(err, statestore.ErrNotFound) {
			entry.Value = nil
			return entry, nil
		}
		m.cfg.Logger.Warn("read the state", "key", key, "error", err)
	}
}
