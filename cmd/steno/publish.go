package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

func publishCommand(cli.IO) *cobra.Command {
	var w writer
	var agentID string
	cmd := &cobra.Command{
		Use:   "publish SESSION [FILE]",
		Short: "Publish events, one JSON object a line",
		Long: `Publish envelopes from a file or stdin, one JSON object a line. session_id and
agent_id may be left out; when given they must be those of the command.`,
		Example: `  echo '{"event_type":"turn.started","payload":{"prompt":"hi"}}' | steno publish demo
  steno publish demo --agent helper events.ndjson`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			session, err := sessionArg(args[0])
			if err != nil {
				return err
			}
			who, err := agentFlag(agentID)
			if err != nil {
				return err
			}
			in := cmd.InOrStdin()
			if len(args) > 1 {
				f, err := os.Open(args[1])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			s, end, err := w.open(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeWithin(cmd.Context(), end)) }()
			return publish(cmd.Context(), s.sender, session, who, in, cmd.OutOrStdout())
		},
	}
	w.flags(cmd)
	cmd.Flags().StringVar(&agentID, "agent", string(events.MainAgent), "agent whose events these are")
	return cmd
}

func publish(ctx context.Context, sender *agent.Sender, session events.SessionID, who events.AgentID, in io.Reader, stdout io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2*events.MaxSize)
	stored, bad, number := 0, 0, 0
	for lines.Scan() {
		number++
		line := scan.Trim(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		switch problem := publishLine(ctx, sender, session, who, line); {
		case ctx.Err() != nil:
			return ctx.Err()
		case problem != nil:
			bad++
			fmt.Fprintf(stdout, "line %d not published: %s\n", number, cli.Line(problem.Error()))
		default:
			stored++
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read events behind line %d: %w (an event is at most 1 MiB)", number, err)
	}
	if err := sender.Flush(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d events stored\n", stored)
	if bad > 0 {
		return cli.LookAt(fmt.Sprintf("%d lines were not published", bad))
	}
	return nil
}

func publishLine(ctx context.Context, sender *agent.Sender, session events.SessionID, who events.AgentID, line []byte) error {
	var e events.Event
	if err := events.Read(bytes.Clone(line), session, who, &e); err != nil {
		return err
	}
	return sender.Publish(ctx, &e)
}
