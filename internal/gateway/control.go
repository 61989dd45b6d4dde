package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// payload is the payload of a control frame to the client.
type payload interface{ AppendJSON(dst []byte) []byte }

// nothing is an empty payload.
type nothing struct{}

func (nothing) AppendJSON(dst []byte) []byte { return append(dst, "{}"...) }

func (c *conn) hello() *protocol.ServerHello {
	limits := c.g.cfg.Limits
	return &protocol.ServerHello{
		ConnectionID: c.id, HeartbeatMs: uint64(limits.Heartbeat.Milliseconds()),
		MaxEventBufferSize: uint64(limits.ReplayBatches), PrevSeq: true, AppendInput: true,
	}
}

// handle does what one frame of the client asks, and answers it with one frame
// for which it has made room before.
func (c *conn) handle(ctx context.Context, data []byte) {
	c.waitRoom()
	f, err := protocol.DecodeControl(data)
	if err != nil {
		c.refuse(f.ID, badRequest("malformed", err.Error()))
		return
	}
	var p *problem
	switch f.Type {
	case protocol.TypePong:
	case protocol.TypePing:
		var beat protocol.Heartbeat
		if beat, err = protocol.DecodeHeartbeat(f.Payload); err != nil {
			p = badRequest("malformed", err.Error())
			break
		}
		c.send(&protocol.Control{Type: protocol.TypePong, Payload: beat.AppendJSON(nil)})
	case protocol.TypeClientHello:
		p = c.clientHello(ctx, &f)
	case protocol.TypeSubscribe:
		p = c.subscribe(ctx, &f)
	case protocol.TypeUnsubscribe:
		p = c.unsubscribe(&f)
	case protocol.TypeSubscribeSessions:
		p = c.subscribeSessions(&f)
	case typeUnsubscribeSessions:
		c.unsubscribeSessions()
		c.ack(f.ID, nothing{})
	default:
		p = badRequest("unknown_type", "frames of type "+shown(f.Type)+" are not known here; known are client_hello, "+
			"subscribe_v2, unsubscribe_v2, subscribe_sessions, unsubscribe_sessions, ping and pong")
	}
	if p != nil {
		c.refuse(f.ID, p)
	}
}

const typeUnsubscribeSessions = "unsubscribe_sessions"

func (c *conn) ack(id reducer.Raw, v payload) {
	c.send(&protocol.Control{Type: protocol.TypeAck, ID: id, Msg: "success", Payload: v.AppendJSON(nil)})
}

func (c *conn) refuse(id reducer.Raw, p *problem) {
	c.send(&protocol.Control{Type: protocol.TypeAck, ID: id, Code: p.ackCode(), Msg: p.Code + ": " + p.Detail})
}

func (c *conn) ping() []byte {
	c.nonce++
	beat := protocol.Heartbeat{Nonce: strconv.FormatUint(c.nonce, 10)}
	return controlFrame(&protocol.Control{Type: protocol.TypePing, Payload: beat.AppendJSON(nil)})
}

func (c *conn) clientHello(ctx context.Context, f *protocol.Control) *problem {
	hello, err := protocol.DecodeClientHello(f.Payload)
	if err != nil {
		return badRequest("malformed", err.Error())
	}
	if len(hello.Subscriptions) > c.g.cfg.Limits.Subscriptions {
		return tooMany(c.g.cfg.Limits.Subscriptions)
	}
	c.mu.Lock()
	c.inputs = hello.Has(protocol.CapabilityAppendInput)
	c.mu.Unlock()
	answer := protocol.Subscribed{Hello: true, Cursors: map[string]protocol.SessionCursor{}}
	for _, name := range hello.Subscriptions {
		id, p := sessionID(name)
		if p != nil {
			return p
		}
		end, known, err := c.g.position(ctx, id)
		had, asked := hello.Cursors[name]
		if err != nil || !known || asked && (had.Epoch != "" && had.Epoch != end.Epoch || had.Seq > end.Seq) {
			answer.ResyncRequired = append(answer.ResyncRequired, name)
		}
		if err == nil && known {
			answer.Accepted = append(answer.Accepted, name)
			answer.Cursors[name] = end
		}
	}
	c.ack(f.ID, &answer)
	return nil
}

// subscribe attaches the session before it answers: what is stored from now on
// will be told, behind the baselines.
func (c *conn) subscribe(ctx context.Context, f *protocol.Control) *problem {
	sub, err := protocol.DecodeSubscribe(f.Payload)
	if err != nil {
		return badRequest("malformed", err.Error())
	}
	id, p := sessionID(sub.SessionID)
	if p != nil {
		return p
	}
	for agent := range sub.Transcript {
		if p := agentOrAll(agent); p != nil {
			return p
		}
	}
	w, p := c.attach(id) //nolint:contextcheck // a session outlives who brings it in
	if p != nil {
		return p
	}
	answer := protocol.Subscribed{Accepted: []string{sub.SessionID}, Cursors: map[string]protocol.SessionCursor{}}
	if w.s.wait(ctx) == nil {
		if len(w.s.current().feeds) == 0 {
			answer.NotFound = answer.Accepted
		}
		if sub.Epoch != "" && sub.Epoch != w.s.epoch && len(sub.Since) > 0 {
			answer.ResyncRequired = answer.Accepted
		}
		answer.Cursors[sub.SessionID] = w.s.end()
	}
	c.mu.Lock()
	inputs := c.inputs
	c.mu.Unlock()
	req := request{
		spec: sub.Transcript, inputs: inputs, since: sub.Since, epoch: sub.Epoch,
		window: sub.WindowTurns.Or(c.g.cfg.Limits.WindowTurns),
	}
	w.set(req, func() { c.ack(f.ID, &answer) })
	c.enqueue(w)
	return nil
}

func agentOrAll(agent string) *problem {
	if agent == "*" {
		return nil
	}
	_, p := agentID(agent)
	return p
}

// attach returns the connection's watch of a session, acquiring the session
// the first time.
func (c *conn) attach(id events.SessionID) (*watch, *problem) {
	c.mu.Lock()
	w, n := c.watches[id], len(c.watches)
	c.mu.Unlock()
	if w != nil {
		return w, nil
	}
	if n >= c.g.cfg.Limits.Subscriptions {
		return nil, tooMany(c.g.cfg.Limits.Subscriptions)
	}
	s, err := c.g.hub.acquire(id)
	if err != nil {
		return nil, asProblem(err)
	}
	c.mu.Lock()
	w = newWatch(s, nil, c.left)
	w.notify = func() { c.enqueue(w) }
	c.watches[id] = w
	c.mu.Unlock()
	s.attach(w)
	return w, nil
}

func (c *conn) unsubscribe(f *protocol.Control) *problem {
	un, err := protocol.DecodeUnsubscribe(f.Payload)
	if err != nil {
		return badRequest("malformed", err.Error())
	}
	id, p := sessionID(un.SessionID)
	if p != nil {
		return p
	}
	if i := slices.IndexFunc(un.AgentIDs, func(a string) bool { return agentOrAll(a) != nil }); i >= 0 {
		return agentOrAll(un.AgentIDs[i])
	}
	done := func() { c.ack(f.ID, nothing{}) }
	c.mu.Lock()
	w := c.watches[id]
	c.mu.Unlock()
	if w == nil || un.HasAgents && len(un.AgentIDs) == 0 {
		done()
		return nil
	}
	if w.drop(un.AgentIDs, done) {
		c.mu.Lock()
		delete(c.watches, id)
		c.left = true
		c.mu.Unlock()
		w.s.detach(w)
		c.g.hub.release(w.s)
	}
	return nil
}

func tooMany(n int) *problem {
	detail := fmt.Sprintf("a connection watches at most %d sessions; unsubscribe some or open another one", n)
	return &problem{http.StatusTooManyRequests, "too_many_subscriptions", detail}
}

func now() string { return events.FormatTime(time.Now().UnixMilli()) }
