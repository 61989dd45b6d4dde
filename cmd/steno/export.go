package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

func exportCommand(cli.IO) *cobra.Command {
	var r reader
	var format, agent, output string
	cmd := &cobra.Command{
		Use: "export SESSION --format wire|json", Short: "Write a session to a file",
		Long: `Write what is known of a session. wire is the log of one agent, one stored message a
line; json is one object with the session's row, its agents, and the whole
transcript of each.`,
		Example: `  steno export demo --format wire > demo.jsonl
  steno export demo --format json -o demo.json`,
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
			client, err := r.client()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			switch format {
			case "wire":
				return writeTo(output, cmd.OutOrStdout(), func(w io.Writer) error { return exportWire(ctx, client, session, who, w) })
			case "json":
				return writeTo(output, cmd.OutOrStdout(), func(w io.Writer) error { return exportJSON(ctx, client, session, w) })
			}
			return cli.Usagef("format %q: want wire or json", short(format))
		},
	}
	r.flags(cmd, "")
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "wire or json")
	f.StringVar(&agent, "agent", string(events.MainAgent), "agent whose log to write, for wire")
	f.StringVarP(&output, "output", "o", "", "file to write, stdout when not given")
	return cmd
}

// writeTo writes to stdout, or to a file that has its name only once it is
// whole.
func writeTo(path string, stdout io.Writer, write func(io.Writer) error) (err error) {
	if path == "" {
		return write(stdout)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func exportWire(ctx context.Context, client *gwclient.Client, session events.SessionID, agent events.AgentID, w io.Writer) error {
	lines, err := client.Wire(ctx, session, agent, 0)
	if err != nil {
		return err
	}
	defer lines.Close()
	if _, err := io.Copy(w, lines); err != nil {
		return fmt.Errorf("the gateway's answer was cut: %w", err)
	}
	return nil
}

// exported is the object of format json.
type exported struct {
	Session     json.RawMessage   `json:"session"`
	Agents      json.RawMessage   `json:"agents"`
	Epoch       string            `json:"epoch"`
	Transcripts []json.RawMessage `json:"transcripts"`
}

func exportJSON(ctx context.Context, client *gwclient.Client, session events.SessionID, w io.Writer) error {
	data, err := client.Session(ctx, session)
	if err != nil {
		return err
	}
	var all exported
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	roster, err := reducer.DecodeDescriptors(all.Agents)
	if err != nil {
		return fmt.Errorf("read the agents: %w", err)
	}
	for _, agent := range roster {
		whole, seq, err := wholeTranscript(ctx, client, session, events.AgentID(agent.AgentID))
		if errors.Is(err, gwclient.ErrNotFound) {
			continue // announced by another agent, but without a log of its own
		}
		if err != nil {
			return err
		}
		doc, err := json.Marshal(map[string]any{
			"agent_id": agent.AgentID, "seq": seq, "transcript": json.RawMessage(whole.AppendJSON(nil)),
		})
		if err != nil {
			return fmt.Errorf("write a transcript: %w", err)
		}
		all.Transcripts = append(all.Transcripts, doc)
	}
	out, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write the session: %w", err)
	}
	return writeLine(w, out)
}

// wholeTranscript joins the pages of an agent.
func wholeTranscript(ctx context.Context, client *gwclient.Client, session events.SessionID, agent events.AgentID) (*reducer.Snapshot, uint64, error) {
	pages, err := client.History(ctx, session, agent)
	if err != nil {
		return nil, 0, err
	}
	tree := reducer.NewTranscript(string(agent))
	newest := pages[len(pages)-1]
	tree.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: string(agent), Snapshot: newest.Snapshot}})
	for i := len(pages) - 2; i >= 0; i-- {
		tree.LoadOlder(pages[i].Snapshot, i > 0)
	}
	for turn := range tree.Snapshot(-1).Turns() {
		err := client.OlderSteps(ctx, session, agent, turn, func(page *reducer.Snapshot, _ []*reducer.Step) {
			tree.LoadOlder(page, tree.HasMoreOlder())
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return tree.Snapshot(-1), newest.Seq, nil
}
