package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/stack"
	"github.com/stenohq/steno/internal/natsnode"
)

// memberUp is the name of this process's roles when the data directory's lock
// makes it the only one: after a crash it takes its slots back at once.
const memberUp = "up"

type upOptions struct {
	data, listen, natsListen string
	durability, roles, level string
	insecure                 bool
	server                   stack.Server
}

func upCommand(world cli.IO) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in one process on an embedded NATS",
		Long: `Run NATS with JetStream, recorder, projector and gateway in one process and one
data directory. When all is ready one line is printed:

  ready gateway=http://127.0.0.1:7777 nats=nats://127.0.0.1:4222 data=DIR

With --nats-url that server is used instead of embedding one. The first SIGINT or
SIGTERM stops in order, the second one ends at once.`,
		Example: `  steno up
  steno up --data ./data --listen 127.0.0.1:0 --nats-listen 127.0.0.1:0
  steno up --nats-url nats://nats.internal:4222`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), world)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "data directory (default: steno in the user's data directory)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:7777", "address of the gateway; port 0 picks a free one")
	f.StringVar(&o.natsListen, "nats-listen", "127.0.0.1:4222", "address of the embedded NATS; port 0 picks a free one, none opens none")
	f.StringVar(&o.durability, "durability", "power", "what an acknowledged event survives: power (loss), or process (end), which is faster")
	f.StringVar(&o.roles, "roles", allRoles, "roles to run beside NATS, none for NATS alone")
	f.BoolVar(&o.insecure, "insecure", false, "serve without access control on an address that others reach")
	f.StringVar(&o.level, "log-level", "warn", "debug, info, warn or error")
	o.server.Flags(f, "")
	return cmd
}

const allRoles = "recorder,projector,gateway"

func (o *upOptions) run(ctx context.Context, stdout, stderr io.Writer, world cli.IO) (err error) {
	log, err := cli.Logger(stderr, o.level)
	if err != nil {
		return err
	}
	data, err := dataDir(o.data, world.Getenv)
	if err != nil {
		return err
	}
	roles, err := parseRoles(o.roles)
	if err != nil {
		return err
	}
	// The gateway's address first: it costs nothing and often is the mistake.
	var ln net.Listener
	if roles["gateway"] {
		if ln, err = stack.Listen(ctx, o.listen, o.insecure); err != nil {
			return err
		}
		defer func() { _ = ln.Close() }() // closed by the gateway unless it never ran
	}
	b, parts, end, err := o.engine(ctx, data, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	parts = o.parts(b, parts, roles, data, ln, log)
	return stack.Run(ctx, parts, func() { fmt.Fprintln(stdout, o.readyLine(b, ln, data)) })
}

// engine is the NATS server, embedded or not, with Steno's streams. end closes
// what was opened, when the services have ended.
func (o *upOptions) engine(ctx context.Context, data string, log *slog.Logger) (b *stack.Backend, parts []stack.Part, end func() error, err error) {
	if o.server.URL != "" {
		b, closeConn, err := stack.Prepare(ctx, &o.server, "up", log)
		if errors.Is(err, nats.ErrNoServers) {
			return nil, nil, nil, fmt.Errorf("no NATS is embedded, since --nats-url or STENO_NATS_URL names a server: %w", err)
		}
		return b, nil, func() error { closeConn(); return nil }, err
	}
	durability, ok := map[string]natsnode.Durability{"power": natsnode.Power, "process": natsnode.Process}[o.durability]
	if !ok {
		return nil, nil, nil, cli.Usagef("durability %q: want power or process", o.durability)
	}
	node, err := natsnode.Start(natsnode.Config{
		StoreDir: filepath.Join(data, "nats"), Listen: o.natsListen, Durability: durability, Logger: log,
	})
	if _, taken := errors.AsType[*natsnode.AddressInUseError](err); taken {
		return nil, nil, nil, fmt.Errorf("%w (--nats-listen chooses another address, none opens none; --nats-url uses a server that runs)", err)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	nc, err := node.Connect(nats.Name("steno up"))
	if err != nil {
		return nil, nil, nil, errors.Join(err, node.Stop())
	}
	end = func() error { nc.Close(); return node.Stop() }
	plan, err := node.Plan()
	if err == nil {
		b, err = stack.Open(ctx, nc, plan, log)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, end())
	}
	o.server.URL = node.ClientURL()
	return b, []stack.Part{{Name: "NATS server", Ready: node.Ready, Run: node.Run}}, end, nil
}

func (o *upOptions) readyLine(b *stack.Backend, ln net.Listener, data string) string {
	gateway, server := "none", "none"
	if ln != nil {
		gateway = stack.URL(ln)
	}
	if o.server.URL != "" {
		server = o.server.URL
	}
	return fmt.Sprintf("ready gateway=%s nats=%s data=%s", gateway, server, data)
}

func parseRoles(list string) (map[string]bool, error) {
	roles := make(map[string]bool)
	if list == "none" {
		return roles, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if name == "" || !strings.Contains(","+allRoles+",", ","+name+",") {
			return nil, cli.Usagef("role %q: want some of %s, or none", name, allRoles)
		}
		roles[name] = true
	}
	return roles, nil
}

// dataDir makes the data directory.
func dataDir(given string, getenv func(string) string) (string, error) {
	dir := given
	switch {
	case dir != "":
	case getenv("XDG_DATA_HOME") != "":
		dir = filepath.Join(getenv("XDG_DATA_HOME"), "steno")
	case getenv("HOME") != "":
		dir = filepath.Join(getenv("HOME"), ".local", "share", "steno")
	default:
		return "", cli.Usagef("no data directory: give --data")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	return dir, nil
}
