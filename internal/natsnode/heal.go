package natsnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	healthGap  = time.Second
	restartGap = 5 * time.Second // between two starts, should the disk fail again at once
	probeBytes = 4 << 20         // what must fit on the disk before the server is started again
)

// Run watches the server until ctx ends, which must be before Stop. It returns an error when the server
// cannot go on. A stream that once failed to write, on a full disk say, is
// never written again by the server that runs; so when the disk takes bytes
// again the server is started anew, on the same address. Connections and what
// was acknowledged survive that; streams in memory do not.
func (n *Node) Run(ctx context.Context) error {
	tick := time.NewTicker(healthGap)
	defer tick.Stop()
	told := false
	var next time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-n.fatal:
			return err
		case <-tick.C:
		}
		broken := n.Ready()
		if broken != nil && !told {
			n.cfg.logger().Error("the NATS server cannot store: nothing is acknowledged until its disk takes bytes again", "error", broken)
		}
		told = broken != nil
		if !told || time.Now().Before(next) || n.probe() != nil {
			continue
		}
		if err := n.restart(); err != nil {
			return err
		}
		n.cfg.logger().Warn("the NATS server was started again, since its disk takes bytes again")
		next = time.Now().Add(restartGap)
	}
}

// ready tells whether streams can be written. JetStream turns itself off when
// its disk fails, and marks a stream that it could not write.
func ready(srv *server.Server) error {
	switch {
	case !srv.Running():
		return errors.New("the NATS server is not running")
	case !srv.JetStreamEnabled():
		return errors.New("JetStream is off: the server's log names the reason, usually a full or failing disk")
	}
	if h := srv.Healthz(nil); strings.Contains(h.Error, "write error") { // the server gives its cause as text only
		return fmt.Errorf("a stream cannot be written: %s; make room on the disk, or mend it", h.Error)
	}
	return nil
}

// probe writes to the store's disk.
func (n *Node) probe() (err error) {
	f, err := os.OpenFile(filepath.Join(n.dir, "PROBE"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	return f.Sync()
}

// restart stops the server and starts another one in its place.
func (n *Node) restart() error {
	opts, err := n.cfg.options()
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr, ok := n.srv.Addr().(*net.TCPAddr); ok {
		opts.Port = addr.Port
	}
	n.srv.Shutdown()
	n.srv.WaitForShutdown()
	return n.start(opts)
}
