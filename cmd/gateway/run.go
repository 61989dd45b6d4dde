package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/stack"
)

func run(ctx context.Context, args []string, world cli.IO) int {
	var listen string
	var insecure bool
	role := stack.Role{
		Name:    "gateway",
		Short:   "Serve sessions to dashboards, programs and runtimes",
		Example: "  gateway --nats-url nats://nats.internal:4222 --listen 127.0.0.1:7777",
		Flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:7777", "address to serve on")
			cmd.Flags().BoolVar(&insecure, "insecure", false, "serve without access control on an address that others reach")
		},
		Part: func(ctx context.Context, b *stack.Backend, _ string, log *slog.Logger) (stack.Part, string, error) {
			ln, err := stack.Listen(ctx, listen, insecure)
			if err != nil {
				return stack.Part{}, "", err
			}
			return b.Gateway(ln, nil, log), " gateway=" + stack.URL(ln), nil
		},
	}
	return cli.Execute(ctx, role.Command(), args, world) //nolint:contextcheck // cobra hands ctx to the command
}
