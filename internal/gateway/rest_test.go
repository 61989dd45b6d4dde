package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// No id that is none reaches a subject, a key or a path, whichever way it
// comes in.
func TestHostileIDs(t *testing.T) {
	r := newRig(t, nil)
	r.publish("a.b", "main", "turn.started", `{"prompt":"hello"}`)
	bad := []string{
		"", ".", "..", "../../etc", "x*", "a>b", "a b", "a/b", "%2e%2e", "..%2f..%2fetc", "a%00b", "é",
		strings.Repeat("a", 129), "a\\b", "$KV", "a=2Eb", "%zz",
	}
	routes := []string{"", "/transcript", "/transcript/ops", "/runs", "/wire", "/stream"}
	for _, id := range bad {
		for _, route := range routes {
			for _, form := range []string{id, url.PathEscape(id)} {
				if strings.ContainsAny(form, " é") || form == "%zz" || form == "a/b" {
					continue // no request line at all, and session a
				}
				path := "/v1/sessions/" + form + route
				r.refused(http.MethodGet, path, "")
			}
			if route != "" {
				r.refused(http.MethodGet, "/v1/sessions/a.b"+route+"?agent_id="+url.QueryEscape(id), "")
			}
		}
		r.refused(http.MethodPost, "/v1/sessions/"+url.PathEscape(id)+"/events", "{}")
		r.refused(http.MethodPost, "/v1/sessions/a.b/events?agent_id="+url.QueryEscape(id), "{}")
	}
	for _, id := range []string{"a.b", strings.Repeat("a", 128), "A-Z_0.9"} {
		if resp, body := r.get("/v1/sessions/" + id); resp.StatusCode == http.StatusBadRequest {
			t.Errorf("legal id %q is refused: %s", id, body)
		}
	}
	if resp, body := r.get("/v1/sessions/a.b/transcript"); resp.StatusCode != http.StatusOK {
		t.Errorf("session a.b: %s %s", resp.Status, body)
	}
	c := r.dial()
	for _, id := range bad {
		name, _ := json.Marshal(id)
		for _, frame := range []struct{ typ, payload string }{
			{protocol.TypeSubscribe, fmt.Sprintf(`{"session_id":%s,"transcript":{"*":"delta"}}`, name)},
			{protocol.TypeSubscribe, fmt.Sprintf(`{"session_id":"a.b","transcript":{%s:"delta"}}`, name)},
			{protocol.TypeUnsubscribe, fmt.Sprintf(`{"session_id":%s}`, name)},
			{protocol.TypeClientHello, fmt.Sprintf(`{"client_id":"x","subscriptions":[%s]}`, name)},
		} {
			n := len(c.acks)
			c.send(frame.typ, []byte(frame.payload))
			c.until("ack", func() bool { return len(c.acks) > n })
			if c.acks[n].Code == 0 {
				t.Errorf("%s %s is accepted", frame.typ, frame.payload)
			}
		}
	}
}

// refused wants a problem with a reason.
func (r *rig) refused(method, path, body string) {
	r.t.Helper()
	resp, data := r.do(method, path, body)
	var p struct{ Status, Code, Detail any }
	err := json.Unmarshal(data, &p)
	if resp.StatusCode != http.StatusBadRequest || err != nil || p.Detail == "" || p.Code == "" {
		r.t.Errorf("%s %s: %s %s (%v)", method, path, resp.Status, data, err)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/problem+json" {
		r.t.Errorf("%s %s: content type %s", method, path, ct)
	}
}

func TestProblems(t *testing.T) {
	r := newRig(t, nil)
	r.publish("s", "main", "turn.started", `{"prompt":"hello"}`)
	for _, tc := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/v1/sessions/none", 404, "session_not_found"},
		{"GET", "/v1/sessions/none/transcript", 404, "session_not_found"},
		{"GET", "/v1/sessions/s/transcript?agent_id=none", 404, "agent_not_found"},
		{"GET", "/v1/sessions/s/transcript?before_turn=t1&after_turn=t2", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/transcript?page_size=101", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/transcript?before_turn=zzz", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/transcript?grade=stream", 400, "bad_grade"},
		{"GET", "/v1/sessions/s/transcript/ops?since_seq=-1", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/transcript/ops?since_seq=1&since_seq=2", 400, "bad_parameter"},
		{"GET", "/v1/sessions?cursor=!!", 400, "bad_cursor"},
		{"GET", "/v1/sessions?state=odd", 400, "bad_parameter"},
		{"GET", "/v1/nothing", 404, "no_route"},
		{"POST", "/v1/sessions/s/transcript", 405, "method_not_allowed"},
		{"POST", "/v1/sessions/s/events", 400, "empty_body"},
	} {
		resp, data := r.do(tc.method, tc.path, "")
		var p struct{ Code string }
		if err := json.Unmarshal(data, &p); err != nil || resp.StatusCode != tc.status || p.Code != tc.code {
			t.Errorf("%s %s: %s %s, want %d %s", tc.method, tc.path, resp.Status, data, tc.status, tc.code)
		}
	}
}

// Catch-up from the ring and by folding the log again are the same, at every
// grade and cut anywhere, and bring a client to the fold's state.
func TestCatchUp(t *testing.T) {
	whole := newRig(t, nil)
	small := newRig(t, func(r *rig) { r.log, r.limits.RingBytes = whole.log, 1 })
	fill(whole, "s", "main", 300)
	end := whole.folded("s", "main").Seq()
	for _, g := range []string{"turn", "block", "delta", "delta&capabilities=append_input"} {
		for _, since := range []uint64{0, 1, end / 2, end - 1, end} {
			path := fmt.Sprintf("/v1/sessions/s/transcript/ops?grade=%s&since_seq=%d", g, since)
			_, a := whole.get(path)
			_, b := small.get(path)
			if string(a) != string(b) {
				t.Errorf("%s: from the ring\n%.600s\nby folding\n%.600s", path, a, b)
			}
		}
		if got, want := caughtUp(t, small, "&grade="+g, 7), wantCatchUp(whole, g); got != want {
			t.Errorf("grade %s: caught up to\n%s\nthe fold\n%s", g, got, want)
		}
	}
	var beyond protocol.CatchUp
	_, data := whole.get(fmt.Sprintf("/v1/sessions/s/transcript/ops?since_seq=%d", end+1))
	if beyond, _ = protocol.DecodeCatchUp(data); beyond.Complete || beyond.LatestSeq != end || len(beyond.Batches) > 0 {
		t.Errorf("ahead of the log: %s", data)
	}
	_, data = whole.get("/v1/sessions/s/transcript/ops?since_seq=1&epoch=other.1")
	if other, _ := protocol.DecodeCatchUp(data); other.Complete {
		t.Errorf("another epoch: %.300s", data)
	}
}

func wantCatchUp(r *rig, g string) string {
	agent := r.folded("s", "main")
	if g == "turn" {
		return window(agent.Snapshot(-1).WithoutSteps())
	}
	return window(agent.Snapshot(-1))
}

// caughtUp follows has_more in small pieces.
func caughtUp(t *testing.T, r *rig, params string, limit int) string {
	t.Helper()
	rep := protocol.NewReplica("main")
	for first := true; ; first = false {
		_, data := r.get(fmt.Sprintf("/v1/sessions/s/transcript/ops?limit=%d&since_seq=%d%s", limit, rep.Seq(), params))
		c, err := protocol.DecodeCatchUp(data)
		if err != nil {
			t.Fatal(err)
		}
		if first {
			rep.Reset(&protocol.Reset{AgentID: "main", Snapshot: &reducer.Snapshot{}, Epoch: c.Epoch})
		}
		if out := rep.CatchUp(&c); out == protocol.Lost {
			t.Fatalf("lost at %d: %.500s", rep.Seq(), data)
		}
		if !c.HasMore {
			return window(rep.Transcript().Snapshot(-1))
		}
	}
}

// Pages older than what the fold keeps are re-made from the log; together they
// are the whole conversation.
func TestOlderPages(t *testing.T) {
	r := newRig(t, nil)
	for i := range 90 {
		r.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":"q%d"}`, i))
		r.publish("s", "main", "assistant.message", fmt.Sprintf(`{"text":"a%d"}`, i))
		r.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
	}
	var got []string
	before := ""
	for {
		_, data := r.get("/v1/sessions/s/transcript?page_size=13" + before)
		p, err := protocol.DecodePage(data)
		if err != nil {
			t.Fatalf("%v: %.300s", err, data)
		}
		var page []string
		for turn := range p.Snapshot.Turns() {
			page = append(page, turn.Prompt.V+"/"+turn.Steps[0].Frames[0].Text)
		}
		got = append(page, got...)
		if !p.HasMore {
			break
		}
		for turn := range p.Snapshot.Turns() {
			before = "&before_turn=" + turn.TurnID
			break
		}
	}
	if len(got) != 90 {
		t.Fatalf("%d turns: %v", len(got), got)
	}
	for i, s := range got {
		if want := fmt.Sprintf("q%d/a%d", i, i); s != want {
			t.Errorf("turn %d is %s", i, s)
		}
	}
}
