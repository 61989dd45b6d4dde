package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/grade"
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
	routes := []string{"", "/transcript", "/transcript/ops", "/runs", "/wire", "/stream", "/memory", "/resume"}
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
		{"GET", "/v1/sessions/none/resume", 404, "session_not_found"},
		{"GET", "/v1/sessions/s/resume?agent_id=none", 404, "agent_not_found"},
		{"GET", "/v1/sessions/s/resume?history=some", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/resume?run_id=a&run_id=b", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/resume?run_id=" + strings.Repeat("r", 129), 400, "bad_parameter"},
		{"GET", "/v1/sessions/none/memory", 404, "session_not_found"},
		{"GET", "/v1/sessions/s/memory?agent_id=none", 404, "agent_not_found"},
		{"GET", "/v1/sessions/s/memory?char_budget=-1", 400, "bad_parameter"},
		{"GET", "/v1/sessions/s/memory?char_budget=many", 400, "bad_parameter"},
		{"POST", "/v1/sessions/s/memory", 405, "method_not_allowed"},
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
// are the whole conversation, however little of it is kept at a time.
func TestOlderPages(t *testing.T) {
	for _, kept := range []int{0, 20 << 10, 1} {
		r := newRig(t, func(r *rig) { r.limits.HistoryBytes = kept })
		var want []string
		for i := range 50 {
			r.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":"q%d"}`, i))
			r.publish("s", "main", "assistant.message", fmt.Sprintf(`{"text":"a%d"}`, i))
			r.publish("s", "main", "warning", fmt.Sprintf(`{"message":"w%d"}`, i))
			r.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			want = append(want, fmt.Sprintf("q%d/a%d w%d", i, i, i))
		}
		for _, size := range []int{13, 100} {
			var got []string
			before := ""
			for more := true; more; {
				var page []string
				page, before, more = r.page(fmt.Sprintf("page_size=%d", size) + before)
				before = "&before_turn=" + before
				got = append(page, got...)
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("kept %d: backwards by %d: %d turns\n%s", kept, size, len(got), strings.Join(got, "\n"))
			}
			got = nil
			for more, after := true, 0; more; after = len(got) - 1 {
				var page []string
				cursor := fmt.Sprintf("&after_turn=t%d", after)
				if len(got) == 0 {
					page, _, _ = r.page("turn=t0")
				} else {
					page, _, more = r.page(fmt.Sprintf("page_size=%d", size) + cursor)
				}
				got = append(got, page...)
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("kept %d: forwards by %d: %d turns\n%s", kept, size, len(got), strings.Join(got, "\n"))
			}
		}
	}
}

// page returns a page's turns in short, its first turn, and has_more.
func (r *rig) page(params string) (turns []string, first string, more bool) {
	r.t.Helper()
	_, data := r.get("/v1/sessions/s/transcript?" + params)
	p, err := protocol.DecodePage(data)
	if err != nil {
		r.t.Fatalf("%v: %.300s", err, data)
	}
	for it := range p.Snapshot.Items() {
		switch {
		case it.Turn != nil:
			if first == "" {
				first = it.Turn.TurnID
			}
			turns = append(turns, it.Turn.Prompt.V+"/"+it.Turn.Steps[0].Frames[0].Text)
		case it.Marker != nil && len(turns) > 0:
			var m struct{ Message string }
			_ = json.Unmarshal([]byte(it.Marker.Payload), &m)
			turns[len(turns)-1] += " " + m.Message
		}
	}
	return turns, first, p.HasMore
}

// An undo that reaches turns the fold has closed is a reset for watchers, with
// no steps at grade turn, and leaves the older turns to be paged.
func TestUndoOfClosedTurns(t *testing.T) {
	r := newRig(t, nil)
	say := func(i int) {
		r.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":"q%d"}`, i))
		r.publish("s", "main", "assistant.message", fmt.Sprintf(`{"text":"a%d"}`, i))
		r.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
	}
	for i := range 60 {
		say(i)
	}
	var clients []*client
	for _, g := range []grade.Grade{grade.Turn, grade.Block, grade.Delta} {
		c := r.dial(protocol.CapabilityAppendInput)
		c.grade = g
		c.watch("s", grade.Spec{"*": g}, nil, "")
		c.reaches("main", r.folded("s", "main").Seq())
		clients = append(clients, c)
	}
	if page, _, _ := r.page("turn=t3"); len(page) != 1 { // a history made before the undo is read on
		t.Errorf("turn t3: %v", page)
	}
	r.publish("s", "main", "context.undo", `{"count":50}`)
	say(60)
	want := r.folded("s", "main")
	for _, c := range clients {
		c.reaches("main", want.Seq())
		if got, want := c.state("main"), wantState(want, c.grade); got != want {
			t.Errorf("at %s holds\n%s\nthe fold\n%s", c.grade, got, want)
		}
		if c.undone != 1 {
			t.Errorf("at %s: %d resets inside batches", c.grade, c.undone)
		}
	}
	page, _, more := r.page("page_size=100")
	var prompts []string
	for i := range 10 {
		prompts = append(prompts, fmt.Sprintf("q%d/a%d", i, i))
	}
	prompts = append(prompts, "q60/a60")
	got := strings.Join(page, ",")
	got = strings.ReplaceAll(strings.TrimSpace(got), " ,", ",") // the undo's own marker has no message
	if got != strings.Join(prompts, ",") || more {
		t.Errorf("the whole is %s, more %t", got, more)
	}
}
