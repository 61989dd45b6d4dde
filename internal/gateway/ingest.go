package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// bodyTime is how long a client may take to send its body.
const bodyTime = time.Minute

// The results of one event.
const (
	stored    = "stored"
	duplicate = "duplicate"
	rejected  = "rejected" // never fits; do not send it again
	retry     = "retry"    // not stored; send it again
)

// result says what became of one event, in the order of the body.
type result struct {
	EventID string `json:"event_id,omitempty"`
	N       uint64 `json:"n,omitempty"`
	Result  string `json:"result"`
	Reason  string `json:"reason,omitempty"`
}

// ingest stores the events of the body, one by one, and answers when the log
// has them. One bad event does not lose its neighbours.
func (c *call) ingest() *problem {
	agent := c.query.agent()
	if c.query.wrong != nil {
		return c.query.wrong
	}
	body, p := c.readBody()
	if p != nil {
		return p
	}
	list, p := splitEvents(body)
	if p != nil {
		return p
	}
	in := &intake{g: c.g, session: c.session, agent: agent, runs: map[runKey]*runState{}}
	results := make([]result, 0, len(list))
	for _, data := range list {
		results = append(results, in.take(c.r.Context(), data))
	}
	status := http.StatusOK
	if in.full {
		status = http.StatusTooManyRequests
		c.w.Header().Set("Retry-After", "1")
	}
	out, err := json.Marshal(map[string]any{"results": results})
	if err != nil {
		return asProblem(err)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(out) // the client may have gone
	return nil
}

func (c *call) readBody() ([]byte, *problem) {
	limit := c.g.cfg.Limits.BodyBytes
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // a server without deadlines has none to set
	var in io.Reader = http.MaxBytesReader(c.w, c.r.Body, limit)
	switch enc := c.r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, badRequest("bad_encoding", "the body is not gzip: "+err.Error())
		}
		in = io.LimitReader(z, limit+1)
	default:
		return nil, &problem{http.StatusUnsupportedMediaType, "bad_encoding", "Content-Encoding " + shown(enc) + " is not known here; use gzip or none"}
	}
	body, err := io.ReadAll(in)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large) || int64(len(body)) > limit:
		return nil, &problem{http.StatusRequestEntityTooLarge, "body_too_large", "the body is above the limit; send fewer events at once"}
	case err != nil:
		return nil, badRequest("bad_body", "the body cannot be read: "+err.Error())
	}
	return body, nil
}

// splitEvents takes one event, an array, or NDJSON apart. A line that is no
// JSON is an event of its own, to be rejected.
func splitEvents(body []byte) ([][]byte, *problem) {
	body = scan.Trim(body)
	var list [][]byte
	switch {
	case len(body) == 0:
		return nil, badRequest("empty_body", "the body has no event; send a JSON object, an array of them, or one a line")
	case body[0] == '[':
		for e := scan.ArrayOf(body); ; {
			if !e.Next() {
				if err := e.Err(); err != nil {
					return nil, badRequest("bad_body", "the array is not JSON: "+err.Error())
				}
				return list, nil
			}
			list = append(list, e.Value())
		}
	case scan.Valid(body):
		return [][]byte{body}, nil
	}
	for line := range bytes.Lines(body) {
		if line = scan.Trim(line); len(line) > 0 {
			list = append(list, line)
		}
	}
	return list, nil
}

// intake stores the events of one request.
type intake struct {
	g       *Gateway
	session events.SessionID
	agent   events.AgentID // of events that name none
	runs    map[runKey]*runState
	full    bool
}

type runKey struct {
	agent events.AgentID
	run   string
}

// runState is where a run stands in its log.
type runState struct {
	next   uint64
	behind string // why the rest of the run must be sent again
}

func (in *intake) take(ctx context.Context, data []byte) result {
	var ev events.Event
	data = bytes.Clone(data) // Decode takes it over
	if err := events.Decode(data, &ev); err != nil {
		return result{Result: rejected, Reason: err.Error()}
	}
	agent := in.agent
	if ev.Agent != "" {
		agent = ev.Agent
	}
	if err := ev.Bind(in.session, agent); err != nil {
		return result{EventID: ev.ID, N: ev.N, Result: rejected, Reason: err.Error()}
	}
	if ev.ID == "" && ev.N == 0 {
		id, err := uuid.NewV7()
		if err != nil {
			return result{Result: retry, Reason: err.Error()}
		}
		ev.ID = id.String()
		data = events.AppendEvent(nil, &ev)
	}
	r := result{EventID: ev.ID, N: ev.N}
	if ev.N == 0 {
		r.Result, r.Reason = in.store(ctx, agent, data, messageID(in.session, agent, ev.ID))
		return r
	}
	r.Result, r.Reason = in.ordered(ctx, agent, &ev, data)
	return r
}

// ordered stores an event of a numbered run when it is the run's next.
func (in *intake) ordered(ctx context.Context, agent events.AgentID, ev *events.Event, data []byte) (string, string) {
	run, err := in.run(ctx, agent, ev.RunID)
	switch {
	case err != nil:
		return retry, asProblem(err).Detail
	case ev.N < run.next:
		return duplicate, ""
	case run.behind != "":
		return retry, run.behind
	case ev.N > run.next:
		return retry, "events before it are missing; send the run from its next number on"
	}
	res, reason := in.store(ctx, agent, data, "")
	switch res {
	case stored:
		run.next++
	case retry:
		run.behind = "an event before it could not be stored"
	case rejected:
		run.behind = "an event before it was rejected; send steno.skipped in its place"
	}
	return res, reason
}

func (in *intake) run(ctx context.Context, agent events.AgentID, run string) (*runState, error) {
	key := runKey{agent, run}
	if r := in.runs[key]; r != nil {
		return r, nil
	}
	answer, err := in.g.queries.ask(ctx, in.session, agent, run)
	if err != nil {
		return nil, err
	}
	in.runs[key] = &runState{next: answer.Next}
	return in.runs[key], nil
}

func (in *intake) store(ctx context.Context, agent events.AgentID, data []byte, msgID string) (string, string) {
	ack, err := in.g.cfg.Log.Append(ctx, in.session, agent, data, msgID)
	switch {
	case err == nil && ack.Duplicate:
		return duplicate, ""
	case err == nil:
		return stored, ""
	case errors.Is(err, eventlog.ErrTooLarge):
		return rejected, err.Error()
	case errors.Is(err, eventlog.ErrFull):
		in.full = true
		return retry, "the event stream is full; try again later"
	}
	return retry, "no acknowledgement of the event log: " + err.Error()
}

// messageID is the de-duplication id of an event without n.
func messageID(s events.SessionID, a events.AgentID, id string) string {
	full := strings.Join([]string{string(s), string(a), id}, "/")
	if len(full) <= 200 {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	return hex.EncodeToString(sum[:])
}
