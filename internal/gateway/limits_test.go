package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

func TestCrossOriginIsRefused(t *testing.T) {
	r := newRig(t, nil)
	for origin, want := range map[string]int{
		"http://evil.example": http.StatusForbidden, "null": http.StatusForbidden, "http://" + r.addr: http.StatusSwitchingProtocols,
	} {
		ws, resp, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if resp == nil || resp.StatusCode != want {
			t.Errorf("origin %s: %v (%v)", origin, resp, err)
		}
		if err == nil {
			_ = ws.CloseNow()
		}
	}
}

// A page of another origin can neither write nor be told.
func TestCrossOriginPost(t *testing.T) {
	r := newRig(t, nil)
	for origin, want := range map[string]int{
		"": http.StatusOK, "http://" + r.addr: http.StatusOK, "http://evil.example": http.StatusForbidden, "null": http.StatusForbidden,
	} {
		body := strings.NewReader(`{"event_type":"turn.started","payload":{}}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr+"/v1/sessions/s/events", body)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("origin %q: %s", origin, resp.Status)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("origin %q may read", origin)
		}
	}
}

func TestSubscriptionLimit(t *testing.T) {
	r := newRig(t, func(r *rig) { r.limits.Subscriptions = 3 })
	c := r.dial()
	for i := range 5 {
		c.watch(fmt.Sprint("s", i), grade.Spec{"*": grade.Turn}, nil, "")
		c.mu.Lock()
		code := c.acks[i].Code
		c.mu.Unlock()
		if refused := i >= 3; refused != (code == http.StatusTooManyRequests) {
			t.Errorf("subscription %d: code %d", i+1, code)
		}
	}
}

func TestOversizedMessageCloses(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	_ = c.ws.Write(t.Context(), websocket.MessageText, make([]byte, 300<<10)) // the server may close before all is sent
	c.until("closed", func() bool { return websocket.CloseStatus(c.err) == websocket.StatusMessageTooBig })
}

// A client that answers nothing is closed with 1001, one that sends anything
// is not.
func TestHeartbeat(t *testing.T) {
	r := newRig(t, func(r *rig) { r.limits.Heartbeat = 100 * time.Millisecond })
	live := r.dial()
	mute, _, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err = mute.Read(t.Context()); err != nil {
			break
		}
	}
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("closed by %v", err)
	}
	live.send(protocol.TypePing, []byte(`{"nonce":"1"}`))
	live.until("pong", func() bool { return live.control[len(live.control)-1].Type == protocol.TypePong })
}

// Requests that are wrong as HTTP are refused before they cost anything.
func TestOversizedRequests(t *testing.T) {
	r := newRig(t, func(r *rig) { r.limits.BodyBytes = 1 << 10 })
	resp, data := r.do(http.MethodPost, "/v1/sessions/s/events", strings.Repeat("x", 2<<10))
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("body: %s %s", resp.Status, data)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.addr+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 64<<10))
	resp, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("header: %s", resp.Status)
	}
}

// kept is an archive of some agents' records, as a recorder would have them.
type kept map[events.AgentID][]eventlog.Record

func (k kept) Read(_ context.Context, _ events.SessionID, a events.AgentID, after uint64) iter.Seq2[archive.Line, error] {
	return func(yield func(archive.Line, error) bool) {
		if k[a] == nil {
			yield(archive.Line{}, archive.ErrNotFound)
			return
		}
		for i, r := range k[a] {
			seq := uint64(i + 1)
			line := archive.Line{Seq: seq, SeqTo: seq, StreamSeq: r.StreamSeq, StoredAt: r.StoredAt.UnixMilli(), Data: append([]byte(nil), r.Data...)}
			if seq > after && !yield(line, nil) {
				return
			}
		}
	}
}

func (k kept) Agents(context.Context, events.SessionID) ([]events.AgentID, error) {
	var list []events.AgentID
	for a := range k {
		list = append(list, a)
	}
	return list, nil
}

func (k kept) Sessions(context.Context) ([]events.SessionID, error) {
	return nil, errors.New("nobody asks")
}

// What the stream no longer has comes out of the archive, and what the archive
// does not have yet out of the stream.
func TestHistoryFromTheArchive(t *testing.T) {
	files := kept{}
	r := newRig(t, func(r *rig) { r.archive, r.limits.RingBytes = files, 1 })
	for i := range 60 {
		r.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":"q%d"}`, i))
		r.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
	}
	recs, err := r.log.Range(t.Context(), "s", "main", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(len(recs))
	files["main"] = recs[:90]
	want := r.folded("s", "main")
	r.saveHead("s", "main", r.foldedTo("s", "main", 80).Encode().Head)
	r.log.Trim(recs[69].StreamSeq)

	_, data := r.get("/v1/sessions/s/transcript/ops?since_seq=0")
	c, err := protocol.DecodeCatchUp(data)
	if err != nil || !c.Complete || uint64(len(c.Batches)) != end || c.LatestSeq != want.Seq() {
		t.Fatalf("complete %t, %d batches of %d (%v)", c.Complete, len(c.Batches), end, err)
	}
	_, data = r.get("/v1/sessions/s/transcript?before_turn=t3")
	p, err := protocol.DecodePage(data)
	var prompts []string
	for turn := range p.Snapshot.Turns() {
		prompts = append(prompts, turn.Prompt.V)
	}
	if err != nil || strings.Join(prompts, " ") != "q0 q1 q2" || p.HasMore {
		t.Errorf("page %v, more %t (%v)", prompts, p.HasMore, err)
	}
	for _, since := range []uint64{0, 50, 89, 90, 95, end} {
		_, body := r.get(fmt.Sprintf("/v1/sessions/s/wire?since_seq=%d", since))
		if n := strings.Count(string(body), "\n"); uint64(n) != end-since {
			t.Errorf("wire since %d has %d lines", since, n)
		}
	}
	// A head that cannot be continued is made anew from both.
	r.saveHead("s", "main", []byte(`{"position":{"seq":80,"stream_seq":80}}`))
	r.stop()
	r.start()
	w := r.dial(protocol.CapabilityAppendInput)
	w.watch("s", grade.Spec{"*": grade.Delta}, nil, "")
	w.reaches("main", want.Seq())
	if got, want := w.state("main"), wantState(want, grade.Delta); got != want {
		t.Errorf("holds\n%s\nthe fold\n%s", got, want)
	}
}

// A gateway whose log is out of reach says that it is not ready.
func TestReady(t *testing.T) {
	r := newRig(t, nil)
	if resp, body := r.get("/readyz"); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, body)
	}
	r.log.SetOffline(true)
	r.eventually("not ready", func() bool { return r.g.Ready() != nil })
	if resp, body := r.get("/readyz"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s %s", resp.Status, body)
	}
	r.log.SetOffline(false)
	r.eventually("ready again", func() bool { return r.g.Ready() == nil })
}
