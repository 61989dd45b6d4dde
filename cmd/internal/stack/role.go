package stack

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
)

// Role is a program that runs one role against a NATS server.
type Role struct {
	Name    string
	Short   string
	Example string
	// Flags adds the role's own flags.
	Flags func(*cobra.Command)
	// Part makes the service and says what its ready line tells.
	Part func(ctx context.Context, b *Backend, name string, log *slog.Logger) (part Part, ready string, err error)
}

// Command is the role's command line.
func (r Role) Command() *cobra.Command {
	var server Server
	var name, health, level string
	cmd := &cobra.Command{
		Use: r.Name, Short: r.Short, Example: r.Example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := cli.Logger(cmd.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			return r.run(cmd, &server, name, health, log)
		},
	}
	f := cmd.Flags()
	server.Flags(f, DefaultNATS)
	f.StringVar(&name, "name", "", "name among the members of this role (default: host and a random part)")
	f.StringVar(&health, "health-listen", "", "address that serves /healthz and /readyz")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	if r.Flags != nil {
		r.Flags(cmd)
	}
	return cmd
}

func (r Role) run(cmd *cobra.Command, server *Server, name, health string, log *slog.Logger) error {
	ctx := cmd.Context()
	b, closeConn, err := Prepare(ctx, server, r.Name, log)
	if err != nil {
		return err
	}
	defer closeConn()
	part, ready, err := r.Part(ctx, b, name, log)
	if err != nil {
		return err
	}
	watched := []Part{part}
	parts := append(watched, Part{
		Name: "health", Ready: func() error { return nil },
		Run: func(ctx context.Context) error { return Health(ctx, health, watched) },
	})
	return Run(ctx, parts, func() {
		fmt.Fprintf(cmd.OutOrStdout(), "ready %s%s\n", r.Name, ready)
	})
}
