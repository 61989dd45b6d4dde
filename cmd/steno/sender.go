package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/cmd/internal/stack"
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/claudecode"
	"github.com/stenohq/steno/internal/importer/codex"
	"github.com/stenohq/steno/internal/importer/kimi"
	"github.com/stenohq/steno/internal/importer/kimilegacy"
	"github.com/stenohq/steno/internal/importer/mycodeagent"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
)

// formats are those that can be imported.
func formats() []importer.Format {
	return []importer.Format{
		claudecode.Format{},
		codex.Format{},
		kimi.Format{},
		kimilegacy.Format{},
		mycodeagent.Format{},
	}
}

// formatNames lists the formats for a flag's description.
func formatNames() string {
	names := []string{"auto"}
	for _, f := range formats() {
		names = append(names, f.Name())
	}
	return strings.Join(names, ", ")
}

// writer are the flags of commands that publish.
type writer struct {
	server stack.Server
	wait   time.Duration
	level  string
}

func (w *writer) flags(cmd *cobra.Command) {
	w.server.Flags(cmd.Flags(), stack.DefaultNATS)
	cmd.Flags().DurationVar(&w.wait, "wait", 10*time.Second, "how long to wait for NATS and a gateway to answer at first")
	cmd.Flags().StringVar(&w.level, "log-level", "error", "debug, info, warn or error")
}

// sink is an importer.Log over the SDK.
type sink struct {
	sender  *agent.Sender
	sources *sources
	wait    time.Duration
}

var _ importer.Log = (*sink)(nil)

// open connects; end flushes what is under way, for as long as ctx lets it,
// and closes.
func (w *writer) open(ctx context.Context, stderr io.Writer) (s *sink, end func(context.Context) error, err error) {
	log, err := cli.Logger(stderr, w.level)
	if err != nil {
		return nil, nil, err
	}
	nc, err := w.server.Dial(ctx, "steno", w.wait, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	conn := agent.NewConn(nc, agent.Logger(log))
	s = &sink{
		sender: conn.Sender(ctx), wait: w.wait,
		sources: &sources{nc: nc, known: make(map[events.SessionID]string)},
	}
	end = func(ctx context.Context) error {
		err := s.sender.Close(ctx)
		nc.Close()
		return err
	}
	return s, end, nil
}

// Run implements importer.Runs.
func (s *sink) Run(ctx context.Context, session events.SessionID, id events.AgentID, run string) (importer.RunState, error) {
	if s.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.wait)
		defer cancel()
	}
	p, err := s.sender.Run(ctx, session, id, run)
	if err != nil {
		return importer.RunState{}, fmt.Errorf("%w; is a gateway running?", err)
	}
	return importer.RunState{Next: p.Next, LastEventID: p.LastEventID, Current: p.Current}, nil
}

// Publish implements importer.Log.
func (s *sink) Publish(ctx context.Context, e *events.Event) error {
	err := s.sender.Publish(ctx, e)
	if errors.Is(err, agent.ErrSkipped) {
		return nil // its place in the log is taken, and the log says why
	}
	return err
}
