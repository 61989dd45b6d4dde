package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/pkg/events"
)

// endTimeout bounds how long End waits for the last events to be stored.
const endTimeout = 10 * time.Second

// Publisher publishes what one agent does, as one run. All methods may be
// called concurrently; the order of the calls is the order of the events.
type Publisher struct {
	conn    *Conn
	own     bool // Close closes conn
	out     *outbox
	now     func() time.Time
	contact time.Duration
	base    context.Context // for End; never cancelled

	// Guarded by out.mu.
	random io.Reader
	run    string
	n      uint64
	turn   bool // a turn is open
}

// Connect opens a connection for one publisher. It does not wait for a server;
// see Dial and Conn.Publisher.
func Connect(ctx context.Context, url string, opts ...Option) (*Publisher, error) {
	c, err := Dial(url, opts...)
	if err != nil {
		return nil, err
	}
	p, err := c.Publisher(ctx, opts...)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p.own = true
	return p, nil
}

// Publisher begins a run of an agent and emits agent.started. Options:
// Session, Agent, Started, Label, FirstContact.
func (c *Conn) Publisher(ctx context.Context, opts ...Option) (*Publisher, error) {
	o := collect(opts)
	if _, err := events.ParseSessionID(string(o.session)); err != nil {
		return nil, fmt.Errorf("publisher: %w", err)
	}
	if _, err := events.ParseAgentID(string(o.agent)); err != nil {
		return nil, fmt.Errorf("publisher: %w", err)
	}
	out, err := newOutbox(c, o.session, o.agent, &budget{limit: c.outboxBytes})
	if err != nil {
		return nil, err
	}
	p := &Publisher{
		conn: c, out: out, now: o.now, contact: o.contact, base: context.WithoutCancel(ctx),
		random: bufio.NewReaderSize(rand.Reader, 1024),
	}
	id, err := uuid.NewV7FromReader(p.random)
	if err != nil {
		return nil, fmt.Errorf("make a run id: %w", err)
	}
	p.run = id.String()
	out.before = p.meet
	out.start(ctx)
	out.log.Info("publishing without a spool: events that are not stored yet are lost when the process ends", "run_id", p.run)
	return p, p.begin(ctx, o)
}

func (p *Publisher) begin(ctx context.Context, o options) error {
	if _, ok := o.labels["host"]; !ok {
		if host, err := os.Hostname(); err == nil {
			o.labels["host"] = host
		}
	}
	if o.started.Type == "" && o.agent == events.MainAgent {
		o.started.Type = "main"
	}
	payload, err := events.AppendPayload(nil, o.started)
	if err != nil {
		return fmt.Errorf("publisher: %w", err)
	}
	return p.EmitEvent(ctx, &events.Event{
		Type: events.TypeAgentStarted, Payload: payload, Labels: events.AppendLabels(nil, o.labels),
	})
}

// Run is the publisher's run id. It may change until the first event is sent.
func (p *Publisher) Run() string {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	return p.run
}

// Emit takes one event. It never waits for the network, but for room in the
// outbox, until ctx ends: then ErrFull. An event that no reader would accept
// (above 1 MiB, invalid) is replaced by steno.skipped: ErrSkipped.
func (p *Publisher) Emit(ctx context.Context, payload events.Payload) error {
	data, err := events.AppendPayload(nil, payload)
	if err != nil {
		return fmt.Errorf("emit: %w", err)
	}
	return p.emit(ctx, &events.Event{Type: payload.EventType(), Payload: data}, nil)
}

// EmitEvent takes an event with fields of the caller's choice: step, reference
// id, labels. Session, agent, run and n are the publisher's; an id and a
// timestamp are added when absent. It keeps no reference to ev.
func (p *Publisher) EmitEvent(ctx context.Context, ev *events.Event) error {
	e := *ev
	e.RunID, e.N = p.Run(), 1 // what Validate wants to see; emit sets them
	return p.emit(ctx, &e, e.Validate())
}

// emit owns e. problem is what is wrong with it, if anything.
func (p *Publisher) emit(ctx context.Context, e *events.Event, problem error) error {
	var skipped error
	err := p.out.put(ctx, func() (entry, error) {
		en, reason, err := p.encode(e, problem)
		skipped = reason
		return en, err
	}, func() { p.admitted(e.Type) })
	if err != nil {
		return fmt.Errorf("emit %s: %w", e.Type, err)
	}
	return skipped
}

// encode gives the event its place in the run. It is called with the outbox's
// lock held and counts nothing: the event may not fit yet.
func (p *Publisher) encode(e *events.Event, problem error) (en entry, skipped, err error) {
	e.Session, e.Agent, e.RunID, e.N = p.out.session, p.out.agent, p.run, p.n+1
	if e.ID == "" {
		id, err := uuid.NewV7FromReader(p.random)
		if err != nil {
			return entry{}, nil, fmt.Errorf("make an event id: %w", err)
		}
		e.ID = id.String()
	}
	if e.Timestamp == "" {
		e.Timestamp = p.now().UTC().Format(events.TimeFormat)
	}
	data, skipped, err := encode(e, problem)
	return entry{data: data, run: p.run, counted: true}, skipped, err
}

// admitted is called, with the lock held, when the event is in the outbox.
func (p *Publisher) admitted(kind string) {
	p.n++
	switch kind {
	case events.TypeTurnStarted:
		p.turn = true
	case events.TypeTurnEnded:
		p.turn = false
	}
}

// Flush waits until everything emitted so far is stored, or ctx ends.
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.out.flush(ctx); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// Close flushes until ctx ends, then ends the publisher. Events that are not
// stored by then are lost, which the error says.
func (p *Publisher) Close(ctx context.Context) error {
	err := p.Flush(ctx)
	p.out.close()
	if p.own {
		err = errors.Join(err, p.conn.Close())
	}
	return err
}

// End ends the publisher at the end of a run, deferred with the address of the
// function's error. It closes a turn that is open (completed, cancelled or
// failed, by the error or the panic), waits up to 10 s until all is stored, and
// lets a panic go on. When events could not be stored and there was no other
// error, *errp says so.
func (p *Publisher) End(errp *error) {
	r := recover()
	reason, cause := "completed", error(nil)
	switch {
	case r != nil:
		reason, cause = "failed", fmt.Errorf("panic: %v", r)
	case errp != nil && errors.Is(*errp, context.Canceled):
		reason, cause = "cancelled", *errp
	case errp != nil && *errp != nil:
		reason, cause = "failed", *errp
	}
	if err := p.finish(reason, cause); err != nil && errp != nil && *errp == nil {
		*errp = err
	}
	if r != nil {
		panic(r)
	}
}

func (p *Publisher) finish(reason string, cause error) error {
	ctx, cancel := context.WithTimeout(p.base, endTimeout)
	defer cancel()
	p.out.mu.Lock()
	open := p.turn
	p.out.mu.Unlock()
	var err error
	if open {
		end := events.TurnEnded{Reason: reason}
		if cause != nil {
			end.Error = cause.Error()
		}
		err = p.Emit(ctx, end)
	}
	return errors.Join(err, p.Close(ctx))
}

// meet asks where the log stands before the first event is sent, so that a
// slow clock does not make this run look older than the current one.
func (p *Publisher) meet(ctx context.Context) {
	if p.contact <= 0 || !p.awaitConnection(ctx) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.contact)
	defer cancel()
	pos, err := p.conn.Run(ctx, p.out.session, p.out.agent, p.Run())
	if err != nil {
		p.out.log.Warn("no answer to where the agent's log stands; publishing under the run id at hand", "error", err)
		return
	}
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	later, ok := runAfter(pos.Current, p.run, p.random)
	if !ok {
		return
	}
	p.out.log.Warn("the current run has a later id than this one: is this machine's clock slow?", "current", pos.Current, "run_id", later)
	for i := p.out.w.low; i < p.out.w.end(); i++ { // nothing has been sent
		e := p.out.w.at(i)
		e.data = bytes.Replace(e.data, []byte(`,"run_id":"`+p.run+`"`), []byte(`,"run_id":"`+later+`"`), 1)
		e.run = later
	}
	p.run = later
}

// awaitConnection waits for the first connection.
func (p *Publisher) awaitConnection(ctx context.Context) bool {
	for !p.conn.nc.IsConnected() {
		select {
		case <-ctx.Done():
			return false
		case st := <-p.out.status:
			if st == nats.CLOSED || p.conn.nc.IsClosed() {
				return false
			}
		case <-time.After(time.Second): // a status may have been missed
		}
	}
	return true
}

// runAfter makes a run id that sorts after current, when mine does not and
// both are UUIDv7.
func runAfter(current, mine string, random io.Reader) (string, bool) {
	cur, err := uuid.Parse(current)
	if err != nil || cur.Version() != 7 || len(current) != len(mine) || mine > cur.String() {
		return "", false
	}
	id, err := uuid.NewV7FromReader(random)
	if err != nil {
		return "", false
	}
	ms := uint64(0)
	for _, b := range cur[:6] {
		ms = ms<<8 | uint64(b)
	}
	ms++
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id.String(), true
}
