package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

func (c *call) healthz() *problem { return c.text("ok\n") }

func (c *call) readyz() *problem {
	if err := c.g.Ready(); err != nil {
		return unavailable(err.Error())
	}
	return c.text("ready\n")
}

func (c *call) ws() *problem {
	c.g.serveWS(c.w, c.r)
	return nil
}

func (c *call) text(s string) *problem {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.w.Write([]byte(s)) // the client may have gone
	return nil
}

func (c *call) json(v any) *problem {
	body, err := json.Marshal(v)
	if err != nil {
		return asProblem(err)
	}
	return c.body(body)
}

// patience gives the client another while to take what is written next; one
// that takes nothing is let go.
func (c *call) patience() {
	rc := http.NewResponseController(c.w)
	_ = rc.SetWriteDeadline(time.Now().Add(c.g.cfg.Limits.SlowClient)) // a writer without deadlines has none to set
}

func (c *call) body(body []byte) *problem {
	c.patience()
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "no-store")
	_, _ = c.w.Write(body) // the client may have gone
	return nil
}

// feed returns the feed of an agent of the call's session. The problem is 404
// only after the stream's leader has been asked.
func (c *call) feed(a events.AgentID) (_ *feed, release func(), _ *problem) {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.g.cfg.Limits.CatchUp)
	defer cancel()
	s, err := c.g.hub.loaded(ctx, c.session)
	if err != nil {
		return nil, nil, asProblem(err)
	}
	f, err := s.find(ctx, a)
	switch {
	case err != nil:
		c.g.hub.release(s)
		return nil, nil, asProblem(err)
	case f == nil:
		known := len(s.current().feeds) > 0
		c.g.hub.release(s)
		if !known {
			return nil, nil, c.noSession()
		}
		return nil, nil, notFound("agent_not_found", "session "+string(c.session)+" has no agent "+string(a))
	}
	return f, func() { c.g.hub.release(s) }, nil
}

func (c *call) noSession() *problem {
	return notFound("session_not_found", "there is no session "+string(c.session))
}

// asProblem words an error of the ports for a client. What only helps whoever
// runs the gateway is in its log.
func asProblem(err error) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, errStopping):
		return unavailable("the event log has not answered in time; try again in a moment")
	case errors.Is(err, errTrimmed):
		return notFound("history_trimmed", "the beginning of this agent's log is no longer stored here, and the gateway reads no archive")
	case errors.Is(err, eventlog.ErrNotFound):
		return notFound("not_found", err.Error())
	}
	return &problem{http.StatusServiceUnavailable, "unavailable", "the event log or state store cannot be read now: " + err.Error()}
}

func (c *call) showSession() *problem {
	s, err := c.g.hub.loaded(c.r.Context(), c.session)
	if err != nil {
		return asProblem(err)
	}
	defer c.g.hub.release(s)
	if len(s.current().feeds) == 0 {
		if err := s.refresh(c.r.Context()); err != nil {
			return asProblem(err)
		}
	}
	v := s.current()
	if len(v.feeds) == 0 {
		return c.noSession()
	}
	return c.json(map[string]any{
		"session": c.g.sessionRow(s, v), "agents": v.docs(), "epoch": s.epoch,
	})
}

func (c *call) runs() *problem {
	agent := c.query.agent()
	run, _ := c.query.one("run_id")
	if len(run) > events.MaxID {
		c.query.fail(badRequest("bad_parameter", "run_id is longer than 128"))
	}
	if c.query.wrong != nil {
		return c.query.wrong
	}
	answer, err := c.g.Queries().Runs(c.r.Context(), c.session, agent, run)
	if err != nil {
		return asProblem(err)
	}
	return c.body(answer)
}

// sessionRow is the session's row of the list; one that the index does not
// have yet is made of what its logs say.
func (g *Gateway) sessionRow(s *session, v *view) json.RawMessage {
	if r := g.index.get(string(s.id)); r != nil {
		return r.render(time.Now())
	}
	doc, err := json.Marshal(v.summary(s.id))
	if err != nil { // strings and numbers only
		return json.RawMessage(`{}`)
	}
	return doc
}
