// Package kvstate keeps the state in the JetStream key-value bucket STENO_STATE
// and the members in STENO_MEMBERS, by the conventions of NATS key-value
// buckets, so that `nats kv get` reads both.
package kvstate

import (
	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/statestore"
)

// The buckets; internal/natsnode creates them.
const (
	Bucket        = "STENO_STATE"
	MembersBucket = "STENO_MEMBERS"
)

// Store is the state bucket.
type Store struct {
	statestore.Store
	nc *nats.Conn
}

// New returns the store behind a connection, which stays the caller's. The
// bucket must exist.
func New(nc *nats.Conn) (*Store, error) { return &Store{nc: nc}, nil }

// Members is the members bucket.
type Members struct {
	statestore.Members
	nc *nats.Conn
}

// NewMembers returns the members behind a connection, which stays the caller's.
func NewMembers(nc *nats.Conn) *Members { return &Members{nc: nc} }
