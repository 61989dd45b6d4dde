// Package natstest starts embedded NATS servers for tests.
package natstest

import (
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/natsnode"
	"github.com/stenohq/steno/internal/natsnode/topology"
)

// Option changes the node's configuration.
type Option func(*settings)

type settings struct {
	cfg  natsnode.Config
	plan topology.Plan
}

// Durable syncs every write. The default is a sync every second, which is much
// faster and makes no difference to a test that cannot cut the power.
func Durable() Option { return func(s *settings) { s.cfg.Durability = natsnode.Power } }

// NoListen allows connections inside the process only.
func NoListen() Option { return func(s *settings) { s.cfg.Listen = natsnode.ListenNone } }

// Slots sets the number of slots, on one stream for each 16 of them.
func Slots(n int) Option {
	return func(s *settings) {
		s.cfg.Slots, s.plan.Slots = n, n
		s.plan.Streams = (n + topology.MaxSlotsPerStream - 1) / topology.MaxSlotsPerStream
	}
}

// EventBytes limits each event stream.
func EventBytes(n int64) Option { return func(s *settings) { s.plan.EventBytes = n } }

// Log lets the server write to the test's log.
func Log(l *slog.Logger) Option { return func(s *settings) { s.cfg.Logger = l } }

// Node is a server that a test can stop and start again on the same port and
// store. Connections made through it survive that.
type Node struct {
	t    testing.TB
	cfg  natsnode.Config
	plan topology.Plan

	mu   sync.Mutex // guards node
	node *natsnode.Node

	url string
	nc  *nats.Conn
	js  jetstream.JetStream
	top topology.Topology
}

// StartNode starts a server in a temporary directory, with the topology made,
// and stops it when the test ends.
func StartNode(t testing.TB, opts ...Option) *Node {
	t.Helper()
	s := settings{
		cfg:  natsnode.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Durability: natsnode.Process},
		plan: topology.Embedded(),
	}
	for _, o := range opts {
		o(&s)
	}
	n := &Node{t: t, cfg: s.cfg, plan: s.plan}
	n.Start()
	t.Cleanup(n.Stop)
	n.url = n.node.ClientURL()
	if n.url != "" { // keep the port over restarts
		n.cfg.Listen = strings.TrimPrefix(n.url, "nats://")
	}
	n.nc = n.Connect()
	js, err := jetstream.New(n.nc)
	check(t, err)
	n.js = js
	n.top, err = topology.Ensure(t.Context(), js, s.plan)
	check(t, err)
	return n
}

// Conn is a connection shared by the test. It is closed at its end.
func (n *Node) Conn() *nats.Conn { return n.nc }

// JS is the JetStream client on Conn.
func (n *Node) JS() jetstream.JetStream { return n.js }

// Topology is what Ensure answered at the start.
func (n *Node) Topology() topology.Topology { return n.top }

// StoreDir is the server's directory.
func (n *Node) StoreDir() string { return n.cfg.StoreDir }

// URL is the address for clients that use a socket; it stays the same over
// restarts.
func (n *Node) URL() string { return n.url }

// Connect opens a connection of its own, closed when the test ends.
func (n *Node) Connect(opts ...nats.Option) *nats.Conn {
	n.t.Helper()
	all := append([]nats.Option{nats.InProcessServer(n), nats.ReconnectWait(10 * time.Millisecond)}, reconnecting()...)
	all = append(all, opts...)
	nc, err := nats.Connect("", all...)
	check(n.t, err)
	n.t.Cleanup(nc.Close)
	return nc
}

// InProcessConn connects to the server that runs at the moment.
func (n *Node) InProcessConn() (net.Conn, error) {
	n.mu.Lock()
	node := n.node
	n.mu.Unlock()
	return node.InProcessConn()
}

// Stop shuts the server down cleanly. It may be stopped already.
func (n *Node) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	check(n.t, n.node.Stop())
}

// Start starts the server after Stop, and waits until the shared connection is
// back.
func (n *Node) Start() {
	n.t.Helper()
	node, err := natsnode.Start(n.cfg)
	check(n.t, err)
	n.mu.Lock()
	n.node = node
	n.mu.Unlock()
	if n.nc != nil {
		awaitConn(n.t, n.nc)
	}
}

// Restart stops and starts the server on the same port and store.
func (n *Node) Restart() {
	n.t.Helper()
	n.Stop()
	n.Start()
}

// reconnecting are the options of a connection that outlives its server.
func reconnecting() []nats.Option {
	quiet := func(*nats.Conn, *nats.Subscription, error) {} // broken connections are what tests are about
	return []nats.Option{nats.MaxReconnects(-1), nats.ReconnectJitter(0, 0), nats.ErrorHandler(quiet)}
}

// awaitConn waits until nc talks to a server. A request sent before that would
// be lost with the old connection.
func awaitConn(t testing.TB, nc *nats.Conn) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, err := nc.RTT()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the connection does not come back: %v", err)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
