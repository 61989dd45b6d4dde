package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// own is a client whose reader is the test.
func (r *rig) own() *websocket.Conn {
	r.t.Helper()
	ws, _, err := websocket.Dial(r.t.Context(), "ws://"+r.addr+"/v1/ws", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(64 << 20)
	sub := protocol.Subscribe{SessionID: "s", Transcript: grade.Spec{"main": grade.Delta}}
	f := protocol.Control{Type: protocol.TypeSubscribe, Payload: sub.AppendJSON(nil)}
	if err := ws.Write(r.t.Context(), websocket.MessageText, f.AppendJSON(nil)); err != nil {
		r.t.Fatal(err)
	}
	return ws
}

// answer takes a frame as a client does that answers each ping it comes to.
func answer(ctx context.Context, ws *websocket.Conn, frame []byte) (ping bool, err error) {
	var f protocol.Control
	if f, err = protocol.DecodeControl(frame); err != nil {
		return false, err
	}
	if f.Type != protocol.TypePing {
		return false, nil
	}
	pong := protocol.Control{Type: protocol.TypePong, Payload: f.Payload}
	return true, ws.Write(ctx, websocket.MessageText, pong.AppendJSON(nil))
}

// flood publishes n deltas of 4 KB each, and a step for each 20.
func (r *rig) flood(n int) {
	text := strings.Repeat("many words ", 400)
	for i := range n {
		if i%20 == 0 { // no text so long that it is cut
			r.publish("s", "main", "turn.step.started", `{}`)
		}
		r.publish("s", "main", "assistant.delta", fmt.Sprintf(`{"delta":%q}`, text))
	}
}

// A client at work on what it was sent for many heartbeats, which answers
// pings as it comes to them, is kept: it comes to one often.
func TestBusyClientIsKept(t *testing.T) {
	r := newRig(t, func(r *rig) {
		r.limits.Heartbeat, r.limits.RingBytes = 400*time.Millisecond, 64<<20
	})
	r.publish("s", "main", "turn.started", `{"prompt":"p"}`)
	ws := r.own()
	const deltas = 400
	var unpinged, seq int
	for seq < 1+deltas+deltas/20 {
		_, data, err := ws.Read(t.Context())
		if err != nil {
			t.Fatalf("a client that reads all the time, at seq %d: %v", seq, err)
		}
		if unpinged > 256<<10 {
			t.Fatalf("%d bytes without a ping", unpinged)
		}
		unpinged += len(data)
		time.Sleep(time.Second * time.Duration(len(data)) / (1 << 20)) // a megabyte a second
		ping, err := answer(t.Context(), ws, data)
		if err != nil {
			t.Fatal(err)
		}
		if ping {
			unpinged = 0
		}
		d, err := protocol.DecodeData(data)
		if err != nil {
			continue
		}
		if seq = int(d.Seq); d.Type == protocol.TypeReset {
			r.flood(deltas) // faster than it is read
		}
	}
}

// told is a log handler that passes on the messages.
type told struct {
	slog.Handler
	messages chan string
}

func (h told) Enabled(context.Context, slog.Level) bool { return true }

func (h told) Handle(_ context.Context, rec slog.Record) error {
	select {
	case h.messages <- rec.Message:
	default:
	}
	return nil
}

// A client that is closed for a good reason and then wakes up gets all that
// was sent to it, answers the pings in it, and learns the reason at the end.
func TestClosedClientIsTold(t *testing.T) {
	for reason, tc := range map[string]struct {
		limits Limits
		deltas int
		want   websocket.StatusCode
	}{
		"slow_client_closed": {
			Limits{SlowClient: 300 * time.Millisecond, Heartbeat: time.Hour, SendBytes: 8 << 10, RingBytes: 64 << 20}, 600, websocket.StatusPolicyViolation,
		},
		"silent_client_closed": {
			Limits{SlowClient: time.Hour, Heartbeat: 100 * time.Millisecond}, 60, websocket.StatusGoingAway,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			messages := make(chan string, 100)
			r := newRig(t, func(r *rig) {
				r.limits, r.logger = tc.limits, slog.New(told{slog.DiscardHandler, messages})
				r.limits.WriteBytes, r.limits.PingBytes, r.limits.Drain = 8<<10, 8<<10, time.Minute
			})
			r.publish("s", "main", "turn.started", `{"prompt":"p"}`)
			ws := r.own()
			for range 4 { // hello, ack, agents.update, reset
				if _, _, err := ws.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			r.flood(tc.deltas)
			for <-messages != reason {
			}
			pings := 0
			for {
				_, data, err := ws.Read(t.Context())
				if err != nil {
					if websocket.CloseStatus(err) != tc.want {
						t.Errorf("told %v after %d pings", err, pings)
					}
					break
				}
				ping, err := answer(t.Context(), ws, data)
				if err != nil {
					t.Fatal(err)
				}
				if ping {
					pings++
				}
			}
			if pings < 3 {
				t.Errorf("%d pings: the client had nothing to answer", pings)
			}
		})
	}
}
