// Command recorder runs Steno's recorder against a NATS server.
package main

import (
	"context"
	"os"

	"github.com/stenohq/steno/cmd/internal/cli"
)

func main() {
	ctx, stop := cli.Signals(context.Background())
	code := run(ctx, os.Args[1:], cli.Process())
	stop()
	os.Exit(code)
}
