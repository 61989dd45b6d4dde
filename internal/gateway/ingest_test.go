package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/pkg/events"
)

func (r *rig) ingest(path, body string) (int, string) {
	r.t.Helper()
	resp, data := r.do(http.MethodPost, path, body)
	var answer struct{ Results []result }
	if err := json.Unmarshal(data, &answer); err != nil {
		r.t.Fatalf("%s: %s", resp.Status, data)
	}
	var words []string
	for _, res := range answer.Results {
		words = append(words, res.Result)
	}
	return resp.StatusCode, strings.Join(words, " ")
}

func TestIngest(t *testing.T) {
	r := newRig(t, nil)
	ev := func(extra string) string { return `{"event_type":"turn.started","payload":{}` + extra + `}` }
	for _, tc := range []struct{ name, body, want string }{
		{"one", ev(""), "stored"},
		{"an array", "[" + ev("") + "," + ev("") + "]", "stored stored"},
		{"lines", ev("") + "\n\n" + ev("") + "\n", "stored stored"},
		{"a bad one between good ones", "[" + ev("") + `,{"payload":{}},` + ev("") + "]", "stored rejected stored"},
		{"a line that is no JSON", ev("") + "\nnonsense\n" + ev(""), "stored rejected stored"},
		{"of another session", ev(`,"session_id":"other"`), "rejected"},
		{"with an id, twice", "[" + ev(`,"event_id":"e1"`) + "," + ev(`,"event_id":"e1"`) + "]", "stored duplicate"},
		{"of a run", "[" + ev(`,"run_id":"r","n":1`) + "," + ev(`,"run_id":"r","n":2`) + "]", "stored stored"},
		{"of a run again, and its next", "[" + ev(`,"run_id":"r","n":2`) + "," + ev(`,"run_id":"r","n":3`) + "]", "duplicate stored"},
		{"of a run with a hole", "[" + ev(`,"run_id":"r","n":5`) + "," + ev(`,"run_id":"r","n":4`) + "]", "retry stored"},
	} {
		if status, got := r.ingest("/v1/sessions/s/events", tc.body); status != 200 || got != tc.want {
			t.Errorf("%s: %d %q, want %q", tc.name, status, got, tc.want)
		}
	}
	if _, got := r.ingest("/v1/sessions/s/events?agent_id=sub", ev("")); got != "stored" {
		t.Errorf("to another agent: %s", got)
	}
	agents, err := r.log.Agents(t.Context(), "s")
	if err != nil || len(agents) != 2 {
		t.Errorf("agents %v (%v)", agents, err)
	}
}

func TestIngestGzip(t *testing.T) {
	r := newRig(t, nil)
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	fmt.Fprint(z, `{"event_type":"turn.started","payload":{}}`)
	z.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr+"/v1/sessions/s/events", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestIngestUnderPressure(t *testing.T) {
	r := newRig(t, nil)
	n := 0
	r.log.SetFaults(memlog.Faults{Append: func(events.SessionID, events.AgentID, []byte) memlog.Fault {
		if n++; n == 2 {
			return memlog.Full
		}
		return memlog.NoFault
	}})
	ev := func(n int) string {
		return fmt.Sprintf(`{"event_type":"turn.started","payload":{},"run_id":"r","n":%d}`, n)
	}
	status, got := r.ingest("/v1/sessions/s/events", ev(1)+"\n"+ev(2)+"\n"+ev(3))
	if status != http.StatusTooManyRequests || got != "stored retry retry" {
		t.Errorf("%d %s", status, got)
	}
	if status, got := r.ingest("/v1/sessions/s/events", ev(2)+"\n"+ev(3)); status != 200 || got != "stored stored" {
		t.Errorf("again: %d %s", status, got)
	}
}

// The runs query is as new as the stream's leader, watched or not.
func TestRuns(t *testing.T) {
	for _, watched := range []bool{false, true} {
		r := newRig(t, nil)
		r.log.SetFaults(memlog.Faults{})
		if watched {
			r.publish("s", "main", "turn.started", `{}`)
			r.get("/v1/sessions/s")
		}
		ask := func(run string) (next uint64, last, current string) {
			var a struct {
				Next    uint64
				Last    string `json:"last_event_id"`
				Current string
			}
			r.getJSON("/v1/sessions/s/runs?run_id="+run, &a)
			return a.Next, a.Last, a.Current
		}
		if next, _, _ := ask("r"); next != 1 {
			t.Errorf("an unknown run goes on with %d", next)
		}
		for n := 1; n <= 50; n++ {
			env := fmt.Sprintf(`{"event_type":"assistant.delta","payload":{"delta":"x"},"run_id":"r","n":%d,"event_id":"e%d"}`, n, n)
			if _, err := r.log.Append(t.Context(), "s", "main", []byte(env), ""); err != nil {
				t.Fatal(err)
			}
			if next, last, current := ask("r"); next != uint64(n+1) || last != fmt.Sprintf("e%d", n) || current != "r" {
				t.Fatalf("after %d: next %d last %q current %q", n, next, last, current)
			}
		}
	}
}
