package gwclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// Resume asks for the resume state of an agent, or of one of its runs. The
// answer comes decoded and as it was sent.
func (c *Client) Resume(ctx context.Context, id events.SessionID, agent events.AgentID, run string) (*resume.State, []byte, error) {
	q := url.Values{"agent_id": {string(agent)}}
	if run != "" {
		q.Set("run_id", run)
	}
	data, err := c.read(ctx, c.at(q, "v1", "sessions", string(id), "resume"))
	if err != nil {
		return nil, nil, err
	}
	st := new(resume.State)
	if err := json.Unmarshal(data, st); err != nil {
		return nil, nil, fmt.Errorf("read the resume state: %w", err)
	}
	return st, data, nil
}

// Memory asks for the session memory of an agent. The answer comes decoded and
// as it was sent.
func (c *Client) Memory(ctx context.Context, id events.SessionID, agent events.AgentID) (*memory.Memory, []byte, error) {
	q := url.Values{"agent_id": {string(agent)}}
	data, err := c.read(ctx, c.at(q, "v1", "sessions", string(id), "memory"))
	if err != nil {
		return nil, nil, err
	}
	m, err := memory.Parse(data)
	return m, data, err
}

// Publish hands one event, as JSON, to the gateway. When it returns without an
// error the event is stored.
func (c *Client) Publish(ctx context.Context, id events.SessionID, agent events.AgentID, event []byte) error {
	address := c.at(url.Values{"agent_id": {string(agent)}}, "v1", "sessions", string(id), "events")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(event))
	if err != nil {
		return fmt.Errorf("publish through the gateway: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("publish through the gateway: %w; is one running there? (--gateway)", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusTooManyRequests {
		return problem(resp)
	}
	var answer struct {
		Results []struct{ Result, Reason string }
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	if len(answer.Results) != 1 {
		return fmt.Errorf("the gateway answered for %d events, not for one", len(answer.Results))
	}
	switch r := answer.Results[0]; r.Result {
	case "stored", "duplicate":
		return nil
	default:
		return fmt.Errorf("the event was not stored (%s): %s", r.Result, r.Reason)
	}
}
