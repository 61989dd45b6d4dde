package main

import (
	"context"
	"log/slog"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/stack"
)

func run(ctx context.Context, args []string, world cli.IO) int {
	role := stack.Role{
		Name:    "projector",
		Short:   "Keep the present of every session: heads, checkpoints and the session list",
		Example: "  projector --nats-url nats://nats.internal:4222 --health-listen :8081",
		Part: func(_ context.Context, b *stack.Backend, name string, log *slog.Logger) (stack.Part, string, error) {
			if name == "" {
				name = stack.MemberName()
			}
			return b.Projector(name, log), " name=" + name, nil
		},
	}
	return cli.Execute(ctx, role.Command(), args, world) //nolint:contextcheck // cobra hands ctx to the command
}
