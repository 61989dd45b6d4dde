package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/gateway"
	"github.com/stenohq/steno/internal/natsnode/query"
	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/recorder"
	"github.com/stenohq/steno/web"
)

// DefaultGateway is where `steno up` serves.
const DefaultGateway = "http://127.0.0.1:7777"

// MemberName makes a name that no other process has, for one that was not
// given a name.
func MemberName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	host = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, host)
	return fmt.Sprintf("%s-%s", host[:min(len(host), 40)], uuid.NewString()[:8])
}

// Projector is the projector under a name.
func (b *Backend) Projector(name string, log *slog.Logger) Part {
	s := projector.New(projector.Deps{Log: b.Log, Store: b.State, Members: b.Members, Logger: log}, projector.Config{Name: name})
	return Part{Name: "projector", Run: s.Run, Ready: s.Ready}
}

// Recorder is the recorder of a data directory. Its name is the directory's
// own unless one is given.
func (b *Backend) Recorder(name, dir string, log *slog.Logger) Part {
	s := recorder.New(recorder.Deps{Log: b.Log, Store: b.State, Members: b.Members, Logger: log},
		recorder.Config{Dir: dir, TopologyID: b.Topology.ID, Name: name})
	return Part{Name: "recorder", Run: s.Run, Ready: s.Ready}
}

// Gateway is the gateway on a listener, which it takes over, with the answers
// to runtimes. archive may be nil.
func (b *Backend) Gateway(ln net.Listener, archive archive.Reader, log *slog.Logger) Part {
	g := gateway.New(gateway.Config{
		Log: b.Log, State: b.State, Archive: archive, TopologyID: b.Topology.ID,
		Listener: ln, Page: web.Handler(), Logger: log,
	})
	run := func(ctx context.Context) (err error) {
		// Runtimes are answered for as long as the gateway lives: its answers
		// must not be cut by the signal that begins its end.
		answers, err := query.Serve(context.WithoutCancel(ctx), b.NC, g.Queries(), log)
		if err != nil {
			return errors.Join(err, ln.Close())
		}
		defer func() { err = errors.Join(err, answers.Stop()) }()
		return g.Run(ctx)
	}
	return Part{Name: "gateway", Run: run, Ready: g.Ready}
}

// Listen opens a gateway's listener. Without access control only this machine
// may reach it.
func Listen(ctx context.Context, address string, insecure bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: want host:port", address)
	}
	if !insecure && !loopback(host) {
		return nil, fmt.Errorf("listen address %s is reachable from other machines, and there is no access control: give a loopback address, or --insecure", address)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: is another gateway running? (--listen chooses another address)", err)
	}
	return ln, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// URL is the address of a listener as clients on this machine use it.
func URL(ln net.Listener) string {
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return ln.Addr().String()
	}
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// permanent says that waiting does not help.
func permanent(err error) bool {
	_, differs := errors.AsType[*topology.MismatchError](err)
	_, old := errors.AsType[*topology.VersionError](err)
	_, unmapped := errors.AsType[*topology.MappingError](err)
	return differs || old || unmapped
}

// Prepare connects and opens the backend; close ends the connection.
func Prepare(ctx context.Context, server *Server, program string, log *slog.Logger) (b *Backend, closeConn func(), err error) {
	nc, err := server.Dial(ctx, "steno "+program, 30*time.Second, log)
	if err != nil {
		return nil, nil, err
	}
	for {
		b, err = Open(ctx, nc, topology.Embedded(), log)
		if err == nil {
			err = topology.CheckMapping(ctx, nc, b.Topology.Slots)
		}
		if err == nil {
			return b, nc.Close, nil
		}
		if permanent(err) {
			nc.Close()
			return nil, nil, err
		}
		// Another process may be making the streams right now, or the server
		// has only just begun.
		log.Warn("Steno's streams are not ready", "error", err)
		select {
		case <-ctx.Done():
			nc.Close()
			return nil, nil, err
		case <-time.After(time.Second):
		}
	}
}
