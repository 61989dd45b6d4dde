// Package agent is the SDK for agent runtimes: it publishes what an agent does
// as events, in order, and keeps sending them until they are stored.
//
//	pub, err := agent.Connect(ctx, url, agent.Session("s-1"))
//	defer pub.End(&err)
//	err = pub.Emit(ctx, events.AssistantDelta{Delta: "Hel"})
//	err = pub.Flush(ctx) // everything so far is stored
//
// Emit never waits for the network. Events wait in an outbox in memory; what
// is not acknowledged when the process ends is lost.
//
// A Conn is one connection for several publishers, and for a Sender, which
// publishes events that exist already, such as an importer's.
package agent

import (
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/pkg/events"
)

// Errors that callers test with errors.Is.
var (
	// ErrFull: the outbox is full and stayed so until the context ended. The
	// event is not in it.
	ErrFull = errors.New("outbox is full")
	// ErrClosed: the publisher, sender or connection has been closed.
	ErrClosed = errors.New("publisher is closed")
	// ErrSkipped: the event can never be stored, and steno.skipped takes its
	// place.
	ErrSkipped = errors.New("event was replaced by steno.skipped")
)

// DefaultOutboxBytes is the size of an outbox in memory.
const DefaultOutboxBytes = 64 << 20

// Option changes how Connect, Dial and Conn.Publisher work. Each says which of
// them it concerns; the others ignore it.
type Option func(*options)

type options struct {
	session     events.SessionID
	agent       events.AgentID
	started     events.AgentStarted
	labels      map[string]string
	logger      *slog.Logger
	outboxBytes int
	nats        []nats.Option
	contact     time.Duration
	now         func() time.Time
}

func collect(opts []Option) options {
	o := options{
		agent: events.MainAgent, labels: map[string]string{"source": "sdk"},
		logger: slog.Default(), outboxBytes: DefaultOutboxBytes,
		contact: 10 * time.Second, now: time.Now,
	}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Session names the session of a publisher. It is required.
func Session(id events.SessionID) Option { return func(o *options) { o.session = id } }

// Agent names the agent of a publisher, events.MainAgent by default.
func Agent(id events.AgentID) Option { return func(o *options) { o.agent = id } }

// Started describes a publisher's agent in its first event.
func Started(s events.AgentStarted) Option { return func(o *options) { o.started = s } }

// Label adds a label to a publisher's first event: host, runtime, version,
// cwd, git_branch, title, model, or anything else. The label source is "sdk"
// unless set.
func Label(key, value string) Option { return func(o *options) { o.labels[key] = value } }

// Logger is where a connection reports trouble, slog.Default by default.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// OutboxBytes bounds what waits in each publisher or sender of a connection.
func OutboxBytes(n int) Option { return func(o *options) { o.outboxBytes = n } }

// NATS adds options to the connection: credentials, TLS.
func NATS(opts ...nats.Option) Option {
	return func(o *options) { o.nats = append(o.nats, opts...) }
}

// FirstContact bounds how long a publisher waits for the answer to where its
// log stands before it sends its first event, 10 s by default. Emit does not
// wait for it. 0 does not ask.
func FirstContact(d time.Duration) Option { return func(o *options) { o.contact = d } }
