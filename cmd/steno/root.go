package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/cmd/internal/stack"
	"github.com/stenohq/steno/pkg/events"
)

// run is the program.
func run(ctx context.Context, args []string, world cli.IO) int {
	root := &cobra.Command{
		Use:   "steno",
		Short: "Record what AI agents do, and watch any session live or cold",
		Long: `Steno records what AI agents do, as it happens, and lets people and programs
watch any session live or cold.

Every flag may be given as an environment variable: --nats-url as STENO_NATS_URL.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done with something to look at.`,
		Example: `  steno up                                  # everything in one process
  steno import ~/.claude/projects           # bring sessions in
  steno sessions                            # list them
  steno show SESSION                        # read one
  steno tail SESSION                        # watch one live
  steno resume                              # where an agent of this directory stopped`,
	}
	//nolint:contextcheck // cobra hands ctx to the commands
	root.AddCommand(
		upCommand(world), importCommand(world), followCommand(world), publishCommand(world), sessionsCommand(world),
		showCommand(world), tailCommand(world), resumeCommand(world), memoryCommand(world), exportCommand(world),
		versionCommand(world),
	)
	return cli.Execute(ctx, root, args, world)
}

// reader are the flags of commands that read through a gateway.
type reader struct {
	gateway, token string
	json           bool
}

func (r *reader) flags(cmd *cobra.Command, jsonHelp string) {
	f := cmd.Flags()
	f.StringVar(&r.gateway, "gateway", stack.DefaultGateway, "gateway to read through")
	f.StringVar(&r.token, "token", "", "bearer token")
	if jsonHelp != "" {
		f.BoolVar(&r.json, "json", false, jsonHelp)
	}
}

func (r *reader) client() (*gwclient.Client, error) {
	c, err := gwclient.New(r.gateway, r.token)
	if err != nil {
		return nil, cli.Usagef("%w (--gateway)", err)
	}
	return c, nil
}

// sessionArg reads the argument SESSION.
func sessionArg(arg string) (events.SessionID, error) {
	id, err := events.ParseSessionID(arg)
	if err != nil {
		return "", badID("session", arg, err)
	}
	return id, nil
}

// agentFlag reads the flag --agent.
func agentFlag(value string) (events.AgentID, error) {
	id, err := events.ParseAgentID(value)
	if err != nil {
		return "", badID("agent", value, err)
	}
	return id, nil
}

// badID says what is wrong with an id.
func badID(what, id string, err error) error {
	problem := err.Error()
	if field, ok := errors.AsType[*events.FieldError](err); ok {
		problem = field.Problem
	}
	return cli.Usagef("%s id %q %s", what, short(id), problem)
}

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
