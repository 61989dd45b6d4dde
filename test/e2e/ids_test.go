package e2e

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile ids are refused everywhere, before they reach a subject, a key or a
// path.
var hostile = []string{"../../etc", "..", ".", "x*", "x>", "a b", "a/b", "a=2Eb", "é", "x\x00y", strings.Repeat("a", 129), ""}

func TestHostileIDsInCommands(t *testing.T) {
	s := startUp(t, "recorder,projector,gateway")
	log := corpusPath(t, "fx-simonw-sample.jsonl")
	commands := map[string]func(id string) []string{
		"show": func(id string) []string { return []string{"show", "--gateway", s.gatewayURL(), "--", id} },
		"tail": func(id string) []string { return []string{"tail", "--gateway", s.gatewayURL(), "--", id} },
		"export wire": func(id string) []string {
			return []string{"export", "--gateway", s.gatewayURL(), "--format", "wire", "--", id}
		},
		"export json": func(id string) []string {
			return []string{"export", "--gateway", s.gatewayURL(), "--format", "json", "--", id}
		},
		"publish":       func(id string) []string { return []string{"publish", "--nats-url", s.natsURL(), "--", id} },
		"publish agent": func(id string) []string { return []string{"publish", "--nats-url", s.natsURL(), "--agent=" + id, "s"} },
		"show agent":    func(id string) []string { return []string{"show", "--gateway", s.gatewayURL(), "--agent=" + id, "s"} },
		"tail agent":    func(id string) []string { return []string{"tail", "--gateway", s.gatewayURL(), "--agent=" + id, "s"} },
		"import":        func(id string) []string { return []string{"import", "--nats-url", s.natsURL(), "--session=" + id, log} },
		"follow":        func(id string) []string { return []string{"follow", "--nats-url", s.natsURL(), "--session=" + id, log} },
	}
	for name, args := range commands {
		for _, id := range hostile {
			if strings.Contains(id, "\x00") {
				continue // no argument can hold it
			}
			code, out, errs := call(t, `{"event_type":"x","payload":{}}`, "steno", args(id)...)
			if code != 2 || out != "" || !strings.Contains(errs, "id ") || strings.Count(errs, "\n") > 3 {
				t.Errorf("%s %q: exit code %d, stdout %q, stderr %q", name, id, code, out, errs)
			}
		}
	}
	if n := s.stored(); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
	// An id with a dot is one like any other.
	event := `{"event_type":"turn.started","payload":{"prompt":"dotted"}}`
	if code, _, errs := call(t, event, "steno", "publish", "--nats-url", s.natsURL(), "--agent", "c.d", "a.b"); code != 0 {
		t.Fatalf("publish a.b: %s", errs)
	}
	code, out, errs := call(t, "", "steno", "show", "--gateway", s.gatewayURL(), "--agent", "c.d", "a.b")
	if code != 0 || !strings.Contains(out, "> dotted") {
		t.Errorf("show a.b: %d %s %s", code, out, errs)
	}
	eventually(t, "a.b is in the archive", func() bool {
		_, err := os.Stat(filepath.Join(s.data, "sessions", "a.b", "agents", "c.d", "wire.jsonl"))
		return err == nil
	})
	s.onlyInside()
}

// onlyInside: nothing was written beside the sessions' own directories.
func (s *system) onlyInside() {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(s.data, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "/sessions/a.b/agents/c.d/wire.jsonl") {
			s.t.Errorf("unexpected file %s", path)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

func TestHostileIDsInRoutes(t *testing.T) {
	s := startUp(t, "gateway")
	post := []string{"/v1/sessions/%s/events"}
	get := []string{
		"/v1/sessions/%s", "/v1/sessions/%s/transcript", "/v1/sessions/%s/transcript/ops", "/v1/sessions/%s/runs",
		"/v1/sessions/%s/wire", "/v1/sessions/%s/stream",
		"/v1/sessions/s/transcript?agent_id=%s", "/v1/sessions/s/transcript/ops?agent_id=%s", "/v1/sessions/s/runs?agent_id=%s",
		"/v1/sessions/s/wire?agent_id=%s", "/v1/sessions/s/stream?agent_id=%s",
	}
	for _, id := range hostile {
		for _, route := range get {
			s.refused(http.MethodGet, fmt.Sprintf(route, escapeAll(id)), "")
		}
		for _, route := range post {
			s.refused(http.MethodPost, fmt.Sprintf(route, escapeAll(id)), `{"event_type":"x","payload":{}}`)
		}
	}
	// As a careless client would write them.
	for _, path := range []string{"/v1/sessions/../../etc/transcript", "/v1/sessions/./transcript", "/v1/sessions//transcript", "/v1/sessions/x*/wire"} {
		s.refused(http.MethodGet, path, "")
	}
	if n := s.stored(); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
}

// escapeAll percent-encodes every byte, so that no client or server tidies the
// id up on its way.
func escapeAll(id string) string {
	var b strings.Builder
	for i := range len(id) {
		fmt.Fprintf(&b, "%%%02X", id[i])
	}
	return b.String()
}

// refused sends a request as it is written and wants a clear no.
func (s *system) refused(method, path, body string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.gateway)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, s.gateway, len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "128 of A-Z a-z 0-9") {
		s.t.Errorf("%s %.80s: %d %.200s", method, path, resp.StatusCode, text)
	}
}
