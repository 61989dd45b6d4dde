package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

const (
	askTimeout = 30 * time.Second // for one answer, which may take a fold of the log
	askPause   = 250 * time.Millisecond
	// headerMore is on all parts of an answer but the last.
	headerMore = "Steno-More"
	maxAnswer  = 64 << 20
)

// Resume returns what the agent's log says of where it stood, so that a runtime
// goes on after a crash: whole session, the end of its history. It waits until
// everything emitted so far is stored, then asks a gateway until it has an
// answer or ctx ends. Actions in State.Uncertain are not to be repeated before
// a person has decided. Values that are stored as blobs come as references.
func (p *Publisher) Resume(ctx context.Context) (*resume.State, error) {
	if err := p.Flush(ctx); err != nil {
		return nil, err
	}
	return p.conn.Resume(ctx, p.out.session, p.out.agent)
}

// Memory returns the agent's session memory, as Resume does; memory.Render
// makes text of it for a model.
func (p *Publisher) Memory(ctx context.Context) (*memory.Memory, error) {
	if err := p.Flush(ctx); err != nil {
		return nil, err
	}
	return p.conn.Memory(ctx, p.out.session, p.out.agent)
}

// Resume asks a gateway for the resume state of an agent; see
// Publisher.Resume. That of an agent without a log is empty.
func (c *Conn) Resume(ctx context.Context, s events.SessionID, a events.AgentID) (*resume.State, error) {
	st := new(resume.State)
	if err := c.ask(ctx, s, a, "resume", st); err != nil {
		return nil, err
	}
	return st, nil
}

// Memory asks a gateway for the session memory of an agent.
func (c *Conn) Memory(ctx context.Context, s events.SessionID, a events.AgentID) (*memory.Memory, error) {
	m := new(memory.Memory)
	if err := c.ask(ctx, s, a, "memory", m); err != nil {
		return nil, err
	}
	return m, nil
}

// ask puts a question about an agent until it is answered or ctx ends.
func (c *Conn) ask(ctx context.Context, s events.SessionID, a events.AgentID, what string, answer any) error {
	if _, err := events.ParseSessionID(string(s)); err != nil {
		return fmt.Errorf("ask for the %s of a session: %w", what, err)
	}
	if _, err := events.ParseAgentID(string(a)); err != nil {
		return fmt.Errorf("ask for the %s of an agent: %w", what, err)
	}
	for {
		data, err := c.answerTo(ctx, events.QuerySubject(s, a, what))
		if err == nil {
			err = json.Unmarshal(data, answer)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ask a gateway for the %s of %s/%s: %w", what, s, a, errors.Join(context.Cause(ctx), err))
		case <-time.After(askPause):
		}
	}
}

// answerTo puts a question once and joins the parts of the answer.
func (c *Conn) answerTo(ctx context.Context, subject string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be closed
	if err := c.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox}); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	var data []byte
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("request: %w", err)
		}
		if text := m.Header.Get(micro.ErrorHeader); text != "" {
			return nil, fmt.Errorf("the gateway answered: %s", text)
		}
		data = append(data, m.Data...)
		if m.Header.Get(headerMore) == "" {
			return data, nil
		}
		if len(data) > maxAnswer {
			return nil, fmt.Errorf("the answer is above %d MiB", maxAnswer>>20)
		}
	}
}
