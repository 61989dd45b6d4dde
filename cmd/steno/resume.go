package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/cmd/internal/term"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/resume"
)

// resumer is one run of steno resume.
type resumer struct {
	reader
	client  *gwclient.Client
	session events.SessionID
	agent   events.AgentID
	run     string
	decide  []string
	note    string
	by      string
}

func resumeCommand(world cli.IO) *cobra.Command {
	var r resumer
	var agent string
	cmd := &cobra.Command{
		Use: "resume [SESSION]", Short: "Show what an agent needs to go on, and decide about uncertain actions",
		Long: `Show where an agent stopped: first the actions that began and whose end nobody
recorded, then what is to be planned again, and where the conversation stands.
Without SESSION it is the newest one that was started in this directory on this
host.

An uncertain action may or may not have happened. Look, then say which: done, failed,
or retry when it may be done again. A running agent is not disturbed.

Exit code 3 while any action is undecided.`,
		Example: `  steno resume                                     # the newest session of this directory
  steno resume demo --agent helper
  steno resume demo --decide call_7=done --note "the file is as it should be"
  steno resume demo --decide RUN/call_7=retry      # where call ids repeat
  steno resume demo --json | jq .model_messages    # what a model should see`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.agent, err = agentFlag(agent); err != nil {
				return err
			}
			if len(args) > 0 {
				if r.session, err = sessionArg(args[0]); err != nil {
					return err
				}
			}
			if len(r.run) > events.MaxID {
				return cli.Usagef("--run is longer than %d", events.MaxID)
			}
			if r.client, err = r.reader.client(); err != nil {
				return err
			}
			r.by = world.Getenv("USER")
			return r.do(cmd, world)
		},
	}
	r.flags(cmd, "print the resume state as one JSON object")
	f := cmd.Flags()
	f.StringVar(&agent, "agent", string(events.MainAgent), "agent to resume")
	f.StringVar(&r.run, "run", "", "only this run (default: the whole session)")
	f.StringArrayVar(&r.decide, "decide", nil, "settle an uncertain action: CALL=done|failed|retry; may be repeated")
	f.StringVar(&r.note, "note", "", "why it was decided so")
	return cmd
}

func (r *resumer) do(cmd *cobra.Command, world cli.IO) error {
	wanted, err := parseDecisions(r.decide)
	if err != nil {
		return err
	}
	if r.note != "" && len(wanted) == 0 {
		return cli.Usagef("--note goes with --decide")
	}
	ctx := cmd.Context()
	if r.session == "" {
		if err := r.newest(ctx); err != nil {
			return err
		}
	}
	st, raw, err := r.client.Resume(ctx, r.session, r.agent, r.run)
	if err != nil {
		return err
	}
	if len(wanted) > 0 {
		if st, raw, err = r.settle(ctx, st, wanted); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if r.json {
		err = writeLine(out, raw)
	} else {
		err = printResume(out, term.StyleFor(out, world.Getenv), st)
	}
	if err != nil {
		return err
	}
	switch n := max(len(st.Uncertain()), undecided(st)); n {
	case 0:
		return nil
	case 1:
		return cli.LookAt("1 action is undecided: look what became of it, then --decide CALL=done|failed|retry")
	default:
		return cli.LookAt(fmt.Sprintf("%d actions are undecided: look what became of them, then --decide CALL=done|failed|retry", n))
	}
}

// undecided is how many uncertain calls are no longer listed, because there
// are too many of them.
func undecided(st *resume.State) int {
	listed := 0
	for _, c := range st.ToolCalls {
		if c.Class == resume.ClassUncertain {
			listed++
		}
	}
	return st.ToolCounts.Uncertain - listed + len(st.Uncertain())
}

var errFound = errors.New("found")

// newest finds the newest session that was started in this directory on this
// host and has the agent.
func (r *resumer) newest(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of this host: %w; name a session", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find this directory: %w; name a session", err)
	}
	same := map[string]bool{dir: true}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		same[real] = true
	}
	err = r.client.Sessions(ctx, gwclient.Filter{Host: host}, 0, func(raw json.RawMessage) error {
		var row struct {
			ID     string            `json:"session_id"`
			Labels map[string]string `json:"labels"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("read a row of the session list: %w", err)
		}
		if !same[row.Labels["cwd"]] {
			return nil
		}
		id, err := sessionArg(row.ID)
		if err != nil {
			return err
		}
		if _, _, err := r.client.Resume(ctx, id, r.agent, r.run); errors.Is(err, gwclient.ErrNotFound) {
			return nil // of another agent only
		}
		r.session = id
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("no session of agent %s was started in %s on host %s: name one; steno sessions lists them", r.agent, dir, host)
}
