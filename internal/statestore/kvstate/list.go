package kvstate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/internal/statestore"
)

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// List yields the current entries below prefix, in key order. It collects
// them, compressed, before it yields the first.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[statestore.Entry, error] {
	return func(yield func(statestore.Entry, error) bool) {
		msgs, err := s.collect(ctx, prefix)
		if err != nil {
			yield(statestore.Entry{}, fmt.Errorf("list %s: %w", prefix, err))
			return
		}
		for _, key := range sortedKeys(msgs) {
			entry, err := s.entry(ctx, key, msgs[key])
			if errors.Is(err, statestore.ErrNotFound) {
				continue
			}
			if !yield(entry, err) || err != nil {
				return
			}
			delete(msgs, key)
		}
	}
}

// collect reads the newest messages below prefix, by key.
func (s *Store) collect(ctx context.Context, prefix string) (map[string][]stored, error) {
	r, err := s.newReader(ctx, prefix)
	if err != nil {
		return nil, err
	}
	defer r.close()
	keys := make(map[string][]stored)
	for !r.caught() {
		m, ok, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		key := strings.TrimPrefix(m.subject, subjectPrefix)
		index := 0
		if statestore.IsDocument(key) {
			key, index = splitPiece(key)
		}
		if !statestore.Matches(prefix, key) {
			continue
		}
		for len(keys[key]) <= index {
			keys[key] = append(keys[key], stored{})
		}
		keys[key][index] = m
	}
	return keys, nil
}

// splitPiece takes the piece's number off the key of a piece.
func splitPiece(key string) (string, int) {
	i := strings.LastIndexByte(key, '.')
	n, err := strconv.Atoi(key[i+1:])
	if err != nil || n < 0 || n >= statestore.MaxMessages {
		return key, 0
	}
	return key[:i], n
}

// entry makes an entry of a key's messages; pieces that do not fit together
// are read again, from the leader.
func (s *Store) entry(ctx context.Context, key string, msgs []stored) (statestore.Entry, error) {
	if !statestore.IsDocument(key) {
		m := msgs[len(msgs)-1]
		if isMarker(m.header) {
			return statestore.Entry{}, statestore.ErrNotFound
		}
		return statestore.Entry{Key: key, Value: m.data, Rev: statestore.Rev{m.seq}}, nil
	}
	if entry, err := s.assemble(key, msgs); err == nil || errors.Is(err, statestore.ErrNotFound) {
		return entry, err
	}
	return s.getDocument(ctx, key)
}

// Watch yields the current entries and then every change.
func (s *Store) Watch(ctx context.Context, prefix string) iter.Seq2[statestore.Change, error] {
	return func(yield func(statestore.Change, error) bool) {
		r, err := s.newReader(ctx, prefix)
		if err != nil {
			if ctx.Err() == nil {
				yield(statestore.Change{}, fmt.Errorf("watch %s: %w", prefix, err))
			}
			return
		}
		defer r.close()
		for told := false; ; {
			if !told && r.caught() {
				told = true
				if !yield(statestore.Change{Caught: true}, nil) {
					return
				}
			}
			m, ok, err := r.next(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(statestore.Change{}, fmt.Errorf("watch %s: %w", prefix, err))
				return
			}
			if !ok {
				continue
			}
			change, relevant := changeOf(prefix, m)
			if !relevant || change.Deleted && !told {
				continue
			}
			if !yield(change, nil) {
				return
			}
		}
	}
}

func changeOf(prefix string, m stored) (statestore.Change, bool) {
	key := strings.TrimPrefix(m.subject, subjectPrefix)
	if statestore.IsDocument(key) || !statestore.Matches(prefix, key) {
		return statestore.Change{}, false
	}
	change := statestore.Change{Entry: statestore.Entry{Key: key, Rev: statestore.Rev{m.seq}}}
	if change.Deleted = isMarker(m.header); !change.Deleted {
		change.Value = m.data
	}
	return change, true
}
