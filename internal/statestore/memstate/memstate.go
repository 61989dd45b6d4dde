// Package memstate keeps the state in memory with the semantics of kvstate,
// and fails when it is told to.
package memstate

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/stenohq/steno/internal/statestore"
)

// Store is an in-memory state bucket. Every key is one message.
type Store struct {
	mu      sync.Mutex // guards all below
	seq     uint64
	keys    map[string]message
	changed chan struct{} // closed and replaced with every change
	inject  Inject
	observe Observe
	late    []statestore.Commit
}

type message struct {
	value   []byte // nil: a deletion
	seq     uint64
	deleted bool
}

var _ statestore.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{keys: map[string]message{}, changed: make(chan struct{})}
}

// Get reads a key.
func (s *Store) Get(ctx context.Context, key string) (statestore.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail(ctx, Op{Kind: OpGet, Key: key}); err != nil {
		return statestore.Entry{Key: key}, fmt.Errorf("get %s: %w", key, err)
	}
	return s.get(key)
}

func (s *Store) get(key string) (statestore.Entry, error) {
	m, ok := s.keys[key]
	entry := statestore.Entry{Key: key, Rev: m.rev()}
	if !ok || m.deleted {
		return entry, fmt.Errorf("get %s: %w", key, statestore.ErrNotFound)
	}
	entry.Value = clone(m.value)
	return entry, nil
}

func (m message) rev() statestore.Rev {
	if m.seq == 0 {
		return nil
	}
	return statestore.Rev{m.seq}
}

// Put writes one key without a fence.
func (s *Store) Put(ctx context.Context, w statestore.Write) (statestore.Rev, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var revs []statestore.Rev
	err := s.attempt(ctx, Op{Kind: OpPut, Key: w.Key}, statestore.Commit{Writes: []statestore.Write{w}}, &revs)
	if err != nil {
		return nil, fmt.Errorf("put %s: %w", w.Key, err)
	}
	return revs[0], nil
}

// Apply writes a commit whole or not at all.
func (s *Store) Apply(ctx context.Context, c statestore.Commit) ([]statestore.Rev, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var revs []statestore.Rev
	if err := s.attempt(ctx, Op{Kind: OpApply, Commit: c}, c, &revs); err != nil {
		return nil, fmt.Errorf("apply commit %s: %w", c.ID, err)
	}
	return revs, nil
}

// apply checks everything before it stores anything.
func (s *Store) apply(c statestore.Commit) ([]statestore.Rev, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	for _, f := range c.Fences {
		if s.keys[statestore.TermKey(f.Role, f.Slot)].seq != f.Term {
			return nil, fmt.Errorf("%w: %s slot %d", statestore.ErrFenced, f.Role, f.Slot)
		}
	}
	for _, w := range c.Writes {
		if rev := s.keys[w.Key].rev(); !slices.Equal(rev, w.Expect) {
			return nil, fmt.Errorf("%w: %s is at %v, not %v", statestore.ErrConflict, w.Key, rev, w.Expect)
		}
	}
	if s.observe != nil {
		s.observe(c)
	}
	for _, f := range c.Fences {
		s.store(statestore.OwnKey(f.Role, f.Slot), []byte(c.ID))
	}
	revs := make([]statestore.Rev, len(c.Writes))
	for i, w := range c.Writes {
		revs[i] = s.store(w.Key, w.Value)
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return revs, nil
}

func (s *Store) store(key string, value []byte) statestore.Rev {
	s.seq++
	s.keys[key] = message{value: clone(value), seq: s.seq, deleted: value == nil}
	return statestore.Rev{s.seq}
}

func check(c statestore.Commit) error {
	keys := make(map[string]bool, len(c.Fences)+len(c.Writes))
	total := 0
	add := func(key string, n int) error {
		if keys[key] {
			return fmt.Errorf("it writes %s twice", key)
		}
		keys[key] = true
		total += n + len(key)
		return nil
	}
	for _, f := range c.Fences {
		if err := add(statestore.OwnKey(f.Role, f.Slot), len(c.ID)); err != nil {
			return err
		}
	}
	for _, w := range c.Writes {
		if err := add(w.Key, len(w.Value)); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("it is empty")
	}
	if total > statestore.MaxBytes || len(keys) > statestore.MaxMessages {
		return fmt.Errorf("%w: %d messages, %d bytes", statestore.ErrTooLarge, len(keys), total)
	}
	return nil
}

// Outcome tells what became of a commit.
func (s *Store) Outcome(ctx context.Context, c statestore.Commit) ([]statestore.Rev, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.Fences) == 0 {
		return nil, false, fmt.Errorf("outcome of commit %s: it has no fence", c.ID)
	}
	if err := s.fail(ctx, Op{Kind: OpOutcome, Commit: c}); err != nil {
		return nil, false, fmt.Errorf("outcome of commit %s: %w", c.ID, err)
	}
	for i, f := range c.Fences {
		own := s.keys[statestore.OwnKey(f.Role, f.Slot)]
		if string(own.value) != c.ID {
			continue
		}
		next := own.seq - uint64(i) + uint64(len(c.Fences))
		revs := make([]statestore.Rev, len(c.Writes))
		for j := range revs {
			revs[j] = statestore.Rev{next + uint64(j)}
		}
		return revs, true, nil
	}
	return nil, false, nil
}

// List yields the current entries below prefix, in key order.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[statestore.Entry, error] {
	return func(yield func(statestore.Entry, error) bool) {
		s.mu.Lock()
		if err := s.fail(ctx, Op{Kind: OpList, Key: prefix}); err != nil {
			s.mu.Unlock()
			yield(statestore.Entry{}, fmt.Errorf("list %s: %w", prefix, err))
			return
		}
		keys := maps.Clone(s.keys)
		s.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			m := keys[key]
			if m.deleted || !statestore.Matches(prefix, key) {
				continue
			}
			if !yield(statestore.Entry{Key: key, Value: clone(m.value), Rev: m.rev()}, nil) {
				return
			}
		}
	}
}

// Watch yields the current entries and then every change.
func (s *Store) Watch(ctx context.Context, prefix string) iter.Seq2[statestore.Change, error] {
	return func(yield func(statestore.Change, error) bool) {
		for seen, told := uint64(0), false; ; told = true {
			s.mu.Lock()
			changes := s.since(seen, prefix)
			seen = s.seq
			changed := s.changed
			s.mu.Unlock()
			for _, c := range changes {
				if ctx.Err() != nil {
					return
				}
				if c.Deleted && !told {
					continue
				}
				if !yield(c, nil) {
					return
				}
			}
			if !told && !yield(statestore.Change{Caught: true}, nil) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}
}

// since lists the changes after seq, oldest first.
func (s *Store) since(seq uint64, prefix string) []statestore.Change {
	var changes []statestore.Change
	for key, m := range s.keys {
		if m.seq > seq && !statestore.IsDocument(key) && statestore.Matches(prefix, key) {
			entry := statestore.Entry{Key: key, Value: clone(m.value), Rev: m.rev()}
			changes = append(changes, statestore.Change{Entry: entry, Deleted: m.deleted})
		}
	}
	slices.SortFunc(changes, func(a, b statestore.Change) int { return int(a.Rev[0]) - int(b.Rev[0]) })
	return changes
}

// clone keeps the difference between nil and empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
