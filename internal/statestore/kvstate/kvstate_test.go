package kvstate_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/kvstate"
	"github.com/stenohq/steno/internal/statestore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start makes a store on a server of its own; the topology's key is removed,
// so that the bucket is empty.
func start(t *testing.T, opts ...natstest.Option) (*natstest.Node, *kvstate.Store) {
	t.Helper()
	n := natstest.StartNode(t, opts...)
	stream, err := n.JS().Stream(t.Context(), "KV_"+kvstate.Bucket)
	if err == nil {
		err = stream.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := kvstate.New(n.Conn())
	if err != nil {
		t.Fatal(err)
	}
	return n, s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) statestore.Store {
		_, s := start(t, natstest.NoListen())
		return s
	})
}

// With sync always the server answers a batch on another path.
func TestStoreDurable(t *testing.T) {
	storetest.Run(t, func(t *testing.T) statestore.Store {
		_, s := start(t, natstest.NoListen(), natstest.Durable())
		return s
	})
}

func TestMembers(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	storetest.RunMembers(t, kvstate.NewMembers(n.Conn()))
}

// A server that restarts has lost the members, who are kept in memory; the
// next heartbeat brings the bucket back.
func TestMembersComeBack(t *testing.T) {
	n := natstest.StartNode(t)
	m := kvstate.NewMembers(n.Conn())
	if err := m.Beat(t.Context(), "r", "a"); err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"beat", "live"} {
		n.Restart()
		for !n.Conn().IsConnected() {
			time.Sleep(time.Millisecond)
		}
		if first == "live" {
			if live, err := m.Live(t.Context(), "r"); err != nil || len(live) != 0 {
				t.Fatalf("live %v, %v", live, err)
			}
		}
		if err := m.Beat(t.Context(), "r", "b"); err != nil {
			t.Fatal(err)
		}
		if live, err := m.Live(t.Context(), "r"); err != nil || !slices.Equal(live, []string{"b"}) {
			t.Fatalf("live %v, %v", live, err)
		}
	}
}

func TestMemberEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a member's time to run out")
	}
	t.Parallel()
	n := natstest.StartNode(t, natstest.NoListen())
	m := kvstate.NewMembers(n.Conn())
	if err := m.Beat(t.Context(), "r", "a"); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for {
		live, err := m.Live(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if len(live) == 0 {
			break
		}
		if time.Since(begin) > 2*kvstate.MemberTTL {
			t.Fatal("the member is still live")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if d := time.Since(begin); d < kvstate.MemberTTL-time.Second {
		t.Errorf("gone after %v", d)
	}
}

// What the store writes is a key-value bucket to everybody else.
func TestIsKeyValueBucket(t *testing.T) {
	n, s := start(t, natstest.NoListen())
	rev, err := s.Put(t.Context(), statestore.Write{Key: "index.s=2E1", Value: []byte("row")})
	if err != nil {
		t.Fatal(err)
	}
	kv, err := n.JS().KeyValue(t.Context(), kvstate.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	e, err := kv.Get(t.Context(), "index.s=2E1")
	if err != nil || string(e.Value()) != "row" || e.Revision() != rev[0] {
		t.Fatalf("the bucket has %v, %v", e, err)
	}
	if err := kv.Delete(t.Context(), "index.s=2E1"); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Get(t.Context(), "index.s=2E1")
	if !errors.Is(err, statestore.ErrNotFound) || len(gone.Rev) != 1 {
		t.Fatalf("after a delete by another tool: %v, %v", gone, err)
	}
	if _, err := s.Put(t.Context(), statestore.Write{Key: "index.s=2E1", Expect: gone.Rev}); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(t.Context(), "index.s=2E1"); err == nil {
		t.Fatal("a deletion by the store is not seen by the bucket")
	}
}

// A batch is refused whole by the server even when it is published behind the
// store's back, message by message, and its commit message comes late.
func TestServerRefusesLateCommitMessage(t *testing.T) {
	n, s := start(t, natstest.NoListen())
	term, err := s.Put(t.Context(), statestore.Write{Key: "term.projector.0", Value: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	send := func(i int, subject, expect, of, commit string) *nats.Msg {
		t.Helper()
		m := nats.NewMsg(subject)
		m.Header.Set("Nats-Batch-Id", "zombie")
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i))
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", expect)
		if of != "" {
			m.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", of)
		}
		if commit != "" {
			m.Header.Set("Nats-Batch-Commit", commit)
		}
		resp, err := n.Conn().RequestMsgWithContext(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	send(1, "$KV.STENO_STATE.own.projector.0", strconv.FormatUint(term[0], 10), "$KV.STENO_STATE.term.projector.0", "")
	send(2, "$KV.STENO_STATE.ckpt.projector.0", "0", "", "")
	if _, err := s.Put(t.Context(), statestore.Write{Key: "term.projector.0", Value: []byte("b"), Expect: term}); err != nil {
		t.Fatal(err)
	}
	resp := send(3, "$KV.STENO_STATE.index.s", "0", "", "1")
	if !strings.Contains(string(resp.Data), "10071") {
		t.Fatalf("the server answered %s", resp.Data)
	}
	for _, key := range []string{"own.projector.0", "ckpt.projector.0", "index.s"} {
		if _, err := s.Get(t.Context(), key); !errors.Is(err, statestore.ErrNotFound) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestServerAway(t *testing.T) {
	n, s := start(t)
	term, err := s.Put(t.Context(), statestore.Write{Key: "term.projector.0", Value: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	c := statestore.Commit{
		ID:     "c1",
		Fences: []statestore.Fence{{Role: "projector", Slot: 0, Term: term[0]}},
		Writes: []statestore.Write{{Key: "index.s", Value: []byte("1")}},
	}
	n.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Apply(ctx, c); !errors.Is(err, statestore.ErrAmbiguous) && !errors.Is(err, statestore.ErrBusy) {
		t.Fatalf("apply without a server: %v", err)
	}
	if _, err := s.Get(ctx, "index.s"); err == nil || errors.Is(err, statestore.ErrNotFound) {
		t.Fatalf("get without a server: %v", err)
	}
	n.Start()
	// The client may have kept the batch and sent it now: it was written once
	// or not at all, and sending it again settles it.
	deadline := time.Now().Add(10 * time.Second)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, written, err := s.Outcome(ctx, c)
		cancel()
		if err == nil && written {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("never written: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		_, _ = s.Apply(ctx, c) // Outcome tells
		cancel()
	}
	if e, err := s.Get(t.Context(), "index.s"); err != nil || string(e.Value) != "1" {
		t.Fatalf("index.s is %q, %v", e.Value, err)
	}
}

// A watch goes on over a restart of the server, with what changed meanwhile.
func TestWatchOverRestart(t *testing.T) {
	n, s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for c, err := range s.Watch(ctx, "index") {
		if err != nil {
			t.Fatal(err)
		}
		if c.Caught {
			if _, err := s.Put(t.Context(), statestore.Write{Key: "index.a", Value: []byte("1")}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got = append(got, c.Key)
		if c.Key == "index.b" {
			cancel()
			continue
		}
		n.Restart()
		deadline := time.Now().Add(20 * time.Second)
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := s.Put(ctx, statestore.Write{Key: "index.b", Value: []byte("1")})
			cancel()
			if err == nil || errors.Is(err, statestore.ErrConflict) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"index.a", "index.b"}; !slices.Equal(got, want) {
		t.Errorf("watched %v, want %v", got, want)
	}
}
