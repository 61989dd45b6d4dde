package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/pkg/events"
)

// sendBatch is how many events are taken from the window at once.
const sendBatch = 64

// outbox sends the events of one agent log in order until each is stored. Its
// goroutine sends, the subscription's callback counts acknowledgements.
type outbox struct {
	nc      *nats.Conn
	log     *slog.Logger
	session events.SessionID
	agent   events.AgentID
	subject string
	budget  *budget

	// before, when set, is called by the goroutine before anything is sent.
	before func(context.Context)

	sub    *nats.Subscription
	prefix string // of the reply subjects, with its last dot
	status chan nats.Status
	kick   chan struct{} // room for one: the goroutine should look again
	cancel context.CancelFunc
	ended  chan struct{} // closed by close
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards everything below
	w       *window
	stalled bool // the goroutine waits for acknowledgements to go on sending
	waiters []waiter
	lastErr error // why the current pass began; nil when all goes well
	closed  bool
}

type waiter struct {
	end  uint64 // waits until low reaches it
	done chan struct{}
}

func newOutbox(c *Conn, s events.SessionID, a events.AgentID, b *budget) (*outbox, error) {
	o := &outbox{
		nc: c.nc, log: c.log.With("session_id", string(s), "agent_id", string(a)),
		session: s, agent: a, subject: events.PublishSubject(s, a), budget: b,
		prefix: c.nc.NewInbox() + ".",
		kick:   make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{}),
		w: newWindow(),
	}
	var err error
	if o.sub, err = o.nc.Subscribe(o.prefix+"*", o.answered); err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	o.status = o.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
	return o, nil
}

// start lets the goroutine run until close, not until ctx ends.
func (o *outbox) start(ctx context.Context) {
	ctx, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(o.done)
		o.run(ctx)
	}()
}

// close ends sending at once. What is not acknowledged is dropped. Its budget
// ends with it: nobody may take the room.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	for _, w := range o.waiters {
		close(w.done)
	}
	o.waiters = nil
	o.mu.Unlock()
	o.end()
}

// closeIdle closes the outbox if everything is stored.
func (o *outbox) closeIdle() bool {
	o.mu.Lock()
	idle := o.w.queue.len() == 0
	o.closed = o.closed || idle
	o.mu.Unlock()
	if idle {
		o.end()
	}
	return idle
}

func (o *outbox) end() {
	close(o.ended)
	o.cancel()
	<-o.done
	_ = o.sub.Unsubscribe() // fails only on a closed connection
	o.nc.RemoveStatusListener(o.status)
}

func (o *outbox) wakeUp() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// put appends an event that encode makes, under the lock, so that the order of
// calls is the order of n, and calls added when it is in. It waits for room
// until ctx ends and may call encode again then.
func (o *outbox) put(ctx context.Context, encode func() (entry, error), added func()) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.closed {
			return ErrClosed
		}
		e, err := encode()
		if err != nil {
			return err
		}
		room, ok := o.budget.take(e.size())
		if ok {
			o.w.push(e)
			added()
			if !o.stalled {
				o.wakeUp()
			}
			return nil
		}
		o.mu.Unlock()
		err = o.budget.wait(ctx, room, o.ended)
		o.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// flush waits until everything put so far is stored.
func (o *outbox) flush(ctx context.Context) error {
	o.mu.Lock()
	if o.w.queue.len() == 0 {
		o.mu.Unlock()
		return nil
	}
	if o.closed {
		o.mu.Unlock()
		return ErrClosed
	}
	w := waiter{end: o.w.end(), done: make(chan struct{})}
	o.waiters = append(o.waiters, w)
	o.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w.low >= w.end {
		return nil
	}
	err := ErrClosed
	if !o.closed {
		err = context.Cause(ctx)
	}
	if o.lastErr != nil {
		return fmt.Errorf("%d events of %s/%s are not stored, because of: %w: %w", w.end-o.w.low, o.session, o.agent, o.lastErr, err)
	}
	return fmt.Errorf("%d events of %s/%s are not stored yet: %w", w.end-o.w.low, o.session, o.agent, err)
}

func (o *outbox) run(ctx context.Context) {
	if o.before != nil {
		o.before(ctx)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []outgoing
	for {
		connected := o.nc.IsConnected()
		batch = o.collect(batch[:0], connected)
		if len(batch) > 0 {
			o.send(batch)
			continue
		}
		timer.Reset(o.untilWake(connected))
		select {
		case <-ctx.Done():
			return
		case <-o.kick:
		case <-timer.C:
		case st := <-o.status:
			if st == nats.CLOSED || o.nc.IsClosed() {
				o.failed(nats.ErrConnectionClosed)
				return
			}
			if st == nats.CONNECTED {
				o.mu.Lock()
				o.w.hurry(time.Now())
				o.mu.Unlock()
			}
		}
	}
}

// outgoing is one event on its way to the connection.
type outgoing struct {
	index, pass uint64
	data        []byte
	msgID       string
}

// collect takes the next events from the window.
func (o *outbox) collect(batch []outgoing, connected bool) []outgoing {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !connected && o.w.next > o.w.low:
		o.fail(now, errors.New("the connection to NATS was lost"))
	case o.w.expired(now):
		o.fail(now, fmt.Errorf("no acknowledgement within %s", ackTimeout))
	}
	for connected && len(batch) < sendBatch {
		i, ok := o.w.take(now)
		if !ok {
			break
		}
		e := o.w.at(i)
		batch = append(batch, outgoing{index: i, pass: o.w.pass, data: e.data, msgID: e.msgID})
	}
	o.stalled = len(batch) == 0 && o.w.next > o.w.low && o.w.next < o.w.end()
	return batch
}

func (o *outbox) untilWake(connected bool) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	wake := o.w.wake()
	if !connected {
		return time.Second // the status may have been missed
	}
	if wake.IsZero() {
		return time.Hour
	}
	return max(0, time.Until(wake))
}

func (o *outbox) send(batch []outgoing) {
	for _, out := range batch {
		reply := o.prefix + strconv.FormatUint(out.pass, 36) + "-" + strconv.FormatUint(out.index, 36)
		var err error
		if out.msgID == "" {
			err = o.nc.PublishRequest(o.subject, reply, out.data)
		} else {
			err = o.nc.PublishMsg(&nats.Msg{
				Subject: o.subject, Reply: reply, Data: out.data,
				Header: nats.Header{nats.MsgIdHdr: {out.msgID}},
			})
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			o.refused(out.pass, out.index, err)
			return
		}
		if err != nil {
			o.failed(err)
			return
		}
	}
}

// answered is called for each answer of the server, by one goroutine.
func (o *outbox) answered(m *nats.Msg) {
	pass, index, ok := parseReply(m.Subject[len(o.prefix):])
	if !ok {
		return
	}
	seq, err := parseAck(m)
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		o.refused(pass, index, refused.err)
	case err != nil:
		o.notStored(pass, index, err)
	default:
		o.stored(pass, index, seq)
	}
}

func parseReply(token string) (pass, index uint64, ok bool) {
	p, i, _ := strings.Cut(token, "-")
	pass, err1 := strconv.ParseUint(p, 36, 64)
	index, err2 := strconv.ParseUint(i, 36, 64)
	return pass, index, err1 == nil && err2 == nil
}

func (o *outbox) stored(pass, index, seq uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, bytes := o.w.low, o.w.bytes
	defer func() { o.budget.give(bytes - o.w.bytes) }()
	now := time.Now()
	if !o.w.ack(now, pass, index, seq) {
		o.fail(now, errors.New("events were stored out of order"))
		return
	}
	if o.w.low == before {
		return
	}
	if o.lastErr != nil && !o.w.alone {
		o.log.Info("events are being stored again")
		o.lastErr = nil
		o.wakeUp()
	}
	o.advanced()
}

// advanced tells whoever waits for events to be stored. It is called with the
// lock held.
func (o *outbox) advanced() {
	if o.stalled && (o.w.next == o.w.low || (o.w.next-o.w.low <= windowEvents/2 && o.w.flying <= windowBytes/2)) {
		o.stalled = false
		o.wakeUp()
	}
	kept := o.waiters[:0]
	for _, w := range o.waiters {
		if o.w.low >= w.end {
			close(w.done)
		} else {
			kept = append(kept, w)
		}
	}
	o.waiters = kept
}

// notStored handles a refusal that may pass. One of a former pass has led to
// that pass's end already.
func (o *outbox) notStored(pass, index uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if pass == o.w.pass && index >= o.w.low && index < o.w.next {
		o.fail(time.Now(), err)
	}
}

// refused puts steno.skipped in the place of an event the server will never
// take, and sends it at once.
func (o *outbox) refused(pass, index uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if pass != o.w.pass || index < o.w.low || index >= o.w.next {
		return
	}
	bytes := o.w.bytes
	defer func() { o.budget.give(bytes - o.w.bytes) }()
	skipped, serr := skip(o.w.at(index).data, err.Error())
	if serr != nil {
		o.fail(time.Now(), errors.Join(err, serr))
		return
	}
	o.log.Warn("an event was refused for good and replaced by steno.skipped", "reason", err)
	o.w.replace(index, skipped)
	o.fail(time.Now(), err)
	o.w.hurry(time.Now())
}

func (o *outbox) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail(time.Now(), err)
}

// fail begins another pass. It is called with the lock held.
func (o *outbox) fail(now time.Time, err error) {
	if o.lastErr == nil {
		o.log.Warn("events are not stored at the moment; they are kept and sent again", "error", err, "waiting", o.w.queue.len())
	}
	o.lastErr = err
	o.w.fail(now)
	o.wakeUp()
}
