// Package query serves the questions that runtimes ask over NATS: the subjects
// steno.query.<session>.<agent>.<question>.
package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/stenohq/steno/pkg/events"
)

// Queries answers. Methods may be called concurrently.
type Queries interface {
	// Runs answers where a publisher of run stands in an agent log: the JSON
	// object {"next", "last_event_id", "current"}.
	Runs(ctx context.Context, s events.SessionID, a events.AgentID, run string) ([]byte, error)
	// Resume answers with the resume state of an agent, or of one of its runs
	// when run is not empty, with the whole history or its end, as JSON.
	Resume(ctx context.Context, s events.SessionID, a events.AgentID, run string, whole bool) ([]byte, error)
	// Memory answers with the session memory of an agent as JSON.
	Memory(ctx context.Context, s events.SessionID, a events.AgentID) ([]byte, error)
}

const (
	// MaxChunk is the size of one message of an answer. All but the last of a
	// longer answer carry HeaderMore.
	MaxChunk = 512 << 10
	// HeaderMore says that the answer goes on in another message.
	HeaderMore = "Steno-More"

	// maxAnswer bounds an answer: whoever asks has to take all its parts at
	// once. What is larger is there over HTTP.
	maxAnswer = 32 << 20

	maxAtOnce = 64 // answers in the making; more wait
)

// Service answers until Stop.
type Service struct {
	queries Queries
	log     *slog.Logger
	svc     micro.Service
	slots   chan struct{}

	mu      sync.Mutex // guards stopped and the start of work
	stopped bool
	work    sync.WaitGroup
}

// Serve starts to answer on nc. Answers are made under ctx. Of several
// services on one cluster each question reaches one.
func Serve(ctx context.Context, nc *nats.Conn, q Queries, log *slog.Logger) (*Service, error) {
	s := &Service{queries: q, log: log, slots: make(chan struct{}, maxAtOnce)}
	svc, err := micro.AddService(nc, micro.Config{
		Name: "steno-query", Version: "1.0.0", Description: "answers runtimes' questions about agent logs",
	})
	if err != nil {
		return nil, fmt.Errorf("start the query service: %w", err)
	}
	s.svc = svc
	for _, e := range []struct {
		name   string
		answer answerer
	}{{"runs", s.runs}, {"resume", s.resume}, {"memory", s.memory}} {
		handler := micro.HandlerFunc(func(r micro.Request) { s.handle(ctx, r, e.answer) })
		if err := svc.AddEndpoint(e.name, handler, micro.WithEndpointSubject(events.PrefixQuery+"*.*."+e.name)); err != nil {
			return nil, errors.Join(fmt.Errorf("serve %s: %w", e.name, err), s.Stop())
		}
	}
	return s, nil
}

// Stop takes no more questions and waits for the answers in the making.
func (s *Service) Stop() error {
	err := s.svc.Stop()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.work.Wait()
	if err != nil {
		return fmt.Errorf("stop the query service: %w", err)
	}
	return nil
}

type answerer func(ctx context.Context, s events.SessionID, a events.AgentID, question []byte) ([]byte, error)

// handle answers in a goroutine of its own, so that a slow answer does not
// hold up the others. It blocks when too many are in the making.
func (s *Service) handle(ctx context.Context, r micro.Request, answer answerer) {
	session, agent, _, err := events.ParseQuerySubject(r.Subject())
	if err != nil {
		s.refuse(r, "400", err)
		return
	}
	s.slots <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		<-s.slots
		s.refuse(r, "503", errors.New("stopping: ask again"))
		return
	}
	s.work.Go(func() {
		defer func() { <-s.slots }()
		data, err := answer(ctx, session, agent, r.Data())
		if err != nil {
			s.refuse(r, "500", err)
			return
		}
		if len(data) > maxAnswer {
			s.refuse(r, "413", fmt.Errorf("the answer has %d bytes, above the %d of this service: ask over HTTP", len(data), maxAnswer))
			return
		}
		if err := respond(r, data); err != nil {
			s.log.Warn("cannot answer a query", "subject", r.Subject(), "error", err)
		}
	})
}

func (s *Service) refuse(r micro.Request, code string, reason error) {
	s.log.Debug("query refused", "subject", r.Subject(), "code", code, "error", reason)
	if err := r.Error(code, reason.Error(), nil); err != nil {
		s.log.Warn("cannot answer a query", "subject", r.Subject(), "error", err)
	}
}

func respond(r micro.Request, data []byte) error {
	for len(data) > MaxChunk {
		if err := r.Respond(data[:MaxChunk], micro.WithHeaders(micro.Headers{HeaderMore: {"1"}})); err != nil {
			return fmt.Errorf("send a part of the answer: %w", err)
		}
		data = data[MaxChunk:]
	}
	if err := r.Respond(data); err != nil {
		return fmt.Errorf("send the answer: %w", err)
	}
	return nil
}

// question is what may stand in a request; a member that is not asked for is
// absent.
type question struct {
	RunID   string `json:"run_id"`
	History string `json:"history"` // all, or absent
}

func parseQuestion(data []byte) (question, error) {
	var q question
	if len(data) == 0 {
		return q, nil
	}
	if err := json.Unmarshal(data, &q); err != nil {
		return q, fmt.Errorf("decode the question: %w", err)
	}
	if len(q.RunID) > events.MaxID {
		return q, fmt.Errorf("decode the question: run_id is longer than %d", events.MaxID)
	}
	if q.History != "" && q.History != "all" {
		return q, errors.New("decode the question: history must be all, or absent")
	}
	return q, nil
}

func (s *Service) runs(ctx context.Context, session events.SessionID, agent events.AgentID, data []byte) ([]byte, error) {
	q, err := parseQuestion(data)
	if err != nil {
		return nil, err
	}
	return s.queries.Runs(ctx, session, agent, q.RunID)
}

func (s *Service) resume(ctx context.Context, session events.SessionID, agent events.AgentID, data []byte) ([]byte, error) {
	q, err := parseQuestion(data)
	if err != nil {
		return nil, err
	}
	return s.queries.Resume(ctx, session, agent, q.RunID, q.History != "")
}

func (s *Service) memory(ctx context.Context, session events.SessionID, agent events.AgentID, _ []byte) ([]byte, error) {
	return s.queries.Memory(ctx, session, agent)
}
