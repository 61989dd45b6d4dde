package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/cmd/internal/term"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

type tailOptions struct {
	reader reader
	agent  string
	grade  string
	since  uint64
	turns  int
	full   bool
}

func tailCommand(world cli.IO) *cobra.Command {
	var o tailOptions
	cmd := &cobra.Command{
		Use: "tail SESSION", Short: "Watch a session live",
		Long: `Show what an agent does as it happens, until interrupted. A lost connection is made
again, and goes on where it was: nothing is missing and nothing shown twice. A
session that does not exist yet is waited for.

Grades: turn shows turns, block whole texts and tool calls, delta text as it comes.`,
		Example: `  steno tail demo
  steno tail demo --agent '*' --grade block
  steno tail demo --since-seq 0 --json     # every batch of operations from the first`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := sessionArg(args[0])
			if err != nil {
				return err
			}
			return o.run(cmd, session, world)
		},
	}
	o.reader.flags(cmd, "print baselines and batches of operations, one a line")
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", string(events.MainAgent), "agent to watch, * for all")
	f.StringVar(&o.grade, "grade", "delta", "turn, block or delta")
	f.Uint64Var(&o.since, "since-seq", 0, "begin behind this seq, 0 for the whole log (default: the newest turns)")
	f.IntVar(&o.turns, "turns", 3, "turns to show at first")
	f.BoolVar(&o.full, "full", false, "show what tools answered to the last line")
	return cmd
}

func (o *tailOptions) run(cmd *cobra.Command, session events.SessionID, world cli.IO) error {
	if o.agent != "*" {
		if _, err := agentFlag(o.agent); err != nil {
			return err
		}
	}
	g, err := grade.Parse(o.grade)
	if err != nil || g == grade.Off {
		return cli.Usagef("grade %q: want turn, block or delta", short(o.grade))
	}
	if o.turns < 0 || o.turns > 100 {
		return cli.Usagef("--turns %d: want 0 to 100", o.turns)
	}
	client, err := o.reader.client()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	w := &gwclient.Watch{Client: client, Session: session, Agent: o.agent, Grade: g, Turns: o.turns}
	if cmd.Flags().Changed("since-seq") {
		w.Since = map[string]uint64{o.agent: o.since}
	}
	if o.reader.json {
		w.Handler = &jsonTail{out: out, log: cmd.ErrOrStderr(), fail: cancel}
	} else {
		lines := 5
		if o.full {
			lines = 0
		}
		w.Handler = &screen{log: cmd.ErrOrStderr(), fail: cancel, printer: term.NewPrinter(out, term.Options{
			Style: term.StyleFor(out, world.Getenv), Agents: o.agent == "*", Lines: lines,
		})}
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	if cmd.Context().Err() == nil { // output that nobody takes any more
		return context.Cause(ctx)
	}
	return nil
}

// screen shows a watch to a person. Progress goes to log.
type screen struct {
	printer *term.Printer
	log     io.Writer
	fail    context.CancelCauseFunc
	lost    bool
}

func (s *screen) flush() {
	if err := s.printer.Flush(); err != nil {
		s.fail(err)
	}
}

// Baseline implements gwclient.Handler.
func (s *screen) Baseline(agent string, snapshot *reducer.Snapshot, _ uint64, why gwclient.Why) {
	switch why {
	case gwclient.First:
	case gwclient.Lost:
		s.printer.Note("some of what happened meanwhile is no longer known here")
	case gwclient.Anew:
		s.printer.Note("the session begins anew")
		s.printer.Forget(agent)
	}
	s.printer.Snapshot(agent, snapshot)
	s.flush()
}

// Batch implements gwclient.Handler.
func (s *screen) Batch(agent string, b protocol.Batch) {
	s.printer.Ops(agent, b.Ops)
	s.flush()
}

// Connected implements gwclient.Handler.
func (s *screen) Connected(err error) { s.lost = notice(s.log, s.lost, err) }

// notice tells once that the connection is lost, and that it is back.
func notice(log io.Writer, lost bool, err error) bool {
	switch {
	case err != nil && !lost:
		_, _ = io.WriteString(log, "steno: connection lost, trying again: "+cli.Line(err.Error())+"\n")
	case err == nil && lost:
		_, _ = io.WriteString(log, "steno: connected again\n")
	}
	return err != nil
}

// jsonTail writes a watch as lines.
type jsonTail struct {
	out, log io.Writer
	fail     context.CancelCauseFunc
	lost     bool
}

type jsonLine struct {
	Type     string          `json:"type"`
	Agent    string          `json:"agent_id"`
	Seq      uint64          `json:"seq"`
	PrevSeq  *uint64         `json:"prev_seq,omitempty"`
	Ops      json.RawMessage `json:"ops,omitempty"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
}

func (t *jsonTail) write(l jsonLine) {
	data, err := json.Marshal(l)
	if err == nil {
		err = writeLine(t.out, data)
	}
	if err != nil {
		t.fail(err)
	}
}

// Baseline implements gwclient.Handler.
func (t *jsonTail) Baseline(agent string, s *reducer.Snapshot, seq uint64, _ gwclient.Why) {
	t.write(jsonLine{Type: protocol.TypeReset, Agent: agent, Seq: seq, Snapshot: s.AppendJSON(nil)})
}

// Batch implements gwclient.Handler.
func (t *jsonTail) Batch(agent string, b protocol.Batch) {
	t.write(jsonLine{Type: protocol.TypeOps, Agent: agent, Seq: b.Seq, PrevSeq: &b.PrevSeq, Ops: reducer.AppendOps(nil, b.Ops)})
}

// Connected implements gwclient.Handler.
func (t *jsonTail) Connected(err error) { t.lost = notice(t.log, t.lost, err) }
