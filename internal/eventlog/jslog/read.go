package jslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// requestTimeout bounds a request whose context has no deadline.
const requestTimeout = 5 * time.Second

// Last implements eventlog.Log. It uses the stream API, which only the leader
// answers; a direct get may come from a lagging replica.
func (l *Log) Last(ctx context.Context, s events.SessionID, a events.AgentID) (eventlog.Record, error) {
	slot := s.Slot(l.cfg.Slots)
	subject := events.StoredSubject(slot, s, a)
	m, err := l.leaderGet(ctx, l.stream(slot), getRequest{LastFor: subject})
	if err != nil {
		return eventlog.Record{}, fmt.Errorf("read the last record of %s/%s: %w", s, a, err)
	}
	return m.record(s, a, slot)
}

// Agents implements eventlog.Log.
func (l *Log) Agents(ctx context.Context, s events.SessionID) ([]events.AgentID, error) {
	slot := s.Slot(l.cfg.Slots)
	filter := events.PrefixStored + fmt.Sprintf("%d.%s.*", slot, s.Token())
	info, err := l.info(ctx, slot, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, fmt.Errorf("list the agents of %s: %w", s, err)
	}
	var agents []events.AgentID
	for subject := range info.State.Subjects {
		if _, _, a, err := events.ParseStoredSubject(subject); err == nil {
			agents = append(agents, a)
		}
	}
	return agents, nil
}

// Bounds implements eventlog.Log.
func (l *Log) Bounds(ctx context.Context, slot int) (eventlog.Bounds, error) {
	if err := l.checkSlot(slot); err != nil {
		return eventlog.Bounds{}, err
	}
	info, err := l.info(ctx, slot)
	if err != nil {
		return eventlog.Bounds{}, fmt.Errorf("read the bounds of slot %d: %w", slot, err)
	}
	b := eventlog.Bounds{
		Stream: eventlog.StreamID{Name: info.Config.Name, Created: info.Created.UTC()},
		First:  info.State.FirstSeq,
		Last:   info.State.LastSeq,
	}
	if info.State.Msgs == 0 {
		b.First = b.Last + 1
	}
	return b, nil
}

func (l *Log) info(ctx context.Context, slot int, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	name := l.stream(slot)
	s, err := l.js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, readError(ctx, err))
	}
	if len(opts) == 0 {
		return s.CachedInfo(), nil
	}
	info, err := s.Info(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, readError(ctx, err))
	}
	return info, nil
}

// getRequest is the server's JSApiMsgGetRequest.
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

type storedMsg struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Header  []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// leaderGet is one STREAM.MSG.GET. ErrNotFound.
func (l *Log) leaderGet(ctx context.Context, stream string, req getRequest) (*storedMsg, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg, err := l.nc.RequestWithContext(ctx, l.api+"STREAM.MSG.GET."+stream, body)
	if err != nil {
		return nil, readError(ctx, err)
	}
	var resp struct {
		Error   *jetstream.APIError `json:"error"`
		Message storedMsg           `json:"message"`
	}
	if err := json.Unmarshal(msg.Data, &resp); err != nil {
		return nil, fmt.Errorf("decode the server's answer: %w", err)
	}
	if resp.Error != nil {
		return nil, readError(ctx, resp.Error)
	}
	return &resp.Message, nil
}

func (m *storedMsg) record(s events.SessionID, a events.AgentID, slot int) (eventlog.Record, error) {
	r := eventlog.Record{Session: s, Agent: a, Slot: slot, StreamSeq: m.Seq, StoredAt: m.Time.UTC(), Data: m.Data}
	if len(m.Header) == 0 {
		return r, nil
	}
	h, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		return r, fmt.Errorf("decode the headers of stream sequence %d: %w", m.Seq, err)
	}
	applyHeaders(&r, h)
	return r, nil
}

// applyHeaders takes what a restore or repair said about the original.
func applyHeaders(r *eventlog.Record, h nats.Header) {
	if at := h.Get(eventlog.HeaderStoredAt); at != "" {
		if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
			r.StoredAt = t.UTC()
		}
	}
	if _, lost := h[eventlog.HeaderLost]; lost {
		r.Lost, r.Data = true, nil
	}
}

// readError maps what a read returned to the port's errors.
func readError(ctx context.Context, err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && int(api.ErrorCode) == codeNoMessage:
		return eventlog.ErrNotFound
	case errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("%w: %w", eventlog.ErrClosed, err)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil, errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &api) && api.Code >= 500:
		return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, err)
	default:
		return err
	}
}
