package protocol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

// Version is the version of the WebSocket protocol.
const Version = 2

// The types of control frames. Those to the server are answered by an ack.
const (
	TypeServerHello       = "server_hello"       // to the client, first
	TypeClientHello       = "client_hello"       // to the server
	TypeSubscribe         = "subscribe_v2"       // to the server
	TypeUnsubscribe       = "unsubscribe_v2"     // to the server
	TypeSubscribeSessions = "subscribe_sessions" // to the server
	TypePing              = "ping"               // to the client
	TypePong              = "pong"               // to the server
	TypeAck               = "ack"                // to the client
	TypeResyncRequired    = "resync_required"    // to the client
)

// Capabilities that a client may declare in client_hello.
const (
	CapabilityPrevSeq     = "prev_seq"     // follows the client rule, so batches may be merged
	CapabilityAppendInput = "append_input" // understands appends to a tool frame's inputText
)

// Control is a control frame: {type, id?, payload}. An ack has Code and Msg
// too. ID is echoed as it was given; Payload is a JSON object or empty.
type Control struct {
	Type    string
	ID      reducer.Raw
	Code    int
	Msg     string
	Payload []byte
}

// DecodeControl reads a control frame. Payload shares data's memory.
func DecodeControl(data []byte) (Control, error) {
	r := newReader("frame", data)
	r.need("type")
	c := Control{Type: r.text("type"), Payload: r.raw("payload"), Msg: r.text("msg")}
	if id := r.raw("id"); id != nil {
		kind := scan.KindOf(id)
		if len(id) > 256 || kind != scan.String && kind != scan.Number {
			r.fail("id", "want a short string or a number")
		} else {
			c.ID = reducer.Raw(id)
		}
	}
	if v := r.raw("code"); v != nil {
		n, ok := scan.Int64(v)
		if !ok || n != int64(int32(n)) {
			r.fail("code", "want a whole number")
		}
		c.Code = int(n)
	}
	if c.Payload != nil && scan.KindOf(c.Payload) != scan.Object {
		r.fail("payload", "want an object")
	}
	return c, r.err
}

// AppendJSON appends the frame.
func (c *Control) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "type", c.Type)
	if c.ID != "" {
		dst = append(append(putName(dst, "id"), c.ID...), ',')
	}
	if c.Type == TypeAck {
		dst = append(fmt.Appendf(putName(dst, "code"), "%d", c.Code), ',')
		dst = putText(dst, "msg", c.Msg)
	}
	dst = putName(dst, "payload")
	if len(c.Payload) == 0 {
		return append(dst, "{}}"...)
	}
	return append(append(dst, c.Payload...), '}')
}

// ServerHello is the payload of server_hello.
type ServerHello struct {
	ConnectionID       string
	HeartbeatMs        uint64
	MaxEventBufferSize uint64
	EventBatching      bool
	Compression        bool
	PrevSeq            bool
	AppendInput        bool
}

// AppendJSON appends the payload.
func (h *ServerHello) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "ws_connection_id", h.ConnectionID)
	dst = putUint(dst, "protocol_version", Version)
	dst = putUint(dst, "heartbeat_ms", h.HeartbeatMs)
	dst = putUint(dst, "max_event_buffer_size", h.MaxEventBufferSize)
	dst = append(putName(dst, "capabilities"), '{')
	dst = putBool(dst, "event_batching", h.EventBatching)
	dst = putBool(dst, "compression", h.Compression)
	dst = putBool(dst, "prev_seq", h.PrevSeq)
	dst = putBool(dst, "append_input", h.AppendInput)
	return append(closed(dst, '}'), '}')
}

// DecodeServerHello reads the payload of server_hello.
func DecodeServerHello(payload []byte) (ServerHello, error) {
	r := newReader(TypeServerHello, payload)
	h := ServerHello{
		ConnectionID: r.text("ws_connection_id"), HeartbeatMs: r.uint("heartbeat_ms"),
		MaxEventBufferSize: r.uint("max_event_buffer_size"),
	}
	if r.err == nil && r.has("capabilities") {
		c := newReader(TypeServerHello+" capabilities", r.raw("capabilities"))
		h.EventBatching, h.Compression = c.bool("event_batching"), c.bool("compression")
		h.PrevSeq, h.AppendInput = c.bool("prev_seq"), c.bool("append_input")
		return h, c.err
	}
	return h, r.err
}

// SessionCursor is a place in the log of a session's main agent.
type SessionCursor struct {
	Seq   uint64
	Epoch string
}

func putCursors(b []byte, cursors map[string]SessionCursor) []byte {
	b = append(putName(b, "cursors"), '{')
	for _, s := range slices.Sorted(maps.Keys(cursors)) {
		b = append(scan.AppendQuote(b, s), ':', '{')
		b = putUint(b, "seq", cursors[s].Seq)
		b = append(closed(putText(b, "epoch", cursors[s].Epoch), '}'), ',')
	}
	return append(closed(b, '}'), ',')
}

func (r *reader) cursors() map[string]SessionCursor {
	if !r.has("cursors") {
		return nil
	}
	out := map[string]SessionCursor{}
	r.members("cursors", func(name string, v []byte) error {
		c := newReader("cursor of "+name, v)
		out[name] = SessionCursor{Seq: c.uint("seq"), Epoch: c.text("epoch")}
		return c.err
	})
	return out
}

// ClientHello is the payload of client_hello.
type ClientHello struct {
	ClientID      string
	Subscriptions []string
	Cursors       map[string]SessionCursor
	AgentFilter   []byte // opaque
	Capabilities  []string
}

// Has reports a capability.
func (h *ClientHello) Has(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// AppendJSON appends the payload.
func (h *ClientHello) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "client_id", h.ClientID)
	if len(h.Subscriptions) > 0 {
		dst = putTexts(dst, "subscriptions", h.Subscriptions)
	}
	if len(h.Cursors) > 0 {
		dst = putCursors(dst, h.Cursors)
	}
	if len(h.AgentFilter) > 0 {
		dst = append(append(putName(dst, "agent_filter"), h.AgentFilter...), ',')
	}
	if len(h.Capabilities) > 0 {
		dst = putTexts(dst, "capabilities", h.Capabilities)
	}
	return closed(dst, '}')
}

// DecodeClientHello reads the payload of client_hello.
func DecodeClientHello(payload []byte) (ClientHello, error) {
	r := newReader(TypeClientHello, payload)
	h := ClientHello{
		ClientID: r.text("client_id"), Subscriptions: r.texts("subscriptions"),
		Cursors: r.cursors(), AgentFilter: slices.Clone(r.raw("agent_filter")), Capabilities: r.texts("capabilities"),
	}
	return h, r.err
}

// Subscribe is the payload of subscribe_v2. Transcript replaces the session's
// former map; Since holds the watermarks of state built at the requested grade
// or higher.
type Subscribe struct {
	SessionID   string
	Transcript  grade.Spec
	Since       map[string]uint64
	Epoch       string
	WindowTurns reducer.Opt[int]
}

// AppendJSON appends the payload.
func (s *Subscribe) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "session_id", s.SessionID)
	dst = append(s.Transcript.AppendJSON(putName(dst, "transcript")), ',')
	if s.Since != nil {
		dst = append(putName(dst, "transcript_since"), '{')
		for _, a := range slices.Sorted(maps.Keys(s.Since)) {
			dst = append(scan.AppendQuote(dst, a), ':')
			dst = append(fmt.Appendf(dst, "%d", s.Since[a]), ',')
		}
		dst = append(closed(dst, '}'), ',')
	}
	if s.Epoch != "" {
		dst = putText(dst, "epoch", s.Epoch)
	}
	if s.WindowTurns.Set {
		dst = putUint(dst, "window_turns", uint64(max(s.WindowTurns.V, 0)))
	}
	return closed(dst, '}')
}

// DecodeSubscribe reads the payload of subscribe_v2. The ids are not checked.
func DecodeSubscribe(payload []byte) (Subscribe, error) {
	r := newReader(TypeSubscribe, payload)
	r.need("session_id", "transcript")
	s := Subscribe{SessionID: r.text("session_id"), Since: r.seqs("transcript_since"), Epoch: r.text("epoch")}
	if r.has("window_turns") {
		n := r.uint("window_turns")
		s.WindowTurns = reducer.Some(int(min(n, reducer.MaxPageTurns)))
	}
	if r.err == nil {
		spec, err := grade.DecodeSpec(r.raw("transcript"))
		if err != nil {
			r.fail("transcript", err.Error())
		}
		if len(spec) > maxAgents {
			r.fail("transcript", fmt.Sprintf("more than %d agents", maxAgents))
		}
		s.Transcript = spec
	}
	return s, r.err
}

// Unsubscribe is the payload of unsubscribe_v2; without agents it means the
// whole session.
type Unsubscribe struct {
	SessionID string
	AgentIDs  []string
	HasAgents bool // agent_ids was given, perhaps empty
}

// AppendJSON appends the payload.
func (u *Unsubscribe) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "session_id", u.SessionID)
	if u.HasAgents {
		dst = putTexts(dst, "agent_ids", u.AgentIDs)
	}
	return closed(dst, '}')
}

// DecodeUnsubscribe reads the payload of unsubscribe_v2.
func DecodeUnsubscribe(payload []byte) (Unsubscribe, error) {
	r := newReader(TypeUnsubscribe, payload)
	r.need("session_id")
	u := Unsubscribe{SessionID: r.text("session_id"), AgentIDs: r.texts("agent_ids"), HasAgents: r.has("agent_ids")}
	return u, r.err
}

// SubscribeSessions is the payload of subscribe_sessions.
type SubscribeSessions struct{ State, Query string }

// DecodeSubscribeSessions reads the payload of subscribe_sessions.
func DecodeSubscribeSessions(payload []byte) (SubscribeSessions, error) {
	r := newReader(TypeSubscribeSessions, payload)
	s := SubscribeSessions{State: r.text("state"), Query: r.text("q")}
	return s, r.err
}

// AppendJSON appends the payload.
func (s *SubscribeSessions) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if s.State != "" {
		dst = putText(dst, "state", s.State)
	}
	if s.Query != "" {
		dst = putText(dst, "q", s.Query)
	}
	return closed(dst, '}')
}

// Subscribed is the payload of the ack to client_hello and subscribe_v2:
// sessions accepted, not found (armed all the same), to be loaded anew, and the
// ends of their main logs.
type Subscribed struct {
	Hello          bool // the answer to client_hello
	Accepted       []string
	NotFound       []string
	ResyncRequired []string
	Cursors        map[string]SessionCursor
}

// AppendJSON appends the payload.
func (s *Subscribed) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if s.Hello {
		dst = putTexts(dst, "accepted_subscriptions", s.Accepted)
	} else {
		dst = putTexts(dst, "accepted", s.Accepted)
		dst = putTexts(dst, "not_found", s.NotFound)
	}
	dst = putTexts(dst, "resync_required", s.ResyncRequired)
	return closed(putCursors(dst, s.Cursors), '}')
}

// DecodeSubscribed reads the payload of an ack.
func DecodeSubscribed(payload []byte) (Subscribed, error) {
	r := newReader(TypeAck, payload)
	s := Subscribed{
		Hello: r.has("accepted_subscriptions"), NotFound: r.texts("not_found"),
		ResyncRequired: r.texts("resync_required"), Cursors: r.cursors(),
	}
	s.Accepted = r.texts("accepted")
	if s.Hello {
		s.Accepted = r.texts("accepted_subscriptions")
	}
	return s, r.err
}

// Heartbeat is the payload of ping and pong.
type Heartbeat struct{ Nonce string }

// AppendJSON appends the payload.
func (h Heartbeat) AppendJSON(dst []byte) []byte {
	return closed(putText(append(dst, '{'), "nonce", h.Nonce), '}')
}

// DecodeHeartbeat reads the payload of ping and pong.
func DecodeHeartbeat(payload []byte) (Heartbeat, error) {
	r := newReader("heartbeat", payload)
	return Heartbeat{Nonce: r.text("nonce")}, r.err
}

// The reasons of resync_required.
const (
	ReasonBufferOverflow   = "buffer_overflow"
	ReasonEpochChanged     = "epoch_changed"
	ReasonSessionRecreated = "session_recreated"
	ReasonSessionDeleted   = "session_deleted"
)

// Resync is the payload of resync_required.
type Resync struct {
	SessionID  string
	Reason     string
	CurrentSeq uint64
	Epoch      string
}

// AppendJSON appends the payload.
func (s *Resync) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "session_id", s.SessionID)
	dst = putText(dst, "reason", s.Reason)
	dst = putUint(dst, "current_seq", s.CurrentSeq)
	return closed(putText(dst, "epoch", s.Epoch), '}')
}

// DecodeResync reads the payload of resync_required.
func DecodeResync(payload []byte) (Resync, error) {
	r := newReader(TypeResyncRequired, payload)
	s := Resync{
		SessionID: r.text("session_id"), Reason: r.text("reason"),
		CurrentSeq: r.uint("current_seq"), Epoch: r.text("epoch"),
	}
	return s, r.err
}
