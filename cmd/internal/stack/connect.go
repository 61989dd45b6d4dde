// Package stack composes the roles of Steno: it connects to NATS, makes the
// adapters over it, and runs recorder, projector and gateway, alone or
// together.
package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/statestore/kvstate"
)

// DefaultNATS is where `steno up` listens.
const DefaultNATS = "nats://127.0.0.1:4222"

// Server says which NATS server to use and as whom.
type Server struct {
	URL, Creds, CA, Cert, Key string
}

// Flags adds the connection flags.
func (s *Server) Flags(f *pflag.FlagSet, defaultURL string) {
	f.StringVar(&s.URL, "nats-url", defaultURL, "NATS server, several separated by commas")
	f.StringVar(&s.Creds, "nats-creds", "", "credentials file")
	f.StringVar(&s.CA, "nats-ca", "", "CA certificate file of the server")
	f.StringVar(&s.Cert, "nats-cert", "", "client certificate file")
	f.StringVar(&s.Key, "nats-key", "", "key file of the client certificate")
}

// Options are the options of a connection that lives as long as its program.
func (s *Server) Options(name string, log *slog.Logger) []nats.Option {
	opts := []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("NATS connection lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("NATS connection is back", "url", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("NATS reports an error", "error", err)
		}),
	}
	if s.Creds != "" {
		opts = append(opts, nats.UserCredentials(s.Creds))
	}
	if s.CA != "" {
		opts = append(opts, nats.RootCAs(s.CA))
	}
	if s.Cert != "" || s.Key != "" {
		opts = append(opts, nats.ClientCert(s.Cert, s.Key))
	}
	return opts
}

// Dial connects, and goes on trying for wait when nobody answers.
func (s *Server) Dial(ctx context.Context, name string, wait time.Duration, log *slog.Logger) (*nats.Conn, error) {
	deadline := time.Now().Add(wait)
	for {
		nc, err := nats.Connect(s.URL, s.Options(name, log)...)
		if err == nil {
			return nc, nil
		}
		if time.Now().After(deadline) || !errors.Is(err, nats.ErrNoServers) {
			return nil, fmt.Errorf("connect to NATS at %s: %w; is `steno up` or a NATS server running there? (--nats-url)", s.URL, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Backend is Steno's side of a NATS server.
type Backend struct {
	NC       *nats.Conn
	Topology topology.Topology
	Log      *jslog.Log
	State    *kvstate.Store
	Members  *kvstate.Members
}

// Open makes or checks the topology and the adapters over it; fresh is the plan
// for a server that has none yet. The connection stays the caller's.
func Open(ctx context.Context, nc *nats.Conn, fresh topology.Plan, log *slog.Logger) (*Backend, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	top, err := ensure(ctx, js, fresh)
	if err != nil {
		return nil, fmt.Errorf("prepare the streams: %w", err)
	}
	events, err := jslog.New(js, jslog.Config{Slots: top.Slots, Streams: top.Streams, Logger: log})
	if err != nil {
		return nil, err
	}
	state, err := kvstate.New(nc)
	if err != nil {
		return nil, err
	}
	return &Backend{NC: nc, Topology: top, Log: events, State: state, Members: kvstate.NewMembers(nc)}, nil
}

// ensure checks what is there against the topology it was made with, and makes
// what is missing: on a new server everything, after a restart the members,
// which live in memory.
func ensure(ctx context.Context, js jetstream.JetStream, plan topology.Plan) (topology.Topology, error) {
	top, err := topology.Read(ctx, js)
	switch {
	case errors.Is(err, topology.ErrAbsent):
	case err != nil:
		return top, err
	case top.Slots == topology.Cluster().Slots:
		plan = topology.Cluster()
	default:
		plan.Slots, plan.Streams = top.Slots, len(top.Streams)
	}
	return topology.Ensure(ctx, js, plan)
}

// ReadLog is the event log for a program that only reads it, and makes nothing
// when it is not there.
func ReadLog(ctx context.Context, nc *nats.Conn) (*jslog.Log, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	top, err := topology.Read(ctx, js)
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	return jslog.New(js, jslog.Config{Slots: top.Slots, Streams: top.Streams})
}
