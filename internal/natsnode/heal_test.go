//go:build linux

package natsnode_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/stenohq/steno/internal/natsnode"
)

// limitFiles makes writes fail beyond a file size, as a full disk would.
func limitFiles(t *testing.T, size uint64) (lift func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Skip("no limit of file sizes here:", err)
	}
	lift = func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: old.Max}); err != nil {
		t.Skip("file sizes cannot be limited:", err)
	}
	return lift
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain until", what)
		}
	}
}

// A disk that takes no bytes for a while makes the node not ready; when it
// takes them again publishing goes on, over the same connections, with
// everything that was acknowledged.
func TestNodeGoesOnAfterAFullDisk(t *testing.T) {
	n := start(t, natsnode.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	url := n.ClientURL()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	publish := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := js.Publish(ctx, "s", make([]byte, 100<<10))
		return err
	}
	lift := limitFiles(t, 1<<20)
	stored := 0
	for ; publish() == nil; stored++ {
		if stored > 100 {
			t.Fatal("the limit does not hold")
		}
	}
	waitUntil(t, "the node is not ready", func() bool { return n.Ready() != nil })
	if err := n.Ready(); !strings.Contains(err.Error(), "cannot be written") && !strings.Contains(err.Error(), "JetStream is off") {
		t.Errorf("not ready because of: %v", err)
	}
	lift()
	waitUntil(t, "publishing goes on", func() bool { return publish() == nil })
	if err := n.Ready(); err != nil || n.ClientURL() != url {
		t.Errorf("ready: %v, at %s, was %s", err, n.ClientURL(), url)
	}
	s, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.CachedInfo().State.Msgs; got < uint64(stored)+1 {
		t.Errorf("%d messages, %d were acknowledged", got, stored+1)
	}
}
