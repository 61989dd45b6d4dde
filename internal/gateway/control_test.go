package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// Frames that are wrong are answered with what is wrong, and the connection
// stays.
func TestWrongFrames(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	for _, frame := range []string{
		`{`, `[]`, `"x"`, `{}`, `{"type":1}`, `{"type":"no_such_type","payload":{}}`, `{"type":"subscribe_v2"}`,
		`{"type":"subscribe_v2","payload":[]}`, `{"type":"subscribe_v2","payload":{"session_id":"s"}}`,
		`{"type":"subscribe_v2","payload":{"session_id":"s","transcript":{"main":"stream"}}}`,
		`{"type":"subscribe_v2","payload":{"session_id":7,"transcript":{}}}`,
		`{"type":"subscribe_v2","payload":{"session_id":"s","transcript":{"main":"delta"},"transcript_since":{"main":-1}}}`,
		`{"type":"subscribe_v2","payload":{"session_id":"s","transcript":{"main":"delta"},"window_turns":-1}}`,
		`{"type":"unsubscribe_v2","payload":{}}`, `{"type":"subscribe_sessions","payload":{"state":"odd"}}`,
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), "\xff\xfe",
	} {
		n := len(c.acks)
		if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		c.until("ack of "+frame, func() bool { return len(c.acks) > n })
		if a := c.acks[n]; a.Code == 0 || a.Msg == "" {
			t.Errorf("%.80s is answered with %d %q", frame, a.Code, a.Msg)
		}
	}
	c.watch("s", grade.Spec{"*": grade.Delta}, nil, "")
	if a := c.acks[len(c.acks)-1]; a.Code != 0 || a.ID != `"x"` {
		t.Errorf("the connection is no longer usable: %+v", a)
	}
}

// A raise resets, a drop and an unchanged grade send nothing, off ends it.
func TestGradeChanges(t *testing.T) {
	r := newRig(t, nil)
	fill(r, "s", "main", 50)
	c := r.dial(protocol.CapabilityAppendInput)
	resets := 0
	for _, g := range []grade.Grade{grade.Turn, grade.Turn, grade.Block, grade.Delta, grade.Block, grade.Turn, grade.Delta} {
		c.mu.Lock()
		raise := g > c.grade || resets == 0
		c.grade = grade.Delta // what is on its way was sent at the former grade
		c.mu.Unlock()
		c.watch("s", grade.Spec{"main": g}, nil, "")
		c.mu.Lock()
		c.grade = g
		c.mu.Unlock()
		if raise {
			resets++
		}
		fill(r, "s", "main", 30)
		c.reaches("main", r.folded("s", "main").Seq())
		if c.resets["main"] != resets {
			t.Fatalf("after going to %s: %d resets, want %d", g, c.resets["main"], resets)
		}
	}
	c.watch("s", grade.Spec{"main": grade.Off}, nil, "")
	n := len(c.order)
	fill(r, "s", "main", 30)
	c.send(protocol.TypePing, []byte(`{"nonce":"fence"}`))
	c.until("pong", func() bool { return c.control[len(c.control)-1].Type == protocol.TypePong })
	if len(c.order) != n {
		t.Errorf("%d frames after off", len(c.order)-n)
	}
}

// A client that reads nothing is closed, and nobody else feels it.
func TestSlowClient(t *testing.T) {
	r := newRig(t, func(r *rig) {
		r.limits.SendBytes = 8 << 10
		r.limits.SlowClient = time.Second
		r.limits.Heartbeat = 5 * time.Second // the write ends it, not the silence
		r.limits.Drain = 100 * time.Millisecond
	})
	r.publish("s", "main", "turn.started", `{"prompt":"p"}`)
	raw, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	slow, _, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/v1/ws", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			if err := raw.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
				return nil, err
			}
			return raw, nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sub := protocol.Subscribe{SessionID: "s", Transcript: grade.Spec{"main": grade.Delta}}
	f := protocol.Control{Type: protocol.TypeSubscribe, Payload: sub.AppendJSON(nil)}
	if err := slow.Write(t.Context(), websocket.MessageText, f.AppendJSON(nil)); err != nil {
		t.Fatal(err)
	}
	quick := r.dial()
	quick.watch("s", grade.Spec{"main": grade.Delta}, nil, "")
	text := strings.Repeat("many words ", 400)
	for range 200 {
		r.publish("s", "main", "assistant.delta", fmt.Sprintf(`{"delta":%q}`, text))
	}
	want := r.folded("s", "main")
	quick.reaches("main", want.Seq())
	if got, want := quick.state("main"), wantState(want, grade.Delta); got != want {
		t.Errorf("the quick client does not hold the fold's state")
	}
	r.eventually("the slow client is closed", func() bool {
		r.g.mu.Lock()
		defer r.g.mu.Unlock()
		return r.g.connections == 1
	})
}

// The session list is told whole, then as it changes.
func TestSessionList(t *testing.T) {
	r := newRig(t, nil)
	put := func(id, title, state, at string) {
		doc := fmt.Sprintf(`{"session_id":%q,"title":%q,"state":%q,"last_activity":%q,"labels":{"host":"h1"}}`, id, title, state, at)
		key := statestore.IndexKey(id)
		e, _ := r.state.Get(t.Context(), key)
		if _, err := r.state.Put(t.Context(), statestore.Write{Key: key, Value: []byte(doc), Expect: e.Rev}); err != nil {
			t.Fatal(err)
		}
	}
	put("s1", "first", "done", "2026-01-01T00:00:00.000Z")
	put("s2", "second", "failed", "2026-01-02T00:00:00.000Z")
	var answer struct {
		Sessions []struct{ SessionID, Title, State string }
		HasMore  bool   `json:"has_more"`
		Next     string `json:"next_cursor"`
	}
	list := func(params string) string {
		answer.Sessions, answer.Next = nil, ""
		r.getJSON("/v1/sessions?"+params, &answer)
		var b bytes.Buffer
		for _, s := range answer.Sessions {
			b.WriteString(s.Title + " ")
		}
		return b.String()
	}
	r.eventually("both are listed", func() bool { return list("") == "second first " })
	for params, want := range map[string]string{
		"q=FIRST": "first ", "state=failed": "second ", "host=h1&q=s2": "second ", "host=other": "", "state=running": "",
	} {
		if got := list(params); got != want {
			t.Errorf("%s lists %q, want %q", params, got, want)
		}
	}
	if got := list("limit=1"); got != "second " || !answer.HasMore {
		t.Errorf("first page %q, has_more %t", got, answer.HasMore)
	}
	if got := list("limit=1&cursor=" + answer.Next); got != "first " || answer.HasMore {
		t.Errorf("second page %q, has_more %t", got, answer.HasMore)
	}

	c := r.dial()
	told := func(typ, word string) func() bool {
		return func() bool {
			for _, f := range c.control {
				if f.Type == typ && bytes.Contains(f.Payload, []byte(word)) {
					return true
				}
			}
			return false
		}
	}
	c.send(protocol.TypeSubscribeSessions, []byte(`{"state":"done"}`))
	c.until("the list", told("sessions.reset", "s1"))
	put("s3", "third", "done", "2026-01-03T00:00:00.000Z")
	c.until("a new session", told("sessions.upsert", "s3"))
	put("s1", "first", "failed", "2026-01-04T00:00:00.000Z")
	c.until("one that no longer matches", told("sessions.remove", "s1"))
	if told("sessions.upsert", "s2")() || told("sessions.reset", "s2")() {
		t.Error("a session is told that does not match")
	}
}
