package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/term"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/memory"
)

func memoryCommand(cli.IO) *cobra.Command {
	var r reader
	var agent string
	var budget int
	cmd := &cobra.Command{
		Use: "memory SESSION", Short: "Show what an agent remembers of a session",
		Long: `Show the session memory of an agent as text: its goal, open todos, what is to be
verified, decisions, failures and finished work, each at most a screenful.`,
		Example: `  steno memory demo
  steno memory demo --agent helper --char-budget 2000
  steno memory demo --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := sessionArg(args[0])
			if err != nil {
				return err
			}
			who, err := agentFlag(agent)
			if err != nil {
				return err
			}
			if budget < 0 {
				return cli.Usagef("--char-budget %d: want a number of characters, 0 for all", budget)
			}
			client, err := r.client()
			if err != nil {
				return err
			}
			m, raw, err := client.Memory(cmd.Context(), session, who)
			if err != nil {
				return err
			}
			if r.json {
				return writeLine(cmd.OutOrStdout(), raw)
			}
			if budget == 0 {
				budget = math.MaxInt
			}
			text := memory.Render(m, budget)
			if text == "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "there is nothing to remember yet")
				return nil
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), term.Safe(text))
			return err
		},
	}
	r.flags(cmd, "print the memory as one JSON object")
	cmd.Flags().StringVar(&agent, "agent", string(events.MainAgent), "agent whose memory to show")
	cmd.Flags().IntVar(&budget, "char-budget", 0, "at most so many characters, 0 for all")
	return cmd
}
