package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/cmd/internal/term"
)

func sessionsCommand(world cli.IO) *cobra.Command {
	var r reader
	var filter gwclient.Filter
	var limit int
	cmd := &cobra.Command{
		Use: "sessions", Short: "List sessions, the newest activity first",
		Example: "  steno sessions\n  steno sessions --state running --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := r.client()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			show := func(row json.RawMessage) error { return tableRow(out, row) }
			if r.json {
				show = func(row json.RawMessage) error { return writeLine(out, row) }
			} else {
				style := term.StyleFor(out, world.Getenv)
				fmt.Fprintln(out, style.Bold(fmt.Sprintf(tableFormat, "SESSION", "STATE", "AGENTS", "TURNS", "LAST ACTIVITY", "TITLE")))
			}
			return client.Sessions(cmd.Context(), filter, limit, show)
		},
	}
	r.flags(cmd, "print one JSON object a line")
	f := cmd.Flags()
	f.StringVar(&filter.Text, "query", "", "only sessions whose id, title or host holds this text")
	f.StringVar(&filter.State, "state", "", "only waiting, running, stale, failed or done ones")
	f.StringVar(&filter.Host, "host", "", "only sessions of this host")
	f.IntVar(&limit, "limit", 0, "at most so many, 0 for all")
	return cmd
}

const tableFormat = "%-38s %-8s %6s %6s  %-19s  %s"

func tableRow(w io.Writer, raw json.RawMessage) error {
	var row struct {
		ID     string `json:"session_id"`
		Title  string
		State  string
		Agents int
		Turns  int
		Last   string `json:"last_activity"`
	}
	if err := json.Unmarshal(raw, &row); err != nil {
		return fmt.Errorf("read a row of the session list: %w", err)
	}
	if at, err := time.Parse(time.RFC3339, row.Last); err == nil {
		row.Last = at.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintf(w, tableFormat+"\n", term.Line(row.ID), term.Line(row.State), fmt.Sprint(row.Agents), fmt.Sprint(row.Turns),
		term.Line(row.Last), term.Cut(term.Line(row.Title), 60))
	return err
}

// writeLine writes JSON as one line.
func writeLine(w io.Writer, data []byte) error {
	_, err := w.Write(append(append([]byte(nil), data...), '\n'))
	return err
}
