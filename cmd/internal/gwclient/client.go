// Package gwclient reads sessions through a gateway: REST for what is there,
// WebSocket for what comes.
package gwclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// maxAnswer bounds an answer that is read whole.
const maxAnswer = 64 << 20

// ErrNotFound is wrapped when the gateway knows no such session or agent.
var ErrNotFound = errors.New("not found")

// Client asks one gateway. Its methods may be called concurrently.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New returns a client of the gateway at base, such as http://127.0.0.1:7777.
func New(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("gateway address %q: want http://host:port", base)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented
	return &Client{base: u, token: token, http: &http.Client{Transport: transport}}, nil
}

// Close ends the connections that are kept for further questions.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// at is the address of a path below the gateway's. Segments are escaped.
func (c *Client) at(query url.Values, segments ...string) string {
	u := *c.base
	for _, s := range segments {
		u.RawPath = "" // let String escape
		u = *u.JoinPath(url.PathEscape(s))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// get asks and returns the body of a good answer, which the caller closes.
func (c *Client) get(ctx context.Context, address string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w; is one running there? (--gateway)", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	return nil, problem(resp)
}

// problem words what the gateway answers when it refuses.
func problem(resp *http.Response) error {
	var p struct{ Code, Detail, Title string }
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil || p.Detail == "" {
		p.Detail = resp.Status
	}
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("gateway: %s: %w", p.Detail, ErrNotFound)
	}
	return fmt.Errorf("gateway: %s", p.Detail)
}

func (c *Client) read(ctx context.Context, address string) ([]byte, error) {
	body, err := c.get(ctx, address)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the gateway's answer: %w", err)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("the gateway's answer is above %d MiB", maxAnswer>>20)
	}
	return data, nil
}

// Filter selects sessions.
type Filter struct{ Text, State, Host string }

// Sessions yields the rows of the session list, newest activity first, at most
// limit of them; 0 is all.
func (c *Client) Sessions(ctx context.Context, f Filter, limit int, yield func(row json.RawMessage) error) error {
	query := url.Values{"limit": {"200"}}
	for name, value := range map[string]string{"q": f.Text, "state": f.State, "host": f.Host} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for n := 0; ; {
		data, err := c.read(ctx, c.at(query, "v1", "sessions"))
		if err != nil {
			return err
		}
		var page struct {
			Sessions []json.RawMessage
			HasMore  bool   `json:"has_more"`
			Cursor   string `json:"next_cursor"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return fmt.Errorf("read the session list: %w", err)
		}
		for _, row := range page.Sessions {
			if err := yield(row); err != nil {
				return err
			}
			if n++; n == limit {
				return nil
			}
		}
		if !page.HasMore || page.Cursor == "" {
			return nil
		}
		query.Set("cursor", page.Cursor)
	}
}

// Session is the answer of the session route: {session, agents, epoch}.
func (c *Client) Session(ctx context.Context, id events.SessionID) ([]byte, error) {
	return c.read(ctx, c.at(nil, "v1", "sessions", string(id)))
}

// Page asks for turns of an agent; query holds the parameters of the route.
// The answer comes decoded and as it was sent.
func (c *Client) Page(ctx context.Context, id events.SessionID, agent events.AgentID, query url.Values) (protocol.Page, []byte, error) {
	q := url.Values{"agent_id": {string(agent)}}
	maps.Copy(q, query)
	data, err := c.read(ctx, c.at(q, "v1", "sessions", string(id), "transcript"))
	if err != nil {
		return protocol.Page{}, nil, err
	}
	page, err := protocol.DecodePage(data)
	if err != nil {
		return protocol.Page{}, nil, fmt.Errorf("read a page: %w", err)
	}
	return page, data, nil
}

// CatchUp asks for the batches behind a place.
func (c *Client) CatchUp(ctx context.Context, id events.SessionID, agent events.AgentID, since uint64, g grade.Grade, epoch string) (protocol.CatchUp, error) {
	q := url.Values{
		"agent_id": {string(agent)}, "since_seq": {strconv.FormatUint(since, 10)}, "grade": {g.String()}, "limit": {"2000"},
	}
	if epoch != "" {
		q.Set("epoch", epoch)
	}
	data, err := c.read(ctx, c.at(q, "v1", "sessions", string(id), "transcript", "ops"))
	if err != nil {
		return protocol.CatchUp{}, err
	}
	answer, err := protocol.DecodeCatchUp(data)
	if err != nil {
		return protocol.CatchUp{}, fmt.Errorf("read operations: %w", err)
	}
	return answer, nil
}

// Wire opens the agent log as lines, behind a seq. The caller closes it.
func (c *Client) Wire(ctx context.Context, id events.SessionID, agent events.AgentID, since uint64) (io.ReadCloser, error) {
	q := url.Values{"agent_id": {string(agent)}, "since_seq": {strconv.FormatUint(since, 10)}}
	return c.get(ctx, c.at(q, "v1", "sessions", string(id), "wire"))
}
