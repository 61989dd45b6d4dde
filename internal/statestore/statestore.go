// Package statestore is the port to the state bucket: heads, checkpoints,
// terms and the fenced commit. kvstate is the JetStream adapter, memstate the
// in-memory one with fault injection; storetest is the suite both pass.
//
// Keys (tokens are events.Token of the ids, roles are recorder and projector):
//
//	topology                          slots, streams, topology id
//	term.<role>.<slot>                who owns the slot
//	own.<role>.<slot>                 commit id of the owner's last commit
//	ckpt.<role>.<slot>                {stream_seq, term}
//	head. mem. resume.<slot>.<session>.<agent>   documents of the projector
//	rec. parts.<slot>.<session>.<agent>          the recorder's position and parts
//	index.<session>                   one row of the session list
//	gone.<session>   trim.<stream>
//
// A document (head, mem, resume) is compressed and split into pieces by the
// adapter; every other value is one plain message, so that `nats kv get` shows
// it.
package statestore

import (
	"context"
	"errors"
	"iter"
)

// Errors an adapter wraps; callers test with errors.Is.
var (
	ErrNotFound = errors.New("key not found")
	// ErrConflict: an expected revision has moved. Nothing was written.
	ErrConflict = errors.New("revision has moved")
	// ErrFenced: a term has moved, so another member owns the slot. Nothing
	// was written.
	ErrFenced = errors.New("term has moved")
	// ErrBusy: the server wants the batch later (too many open batches, a
	// leader change). Nothing was written; the same bytes may be sent again.
	ErrBusy = errors.New("state store is busy")
	// ErrAmbiguous: no answer in time; written whole or not at all.
	ErrAmbiguous = errors.New("no acknowledgement in time")
	// ErrTooLarge: the commit is above 8 MiB or 1,000 messages.
	ErrTooLarge = errors.New("commit too large")
)

// Rev is the revision of a key as this reader or writer last knew it: the
// stream sequence of each of its messages. nil means that the key was never
// written. A deleted key has a revision too, that of its deletion. Callers keep
// it and hand it back; they never make one up.
type Rev []uint64

// Entry is a key's current value. The receiver owns Value.
type Entry struct {
	Key   string
	Value []byte
	Rev   Rev
}

// Write puts or (Value nil) deletes one key, provided that its revision is
// still Expect.
type Write struct {
	Key    string
	Value  []byte
	Expect Rev
}

// Fence proves ownership of one slot: the commit is refused whole when the
// term of (Role, Slot) is no longer Term. The commit also writes
// own.<role>.<slot> = Commit.ID, so that Outcome can tell what became of it.
type Fence struct {
	Role string
	Slot int
	Term uint64
}

// Commit is one atomic batch. The store keeps no reference to it.
type Commit struct {
	ID     string // unique for ever, e.g. a UUID
	Fences []Fence
	Writes []Write
}

// Store is the state bucket. All methods may be called concurrently.
type Store interface {
	// Get reads a key from the stream's leader. Beside ErrNotFound the entry
	// still carries the revision to expect: nil, or that of the deletion.
	Get(ctx context.Context, key string) (Entry, error)

	// Put writes one key without a fence, expecting its revision.
	// ErrConflict, ErrAmbiguous. The revision of a one-message key has one
	// element: its stream sequence, which is the term of a term key.
	Put(ctx context.Context, w Write) (Rev, error)

	// Apply sends one atomic batch and returns the new revision of each write,
	// in order. ErrFenced, ErrConflict, ErrBusy, ErrAmbiguous, ErrTooLarge.
	Apply(ctx context.Context, c Commit) ([]Rev, error)

	// Outcome tells what became of a commit that Apply left ambiguous, by a
	// leader read of the own keys of its fences: written true and the
	// revisions Apply would have returned, or false, which holds until the
	// batch, still under way, arrives: send the same bytes again, and the
	// revisions decide which of the two is refused. c needs a fence.
	Outcome(ctx context.Context, c Commit) (revs []Rev, written bool, err error)

	// List yields the current entries whose key is prefix or begins with
	// prefix + ".", in key order. It is a snapshot as of some moment after the
	// call. A read error ends the sequence.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]

	// Watch yields the current entries like List, then one Change with
	// Caught true, then every change, until ctx ends (then the sequence ends
	// without an error). Values under a document prefix are not watched.
	Watch(ctx context.Context, prefix string) iter.Seq2[Change, error]
}

// Change is one step of a Watch.
type Change struct {
	Entry
	Deleted bool
	Caught  bool // no entry: the current state has been told
}

// Members is the set of live processes by role: keys that vanish by themselves
// when their heartbeat stops (TTL 6 s, heartbeat every 1.5 s).
type Members interface {
	// Beat makes (role, name) a member for another TTL.
	Beat(ctx context.Context, role, name string) error
	// Leave removes it at once.
	Leave(ctx context.Context, role, name string) error
	// Live lists the names of a role, sorted.
	Live(ctx context.Context, role string) ([]string, error)
}
