package memstate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/statestore"
)

// MemberTTL is how long a member lives after its last heartbeat.
const MemberTTL = 6 * time.Second

// Members is an in-memory set of members.
type Members struct {
	mu    sync.Mutex // guards all below
	until map[member]time.Time
	down  func(role, name string) bool
}

type member struct{ role, name string }

var _ statestore.Members = (*Members)(nil)

// NewMembers returns an empty set.
func NewMembers() *Members { return &Members{until: map[member]time.Time{}} }

// ErrDown is what the methods return to a member for whom the set is down.
var ErrDown = errors.New("members are out of reach")

// Down makes the set unreachable to some members; nil ends that.
func (m *Members) Down(f func(role, name string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = f
}

// Drop ends a membership as if its time had run out.
func (m *Members) Drop(role, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.until, member{role, name})
}

// Beat makes (role, name) a member for another MemberTTL.
func (m *Members) Beat(ctx context.Context, role, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(ctx, role, name); err != nil {
		return err
	}
	m.until[member{role, name}] = time.Now().Add(MemberTTL)
	return nil
}

// Leave removes it at once.
func (m *Members) Leave(ctx context.Context, role, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(ctx, role, name); err != nil {
		return err
	}
	delete(m.until, member{role, name})
	return nil
}

// Live lists the names of a role, sorted. Down asks for name "" here.
func (m *Members) Live(ctx context.Context, role string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(ctx, role, ""); err != nil {
		return nil, err
	}
	var names []string
	for k, until := range m.until {
		if k.role == role && time.Now().Before(until) {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m *Members) reach(ctx context.Context, role, name string) error {
	if m.down != nil && m.down(role, name) {
		return ErrDown
	}
	return ctx.Err()
}
