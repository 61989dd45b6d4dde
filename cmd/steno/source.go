package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/cmd/internal/stack"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// sources tells where sessions come from: each has one source, named by the
// label of its first agent.started, sdk when there is none.
type sources struct {
	nc    *nats.Conn
	log   eventlog.Log // nil while there are no streams
	known map[events.SessionID]string
}

// check refuses to add a job's events to a session of another source.
func (s *sources) check(ctx context.Context, job *importer.Job) error {
	session := job.Published()
	source, err := s.of(ctx, session)
	if err != nil {
		return fmt.Errorf("find the source of session %s: %w", session, err)
	}
	if mine := "import:" + job.Format.Name(); source != "" && source != mine {
		return fmt.Errorf("session %s comes from %s and cannot take events from %s: give another id with --session", session, source, mine)
	}
	return nil
}

// of is the source of a session, "" for one that does not exist.
func (s *sources) of(ctx context.Context, session events.SessionID) (string, error) {
	if source := s.known[session]; source != "" {
		return source, nil
	}
	if s.log == nil {
		log, err := stack.ReadLog(ctx, s.nc)
		if err != nil {
			return "", err
		}
		s.log = log
	}
	agents, err := s.log.Agents(ctx, session)
	if err != nil || len(agents) == 0 {
		return "", err
	}
	agent := agents[0]
	for _, id := range agents {
		if id == events.MainAgent {
			agent = id
		}
	}
	first, err := s.log.Range(ctx, session, agent, 0, 1)
	if errors.Is(err, eventlog.ErrNotFound) || err == nil && len(first) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	source := sourceOf(first[0].Data, session, agent)
	s.known[session] = source
	return source, nil
}

func sourceOf(data []byte, session events.SessionID, agent events.AgentID) string {
	var e events.Event
	if events.Read(data, session, agent, &e) != nil || e.Type != events.TypeAgentStarted {
		return "sdk"
	}
	labels, err := e.LabelMap()
	if err != nil || labels["source"] == "" {
		return "sdk"
	}
	return labels["source"]
}
