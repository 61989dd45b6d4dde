package gwclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stenohq/steno/cmd/internal/gwclient"
	"github.com/stenohq/steno/internal/gateway"
)

// What was published is in the resume state and the memory at once.
func TestPublishAndResume(t *testing.T) {
	r := newRig(t, gateway.Limits{})
	c, err := gwclient.New(r.server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r.publish("turn.started", `{"prompt":"go"}`)
	r.publish("tool.call.started", `{"toolCallId":"c","name":"Bash","args":{}}`)
	st, _, err := c.Resume(t.Context(), "s", "main", "")
	if err != nil || len(st.Uncertain()) != 1 {
		t.Fatalf("%d uncertain calls, %v", len(st.Uncertain()), err)
	}
	decided := fmt.Sprintf(`{"event_type":"action.decided","payload":{"run_id":%q,"toolCallId":"c","decision":"done"}}`, st.ToolCalls[0].RunID)
	if err := c.Publish(t.Context(), "s", "main", []byte(decided)); err != nil {
		t.Fatal(err)
	}
	st, raw, err := c.Resume(t.Context(), "s", "main", "")
	if err != nil || len(st.Uncertain()) != 0 || st.LastSeq != 3 {
		t.Errorf("after the decision: %s, %v", raw, err)
	}
	if m, raw, err := c.Memory(t.Context(), "s", "main"); err != nil || m.EventCount != 3 {
		t.Errorf("memory: %s, %v", raw, err)
	}
	if err := c.Publish(t.Context(), "s", "main", []byte(`{"event_type":""}`)); err == nil || !strings.Contains(err.Error(), "not stored (rejected)") {
		t.Errorf("an event that is none: %v", err)
	}
	if _, _, err := c.Resume(t.Context(), "none", "main", ""); err == nil {
		t.Error("a session that is not there is resumed")
	}
}

func TestPublishAnswers(t *testing.T) {
	for body, want := range map[string]string{
		`{"results":[{"result":"stored"}]}`:                "",
		`{"results":[{"result":"duplicate"}]}`:             "",
		`{"results":[{"result":"retry","reason":"full"}]}`: "(retry): full",
		`{"results":[]}`: "for 0 events",
		`?`:              "read the gateway's answer",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		c, err := gwclient.New(srv.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		err = c.Publish(t.Context(), "s", "main", []byte(`{}`))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", body, err)
		}
		c.Close()
		srv.Close()
	}
}
