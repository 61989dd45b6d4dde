package natsnode_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/natsnode"
	"github.com/stenohq/steno/internal/natsnode/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg natsnode.Config) *natsnode.Node {
	t.Helper()
	if cfg.StoreDir == "" {
		cfg.StoreDir = t.TempDir()
	}
	n, err := natsnode.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestStartRefusesBadConfig(t *testing.T) {
	for name, cfg := range map[string]natsnode.Config{
		"no directory":       {Listen: "127.0.0.1:0"},
		"no port":            {StoreDir: t.TempDir(), Listen: "127.0.0.1"},
		"port out of range":  {StoreDir: t.TempDir(), Listen: "127.0.0.1:65536"},
		"port no number":     {StoreDir: t.TempDir(), Listen: "127.0.0.1:nats"},
		"unknown durability": {StoreDir: t.TempDir(), Durability: 7},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := natsnode.Start(cfg)
			if err == nil {
				_ = n.Stop()
				t.Fatal("started")
			}
		})
	}
}

func TestHeldDirectoryNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	n := start(t, natsnode.Config{StoreDir: dir})
	_, err := natsnode.Start(natsnode.Config{StoreDir: dir})
	var held *natsnode.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("second start: %v, want a HeldError", err)
	}
	if held.Dir != dir || !strings.Contains(held.Holder, "process ") || !strings.Contains(err.Error(), dir) {
		t.Errorf("message %q does not name directory and holder", err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	start(t, natsnode.Config{StoreDir: dir})
}

func TestListenNoneHasNoSocket(t *testing.T) {
	n := start(t, natsnode.Config{Listen: natsnode.ListenNone})
	if url := n.ClientURL(); url != "" {
		t.Errorf("listens on %s", url)
	}
	nc, err := n.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.RTT(); err != nil {
		t.Error(err)
	}
}

func TestPortInUseIsAnErrorNotAnExit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	_, err = natsnode.Start(natsnode.Config{StoreDir: dir, Listen: l.Addr().String()})
	taken, ok := errors.AsType[*natsnode.AddressInUseError](err)
	if !ok || taken.Address != l.Addr().String() || !strings.Contains(err.Error(), taken.Address) {
		t.Fatalf("got %v, want an error that names %s", err, l.Addr())
	}
	start(t, natsnode.Config{StoreDir: dir, Listen: "127.0.0.1:0"}) // the lock is free again
}

func TestUnusableStoreIsAnErrorNotAnExit(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := natsnode.Start(natsnode.Config{StoreDir: dir}); err == nil {
		_ = n.Stop()
		t.Fatal("started on a store that is a file")
	}
}

func TestStoredMessagesSurviveARestart(t *testing.T) {
	for name, d := range map[string]natsnode.Durability{"power": natsnode.Power, "process": natsnode.Process} {
		t.Run(name, func(t *testing.T) {
			cfg := natsnode.Config{StoreDir: t.TempDir(), Durability: d}
			store(t, cfg)
			n := start(t, cfg)
			nc, js := client(t, n)
			defer nc.Close()
			s, err := js.Stream(t.Context(), "S")
			if err != nil {
				t.Fatal(err)
			}
			if got := s.CachedInfo().State.Msgs; got != 10 {
				t.Errorf("%d messages after the restart, want 10", got)
			}
		})
	}
}

func store(t *testing.T, cfg natsnode.Config) {
	t.Helper()
	n, err := natsnode.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	}()
	nc, js := client(t, n)
	defer nc.Close()
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := js.Publish(t.Context(), "s", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMappingInsertsTheSlot(t *testing.T) {
	n := start(t, natsnode.Config{Slots: 64})
	nc, _ := client(t, n)
	defer nc.Close()
	sub, err := nc.SubscribeSync("steno.ev.>")
	if err != nil {
		t.Fatal(err)
	}
	// FNV-1a-32("s-1") mod 64 and of two more, computed apart from the server.
	for session, want := range map[string]string{
		"s-1": "steno.ev.36.s-1.main", "a=2Eb": "steno.ev.16.a=2Eb.main",
	} {
		if err := nc.Publish("steno.events."+session+".main", nil); err != nil {
			t.Fatal(err)
		}
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != want {
			t.Errorf("session %q is stored under %s, want %s", session, m.Subject, want)
		}
	}
}

func TestPlanFitsTheDisk(t *testing.T) {
	p, err := start(t, natsnode.Config{}).Plan()
	if err != nil {
		t.Fatal(err)
	}
	if p.EventBytes < 256<<20 || p.EventBytes > topology.DefaultEventBytes || p.Slots != topology.Embedded().Slots {
		t.Errorf("plan %+v", p)
	}
}

func TestReadyTellsAStoppedServer(t *testing.T) {
	n := start(t, natsnode.Config{})
	if err := n.Ready(); err != nil {
		t.Error(err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if n.Ready() == nil {
		t.Error("ready after Stop")
	}
}

func client(t *testing.T, n *natsnode.Node) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := n.Connect()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}
