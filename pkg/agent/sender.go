package agent

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"

	"github.com/stenohq/steno/pkg/events"
)

// maxOutboxes is how many agent logs a sender keeps open before it closes
// those that are done.
const maxOutboxes = 64

// Sender publishes events that have their identity already, of any number of
// agent logs: an importer's, or a file of events. Events of one log must come
// in order; they go out as a Publisher's do. All methods may be called
// concurrently.
type Sender struct {
	conn   *Conn
	base   context.Context
	budget *budget // of all logs together

	mu     sync.Mutex // guards the rest
	random io.Reader
	logs   map[logKey]*outbox
	closed bool
}

type logKey struct {
	session events.SessionID
	agent   events.AgentID
}

// Sender returns a new sender. ctx gives values, not its end; Close ends it.
func (c *Conn) Sender(ctx context.Context) *Sender {
	return &Sender{
		conn: c, base: context.WithoutCancel(ctx), budget: &budget{limit: c.outboxBytes},
		random: bufio.NewReaderSize(rand.Reader, 1024), logs: make(map[logKey]*outbox),
	}
}

// Run asks a gateway where a run stands; see Conn.Run.
func (s *Sender) Run(ctx context.Context, session events.SessionID, agent events.AgentID, run string) (Position, error) {
	return s.conn.Run(ctx, session, agent, run)
}

// Publish takes an event as it is. It waits for room in the sender's outbox only;
// Flush tells when events are stored. An event with n that no reader would
// accept (above 1 MiB, invalid) is replaced by steno.skipped, which ErrSkipped
// tells; one without n is not taken. An event without n needs no id: it gets one. Publish keeps no
// reference to ev.
func (s *Sender) Publish(ctx context.Context, ev *events.Event) error {
	e := *ev
	if e.Agent == "" {
		e.Agent = events.MainAgent
	}
	en, skipped, err := s.entry(&e)
	if err == nil {
		err = s.put(ctx, logKey{e.Session, e.Agent}, en)
	}
	if err != nil {
		return fmt.Errorf("publish %s to %s/%s: %w", e.Type, e.Session, e.Agent, err)
	}
	return skipped
}

// entry checks and encodes an event.
func (s *Sender) entry(e *events.Event) (en entry, skipped, err error) {
	if _, err := events.ParseSessionID(string(e.Session)); err != nil {
		return entry{}, nil, err
	}
	if _, err := events.ParseAgentID(string(e.Agent)); err != nil {
		return entry{}, nil, err
	}
	if e.N == 0 && e.ID == "" {
		s.mu.Lock()
		id, err := uuid.NewV7FromReader(s.random)
		s.mu.Unlock()
		if err != nil {
			return entry{}, nil, fmt.Errorf("make an event id: %w", err)
		}
		e.ID = id.String()
	}
	en = entry{run: e.RunID, counted: e.N > 0}
	en.data, skipped, err = encode(e, e.Validate())
	if e.N == 0 {
		en.msgID = messageID(e)
		err = errors.Join(err, skipped)
	}
	return en, skipped, err
}

// put gives an event to its log's outbox, which may be closed in between
// because it was idle.
func (s *Sender) put(ctx context.Context, key logKey, en entry) error {
	for {
		out, err := s.outbox(key)
		if err != nil {
			return err
		}
		err = out.put(ctx, func() (entry, error) { return en, nil }, func() {})
		if !errors.Is(err, ErrClosed) {
			return err
		}
	}
}

// outbox finds or opens the outbox of a log.
func (s *Sender) outbox(key logKey) (*outbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if out := s.logs[key]; out != nil {
		return out, nil
	}
	s.retire()
	out, err := newOutbox(s.conn, key.session, key.agent, s.budget)
	if err != nil {
		return nil, err
	}
	out.start(s.base)
	s.logs[key] = out
	return out, nil
}

// retire closes the outboxes whose events are all stored, when there are many.
func (s *Sender) retire() {
	if len(s.logs) < maxOutboxes {
		return
	}
	for key, out := range s.logs {
		if out.closeIdle() {
			delete(s.logs, key)
		}
	}
}

// messageID is the de-duplication id of an event without n.
func messageID(e *events.Event) string {
	id := string(e.Session) + "/" + string(e.Agent) + "/" + e.ID
	if len(id) > 200 {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])
	}
	return id
}

// Flush waits until everything published so far is stored, or ctx ends.
func (s *Sender) Flush(ctx context.Context) error {
	s.mu.Lock()
	outs := make([]*outbox, 0, len(s.logs))
	for _, out := range s.logs {
		outs = append(outs, out)
	}
	s.mu.Unlock()
	var errs []error
	for _, out := range outs {
		if err := out.flush(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close flushes until ctx ends, then ends the sender. What is not stored by
// then is lost, which the error says.
func (s *Sender) Close(ctx context.Context) error {
	err := s.Flush(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for key, out := range s.logs {
		out.close()
		delete(s.logs, key)
	}
	return err
}
