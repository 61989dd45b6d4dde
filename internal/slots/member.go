package slots

import (
	"context"
	"errors"
)

// Member is one process of a role.
type Member struct {
	cfg Config
}

// New returns a member that owns nothing yet.
func New(cfg Config) *Member { return &Member{cfg: cfg} }

// Run beats, takes slots and serves them until ctx ends; then it lets the work
// drain, releases the terms and returns nil. It returns an error only when the
// configuration is wrong.
func (m *Member) Run(ctx context.Context, work Work) error { return errors.ErrUnsupported }

// Ready is nil when this member is live and serves every slot assigned to it.
func (m *Member) Ready() error { return errors.ErrUnsupported }
