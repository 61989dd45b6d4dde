package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/stack"
)

func run(ctx context.Context, args []string, world cli.IO) int {
	var data string
	role := stack.Role{
		Name:    "recorder",
		Short:   "Write the archive: every stored message, once and in order, in wire.jsonl",
		Example: "  recorder --nats-url nats://nats.internal:4222 --data /var/lib/steno",
		Flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&data, "data", "", "data directory; one recorder at a time uses it")
		},
		Part: func(_ context.Context, b *stack.Backend, name string, log *slog.Logger) (stack.Part, string, error) {
			if data == "" {
				return stack.Part{}, "", cli.Usagef("no data directory: give --data")
			}
			return b.Recorder(name, data, log), " data=" + data, nil
		},
	}
	return cli.Execute(ctx, role.Command(), args, world) //nolint:contextcheck // cobra hands ctx to the command
}
