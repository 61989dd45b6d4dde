package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// save stores what a projector would have stored at a seq.
func (r *rig) save(s, a string, seq uint64) {
	r.t.Helper()
	st := r.foldTo(s, a, seq).Encode()
	for prefix, doc := range map[string][]byte{
		statestore.PrefixHead: st.Head, statestore.PrefixMemory: st.Memory, statestore.PrefixResume: st.Resume,
	} {
		r.put(docKey(prefix, s, a), doc)
	}
}

func docKey(prefix, s, a string) string {
	return statestore.AgentKey(prefix, events.SessionID(s).Slot(16), events.SessionID(s).Token(), events.AgentID(a).Token())
}

func (r *rig) put(key string, value []byte) {
	r.t.Helper()
	e, _ := r.store.Get(r.t.Context(), key) // absent: the revision to expect
	c := statestore.Commit{ID: key + fmt.Sprint(e.Rev), Writes: []statestore.Write{{Key: key, Value: value, Expect: e.Rev}}}
	if _, err := r.store.Apply(r.t.Context(), c); err != nil {
		r.t.Fatal(err)
	}
}

// tell publishes a story in several runs, with a call left uncertain.
func tell(r *rig, s, a string, n int) {
	r.t.Helper()
	w := &writer{r: r, rnd: rand.New(rand.NewPCG(1, 2)), s: s, a: a}
	for range n {
		w.next()
	}
	for i, run := range []string{"r1", "r2"} {
		for j, e := range []struct{ typ, payload string }{
			{"message", `{"role":"user","content":"go on"}`},
			{"message", `{"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"edit","name":"Edit","arguments":"{}"}]}}`},
			{"tool_lifecycle", `{"tool_name":"Edit","tool_call_id":"edit","status":"started","args":{"path":"x"}}`},
		} {
			env := fmt.Sprintf(`{"event_type":%q,"payload":%s,"run_id":%q,"n":%d,"event_id":"f%d-%d"}`, e.typ, e.payload, run, j+1, i, j)
			if _, err := r.events.Append(r.t.Context(), events.SessionID(s), events.AgentID(a), []byte(env), ""); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// wantDerived compares the answers with the fold of the whole log.
func (r *rig) wantDerived(s, a string) {
	r.t.Helper()
	epoch, err := r.g.queries.src.epoch(r.t.Context(), events.SessionID(s))
	if err != nil {
		r.t.Fatal(err)
	}
	whole := r.foldTo(s, a, 1<<30)
	base := "/v1/sessions/" + s
	r.wantBody(base+"/resume?agent_id="+a, whole.Resume(resume.ReadOptions{Epoch: epoch}).AppendJSON(nil))
	r.wantBody(base+"/memory?agent_id="+a, whole.Memory().AppendJSON(nil))
}

func (r *rig) wantBody(path string, want []byte) {
	r.t.Helper()
	resp, got := r.get(path)
	if resp.StatusCode != http.StatusOK || !bytes.Equal(got, want) {
		r.t.Errorf("GET %s: %s\n%.2000s\nwant\n%.2000s", path, resp.Status, got, want)
	}
}

// Resume state and memory are those of the whole log, whatever is saved: the
// tail is folded behind a state that is whole, and the log where it is not.
func TestDerived(t *testing.T) {
	for name, prepare := range map[string]func(r *rig){
		"nothing is saved": func(*rig) {},
		"the end is saved": func(r *rig) { r.save("s", "main", 1<<30) },
		"half is saved":    func(r *rig) { r.save("s", "main", 60) },
		"without memory":   func(r *rig) { r.save("s", "main", 60); r.put(docKey("mem", "s", "main"), nil) },
		"a head alone": func(r *rig) {
			r.save("s", "main", 60)
			r.put(docKey("mem", "s", "main"), nil)
			r.put(docKey("resume", "s", "main"), nil)
		},
		"a position": func(r *rig) {
			r.put(docKey("head", "s", "main"), []byte(`{"position":{"seq":60,"stream_seq":60}}`))
		},
		"a damaged resume state": func(r *rig) { r.save("s", "main", 60); r.put(docKey("resume", "s", "main"), []byte("\x01?")) },
		"a resume state of another format": func(r *rig) {
			r.save("s", "main", 60)
			r.put(docKey("resume", "s", "main"), []byte{99})
		},
		"an earlier resume state": func(r *rig) {
			r.save("s", "main", 60)
			r.put(docKey("resume", "s", "main"), r.foldTo("s", "main", 40).Encode().Resume)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			tell(r, "s", "main", 90)
			prepare(r)
			r.wantDerived("s", "main")
			// What came since the last answer is in the next one.
			r.publish("s", "main", "action.decided", `{"run_id":"r2","toolCallId":"edit","decision":"done"}`)
			r.wantDerived("s", "main")
		})
	}
}

// What a run asks for, or the whole history, is folded from the log's start.
func TestResumeOfARun(t *testing.T) {
	r := newRig(t, nil)
	tell(r, "s", "main", 40)
	r.save("s", "main", 30)
	epoch, err := r.g.queries.src.epoch(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for query, opts := range map[string][]fold.Option{
		"run_id=r1":             {fold.ForRun("r1")},
		"run_id=none":           {fold.ForRun("none")},
		"history=all":           {fold.WholeHistory()},
		"history=all&run_id=r2": {fold.WholeHistory(), fold.ForRun("r2")},
	} {
		agent := r.foldTo("s", "main", 1<<30, opts...)
		want := agent.Resume(resume.ReadOptions{Epoch: epoch, All: strings.Contains(query, "all")})
		if query == "run_id=r1" && (want.RunID != "r1" || len(want.History) != 3) {
			t.Errorf("the story has no run r1: %s", want.AppendJSON(nil))
		}
		r.wantBody("/v1/sessions/s/resume?"+query, want.AppendJSON(nil))
	}
}

// With its beginning trimmed a log is still resumed, from what is saved.
func TestDerivedWithoutTheBeginning(t *testing.T) {
	r := newRig(t, nil)
	tell(r, "s", "main", 60)
	r.save("s", "main", 50)
	epoch, err := r.g.queries.src.epoch(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	want := r.foldTo("s", "main", 1<<30).Resume(resume.ReadOptions{Epoch: epoch}).AppendJSON(nil)
	r.log.Trim(40)
	r.wantBody("/v1/sessions/s/resume", want)
	if resp, body := r.get("/v1/sessions/s/resume?run_id=r1"); resp.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "history_trimmed") {
		t.Errorf("a run of it: %s %s", resp.Status, body)
	}
}

// mixing answers the first reads of resume states as if they had been read
// before the head was saved.
type mixing struct {
	statestore.Store
	earlier []byte
	left    atomic.Int32
}

func (m *mixing) Get(ctx context.Context, key string) (statestore.Entry, error) {
	e, err := m.Store.Get(ctx, key)
	if strings.HasPrefix(key, statestore.PrefixResume+".") && m.left.Add(-1) >= 0 {
		e.Value = m.earlier
	}
	return e, err
}

// Documents that were written while they were read are read again.
func TestDerivedWhileItIsSaved(t *testing.T) {
	m := &mixing{}
	r := newRig(t, func(r *rig) { m.Store = r.state; r.events, r.store = r.log, m })
	tell(r, "s", "main", 60)
	r.save("s", "main", 50)
	want := r.foldTo("s", "main", 1<<30).Memory().AppendJSON(nil)
	m.earlier = r.foldTo("s", "main", 20).Encode().Resume
	r.log.Trim(40) // so that nothing can be made again
	m.left.Store(mixedReads - 1)
	r.wantBody("/v1/sessions/s/memory", want)
	if m.left.Load() >= 0 {
		t.Error("the earlier state was not read")
	}
}

func TestMemoryAsText(t *testing.T) {
	r := newRig(t, nil)
	tell(r, "s", "main", 60)
	text := memory.Render(r.foldTo("s", "main", 1<<30).Memory(), 1<<30)
	if !strings.HasPrefix(text, "## Session Memory") {
		t.Fatalf("the story leaves no memory: %q", text)
	}
	for _, tc := range []struct{ accept, query, want string }{
		{"text/markdown", "", text},
		{"text/html, text/markdown;q=0.5, */*", "", text},
		{"text/markdown", "?char_budget=120", memory.Render(r.foldTo("s", "main", 1<<30).Memory(), 120)},
		{"text/markdown", "?char_budget=0", ""},
		{"text/markdown;q=0", "", "{"},
		{"application/json", "", "{"},
		{"", "", "{"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.addr+"/v1/sessions/s/memory"+tc.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", tc.accept)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if tc.want == "{" {
			if resp.Header.Get("Content-Type") != "application/json" || !json.Valid(body.Bytes()) {
				t.Errorf("Accept %q: %s %s", tc.accept, resp.Header.Get("Content-Type"), &body)
			}
			continue
		}
		if body.String() != tc.want || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/markdown") || resp.Header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q%s: %v\n%s", tc.accept, tc.query, resp.Header, &body)
		}
		if tc.query == "?char_budget=120" && utf8.RuneCount(body.Bytes()) > 120 {
			t.Errorf("%d characters", utf8.RuneCount(body.Bytes()))
		}
	}
}

// A child whose end its parent has not told is described by its own log.
func TestChildState(t *testing.T) {
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprint("watched ", watched), func(t *testing.T) {
			r := newRig(t, nil)
			for _, id := range []string{"done", "asks", "told", "silent"} {
				r.publish("s", "main", "subagent.spawned", fmt.Sprintf(`{"subagentId":%q,"parentToolCallId":"c-%s"}`, id, id))
			}
			r.publish("s", "main", "subagent.completed", `{"subagentId":"told","resultSummary":"ok"}`)
			for _, id := range []string{"done", "asks", "told"} {
				r.publish("s", id, "turn.started", `{"prompt":"x"}`)
			}
			r.publish("s", "asks", "interaction.request", `{"id":"i","kind":"question","request":{}}`)
			r.publish("s", "done", "turn.ended", `{"reason":"completed"}`)
			for _, id := range []string{"main", "done", "asks", "told"} {
				r.save("s", id, 1<<30)
			}
			if watched {
				r.getJSON("/v1/sessions/s", new(any))
			}
			var st resume.State
			r.getJSON("/v1/sessions/s/resume", &st)
			got := map[string]string{}
			for _, c := range st.Children {
				got[c.AgentID] = c.State + "/" + c.ChildState
			}
			for id, want := range map[string]string{"done": "/done", "asks": "/waiting", "told": "completed/", "silent": "/"} {
				if !strings.HasSuffix(got[id], want) || got[id] == "" {
					t.Errorf("child %s is %q, want …%q", id, got[id], want)
				}
			}
		})
	}
}
