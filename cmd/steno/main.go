// Command steno is the operator's tool: everything in one process (steno up),
// and what brings sessions in and shows them.
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
