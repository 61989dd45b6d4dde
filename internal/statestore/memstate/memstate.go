// Package memstate keeps the state in memory with the semantics of kvstate,
// and fails when it is told to.
package memstate

import "github.com/stenohq/steno/internal/statestore"

// Store is an in-memory state bucket.
type Store struct{ statestore.Store }

// New returns an empty store.
func New() *Store { return &Store{} }

// Members is an in-memory set of members.
type Members struct{ statestore.Members }

// NewMembers returns an empty set.
func NewMembers() *Members { return &Members{} }
