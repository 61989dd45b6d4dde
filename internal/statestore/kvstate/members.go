package kvstate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/statestore"
)

const membersStream = "KV_" + MembersBucket

// MemberTTL is how long a member lives after its last heartbeat.
const MemberTTL = 6 * time.Second

// goneTTL is how long the marker of a member that left is kept.
const goneTTL = "1s"

// Members is the members bucket.
type Members struct {
	nc *nats.Conn
}

var _ statestore.Members = (*Members)(nil)

// NewMembers returns the members behind a connection, which stays the caller's.
// The bucket must exist and allow a time to live by key.
func NewMembers(nc *nats.Conn) *Members { return &Members{nc: nc} }

// Beat makes (role, name) a member for another MemberTTL.
func (m *Members) Beat(ctx context.Context, role, name string) error {
	msg := memberMessage(role, name)
	msg.Header.Set(jetstream.MsgTTLHeader, MemberTTL.String())
	return m.publish(ctx, msg)
}

// Leave removes it at once.
func (m *Members) Leave(ctx context.Context, role, name string) error {
	msg := memberMessage(role, name)
	msg.Header.Set(kvOperation, kvDelete)
	msg.Header.Set(jetstream.MsgTTLHeader, goneTTL)
	return m.publish(ctx, msg)
}

func memberMessage(role, name string) *nats.Msg {
	return nats.NewMsg("$KV." + MembersBucket + "." + role + "." + name)
}

func (m *Members) publish(ctx context.Context, msg *nats.Msg) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	err := m.request(ctx, msg)
	if err != nil && m.restored(ctx) {
		err = m.request(ctx, msg)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", msg.Subject, err)
	}
	return nil
}

func (m *Members) request(ctx context.Context, msg *nats.Msg) error {
	resp, err := m.nc.RequestMsgWithContext(ctx, msg)
	if err == nil {
		_, err = parseAck(resp)
	}
	return err
}

// restored tells whether the bucket was missing and is there again. It is kept
// in memory only, so a server that restarts alone, or a cluster whose nodes all
// did, has lost it.
func (m *Members) restored(ctx context.Context) bool {
	js, err := jetstream.New(m.nc)
	if err != nil {
		return false
	}
	if _, err := js.Stream(ctx, membersStream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false
	}
	state, err := js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	top, err := topology.Read(ctx, js)
	if err != nil {
		return false
	}
	plan := topology.Plan{Slots: top.Slots, Streams: len(top.Streams), Replicas: state.CachedInfo().Config.Replicas}
	_, err = topology.Ensure(ctx, js, plan)
	return err == nil
}

// Live lists the names of a role, sorted, as the leader knows them.
func (m *Members) Live(ctx context.Context, role string) ([]string, error) {
	live, err := m.list(ctx, role)
	if err != nil && m.restored(ctx) {
		live, err = m.list(ctx, role)
	}
	if err != nil {
		return nil, fmt.Errorf("list the members of %s: %w", role, err)
	}
	return live, nil
}

func (m *Members) list(ctx context.Context, role string) ([]string, error) {
	prefix := "$KV." + MembersBucket + "." + role + "."
	last := make(map[string]uint64)
	for next := uint64(1); ; {
		msg, err := getMessage(ctx, m.nc, membersStream, getRequest{Seq: next, NextBy: prefix + "*"})
		if errors.Is(err, statestore.ErrNotFound) {
			return sortedKeys(last), nil
		} else if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(msg.subject, prefix)
		if isMarker(msg.header) {
			delete(last, name)
		} else {
			last[name] = msg.seq
		}
		next = msg.seq + 1
	}
}
