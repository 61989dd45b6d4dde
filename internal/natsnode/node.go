// Package natsnode runs a NATS server with JetStream inside the process: the
// engine of the embedded form. The server has its own store directory, never
// ends the process and takes no signals.
package natsnode

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// AddressInUseError says that something listens on the node's address already.
type AddressInUseError struct{ Address string }

func (e *AddressInUseError) Error() string {
	return fmt.Sprintf("address %s is in use: another NATS server is probably running there", e.Address)
}

// Node is a running server. All methods may be called concurrently.
type Node struct {
	cfg   Config
	dir   string
	mu    sync.RWMutex // guards srv
	srv   *server.Server
	lock  *storeLock
	fatal chan error
	stop  sync.Once
	err   error // of the unlock; set in stop
}

// Start takes the store directory's lock, starts the server and returns when
// it accepts connections and JetStream has recovered its streams. It returns a
// *HeldError when another process uses the directory.
func Start(cfg Config) (*Node, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	lock, err := lockStore(cfg.StoreDir)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, dir: cfg.StoreDir, lock: lock, fatal: make(chan error, 1)}
	if err := n.start(opts); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

func (n *Node) start(opts *server.Options) error {
	cfg := n.cfg
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("configure the NATS server: %w", err)
	}
	n.srv = srv
	srv.SetLoggerV2(&bridge{log: cfg.logger(), fatal: n.fatal}, false, false, false)
	src, dst := cfg.mapping()
	if err := srv.GlobalAccount().AddMapping(src, dst); err != nil {
		return fmt.Errorf("map %s to %s: %w", src, dst, err)
	}
	srv.Start()
	select {
	case err := <-n.fatal:
		if strings.Contains(err.Error(), "address already in use") { // the server gives its cause as text only
			return &AddressInUseError{Address: cfg.Listen}
		}
		return fmt.Errorf("start the NATS server: %w", err)
	default:
	}
	if !srv.ReadyForConnections(cfg.readyTimeout()) {
		return fmt.Errorf("start the NATS server: not ready within %s", cfg.readyTimeout())
	}
	return ready(srv)
}

// Ready is nil while the server runs and its streams can be written.
func (n *Node) Ready() error { return ready(n.server()) }

func (n *Node) server() *server.Server {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.srv
}

// ClientURL is the address clients connect to, "" when the node listens on
// none.
func (n *Node) ClientURL() string {
	addr, ok := n.server().Addr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("nats://127.0.0.1:%d", addr.Port)
	}
	return "nats://" + addr.String()
}

// InProcessConn is one end of a connection that needs no socket. It makes
// Node a nats.InProcessConnProvider.
func (n *Node) InProcessConn() (net.Conn, error) { return n.server().InProcessConn() }

// Connect opens a client connection inside the process. It reconnects for ever
// unless opts say otherwise.
func (n *Node) Connect(opts ...nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{nats.InProcessServer(n), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond)}, opts...)
	nc, err := nats.Connect("", all...)
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS server: %w", err)
	}
	return nc, nil
}

// Stop shuts the server down, waits until its stores are flushed and closed,
// and releases the directory. Later calls return the same error.
func (n *Node) Stop() error {
	n.stop.Do(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.srv != nil {
			n.srv.Shutdown()
			n.srv.WaitForShutdown()
		}
		n.err = n.lock.release()
	})
	return n.err
}

// bridge passes the server's log on to slog. Notices are debug output here:
// the program says itself when it is ready.
type bridge struct {
	log   *slog.Logger
	fatal chan<- error
}

func (b *bridge) Noticef(format string, v ...any) {
	b.log.Debug("nats", "text", fmt.Sprintf(format, v...))
}

func (b *bridge) Warnf(format string, v ...any) {
	b.log.Warn("nats", "text", fmt.Sprintf(format, v...))
}

func (b *bridge) Errorf(format string, v ...any) {
	b.log.Error("nats", "text", fmt.Sprintf(format, v...))
}
func (b *bridge) Debugf(string, ...any) {}
func (b *bridge) Tracef(string, ...any) {}

// Fatalf returns: the server's callers return after it, and the program that
// reads Err decides what to do, and tells.
func (b *bridge) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	select {
	case b.fatal <- err:
	default: // only the first one matters
		b.log.Error("nats server cannot go on", "error", err)
	}
}
