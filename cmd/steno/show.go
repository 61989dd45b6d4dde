package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/cmd/internal/term"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

func showCommand(world cli.IO) *cobra.Command {
	var r reader
	var agent, page string
	var full bool
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Show a transcript in the terminal",
		Long: `Show the transcript of an agent: its turns, texts, tool calls and markers.

Text of models, tools and people is shown as text: control characters in it become
visible signs.`,
		Example: `  steno show 33c772d9-b322-4f61-a37d-7d5634a80b45
  steno show demo --page last          # the newest 20 turns
  steno show demo --page before=t40    # 20 turns before that one
  steno show demo --agent helper --full`,
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
			query, err := pageFlag(page)
			if err != nil {
				return err
			}
			client, err := r.client()
			if err != nil {
				return err
			}
			s := &shower{client: client, session: session, agent: who, out: cmd.OutOrStdout(), json: r.json}
			lines := 5
			if full {
				lines = 0
			}
			s.printer = term.NewPrinter(s.out, term.Options{Style: term.StyleFor(s.out, world.Getenv), Lines: lines})
			return s.run(cmd.Context(), query)
		},
	}
	r.flags(cmd, "print the items of the timeline as JSON, one a line")
	f := cmd.Flags()
	f.StringVar(&agent, "agent", string(events.MainAgent), "agent whose transcript to show")
	f.StringVar(&page, "page", "all", "all, last, before=TURN or after=TURN")
	f.BoolVar(&full, "full", false, "show what tools answered to the last line")
	return cmd
}

// pageFlag is the query of one page; nil for all.
func pageFlag(value string) (url.Values, error) {
	name, turn, cursor := strings.Cut(value, "=")
	switch {
	case value == "all":
		return nil, nil
	case value == "last":
		return url.Values{}, nil
	case cursor && turn != "" && (name == "before" || name == "after"):
		return url.Values{name + "_turn": {turn}}, nil
	}
	return nil, cli.Usagef("page %q: want all, last, before=TURN or after=TURN", short(value))
}

// shower shows pages.
type shower struct {
	client  *gwclient.Client
	session events.SessionID
	agent   events.AgentID
	out     io.Writer
	json    bool
	printer *term.Printer
	totals  totals
}

// totals is what the last line counts.
type totals struct {
	turns, steps, calls, errors int
	in, cached, out             float64
}

func (s *shower) run(ctx context.Context, query url.Values) error {
	pages, err := s.pages(ctx, query)
	if err != nil {
		return err
	}
	for _, page := range pages {
		for item := range page.Snapshot.Items() {
			if err := s.item(ctx, item); err != nil {
				return err
			}
		}
	}
	if s.json {
		return nil
	}
	for _, page := range pages {
		s.printer.Snapshot(string(s.agent), page.Snapshot) // entities; the items are known
	}
	if others := s.others(pages[len(pages)-1].Agents); others != "" {
		s.printer.Note("other agents: " + others)
	}
	t := s.totals
	s.printer.Note(fmt.Sprintf("%s, %s, %s (%s), tokens %.0f in, %.0f cached, %.0f out",
		count(t.turns, "turn"), count(t.steps, "step"), count(t.calls, "tool call"), count(t.errors, "error"), t.in, t.cached, t.out))
	return s.printer.End()
}

// others names the session's other agents.
func (s *shower) others(roster []reducer.AgentDescriptor) string {
	var names []string
	for _, d := range roster {
		if d.AgentID != string(s.agent) {
			names = append(names, d.AgentID)
		}
	}
	return strings.Join(names, ", ")
}

func (s *shower) pages(ctx context.Context, query url.Values) ([]protocol.Page, error) {
	if query == nil {
		return s.client.History(ctx, s.session, s.agent)
	}
	page, _, err := s.client.Page(ctx, s.session, s.agent, query)
	return []protocol.Page{page}, err
}

func (s *shower) item(ctx context.Context, item reducer.Item) error {
	if item.Turn != nil {
		turn := *item.Turn
		var err error
		if turn.Steps, err = s.client.Steps(ctx, s.session, s.agent, item.Turn); err != nil {
			return err
		}
		turn.HasMoreSteps = false
		item.Turn = &turn
		s.totals.add(&turn)
	}
	if s.json {
		return writeLine(s.out, item.AppendJSON(nil))
	}
	s.printer.Item(string(s.agent), item)
	return nil
}

func (t *totals) add(turn *reducer.Turn) {
	t.turns++
	t.steps += len(turn.Steps)
	for _, step := range turn.Steps {
		if u := step.Usage; u != nil {
			t.in += u.InputOther + u.InputCacheCreation
			t.cached += u.InputCacheRead
			t.out += u.Output
		}
		for _, f := range step.Frames {
			if f.Kind != reducer.FrameTool {
				continue
			}
			t.calls++
			if f.State == reducer.ToolError {
				t.errors++
			}
		}
	}
}

// count words a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
