package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/resume"
)

// callIn runs a program to its end in a directory.
func callIn(t *testing.T, dir string, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	cmd.Dir, cmd.Env = dir, append(cleanEnv(), "PWD="+dir, "USER=ada")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestResume: a runtime that died within an edit leaves it uncertain, through
// crashes of what keeps the state, until a person decides.
func TestResume(t *testing.T) {
	s := startUp(t, "none")
	gateway := s.role("gateway", "--listen", s.gateway)
	projector := s.role("projector", "--name", "p")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	publish := func(session, agent string, events ...string) {
		t.Helper()
		code, out, errs := call(t, strings.Join(events, "\n"), "steno", "publish", "--nats-url", s.natsURL(), "--agent", agent, session)
		if code != 0 {
			t.Fatalf("publish: %d %s %s", code, out, errs)
		}
	}
	started := func(cwd string) string {
		return fmt.Sprintf(`{"event_type":"agent.started","payload":{},"run_id":"r1","n":1,"event_id":"a","labels":{"cwd":%q,"host":%q}}`, cwd, host)
	}
	fact := func(n int, typ, payload string) string {
		return fmt.Sprintf(`{"event_type":%q,"payload":%s,"run_id":"r1","n":%d,"event_id":"e%d"}`, typ, payload, n, n)
	}
	story := []string{
		started(dir),
		fact(2, "turn.started", `{"prompt":"change \u001b[31mit\u001b]0;x\u0007"}`),
		fact(3, "tool.call.started", `{"toolCallId":"read-1","name":"Read","args":{"path":"a"}}`),
		fact(4, "tool.result", `{"toolCallId":"read-1","output":"x"}`),
		fact(5, "tool.call.started", `{"toolCallId":"edit-1","name":"Edit","args":{"path":"a\u001b[2J"}}`),
		fact(6, "subagent.spawned", `{"subagentId":"helper","parentToolCallId":"task-1"}`),
	}
	publish("older", "main", started(dir), fact(2, "turn.started", `{"prompt":"x"}`))
	publish("dies", "main", story...)
	publish("dies", "helper", fact(1, "turn.started", `{"prompt":"help"}`))
	publish("no-main", "helper", started(dir), fact(2, "turn.started", `{"prompt":"x"}`))
	publish("other", "main", started(elsewhere), fact(2, "turn.started", `{"prompt":"x"}`), fact(3, "turn.ended", `{"reason":"completed"}`))

	ask := func(dir string, args ...string) (int, string, string) {
		t.Helper()
		return callIn(t, dir, "steno", append([]string{"resume", "--gateway", s.gatewayURL()}, args...)...)
	}
	// A session is found by its directory once it is in the list.
	eventually(t, "all sessions are listed", func() bool {
		code, out, _ := call(t, "", "steno", "sessions", "--gateway", s.gatewayURL(), "--json")
		return code == 0 && strings.Count(out, "\n") == 4
	})
	if code, out, errs := ask(elsewhere); code != 0 || !strings.Contains(out, "Session other, agent main") || !strings.Contains(out, "state        ended") {
		t.Errorf("where nothing is left to do: exit code %d\n%s\n%s", code, out, errs)
	}
	if code, out, errs := ask(dir, "--agent", "helper"); code != 0 || !strings.Contains(out, "Session no-main, agent helper") {
		t.Errorf("the newest of a helper: exit code %d\n%s\n%s", code, out, errs)
	}
	for _, crash := range []struct {
		name string
		do   func()
	}{{"", func() {}}, {"projector", projector.again}, {"gateway", gateway.again}, {"NATS", func() { s.up.kill(); s.restart() }}} {
		crash.do()
		var code int
		var out, errs string
		eventually(t, "an answer after a crash of "+crash.name, func() bool {
			code, out, errs = ask(dir)
			return code == 3
		})
		lines := strings.Split(out, "\n")
		if code != 3 || !strings.HasPrefix(lines[0], "Uncertain") || !strings.Contains(lines[1], "Edit  edit-1") || !strings.Contains(errs, "1 action is undecided") {
			t.Errorf("after a crash of %q: exit code %d\n%s\n%s", crash.name, code, out, errs)
		}
		for _, want := range []string{"Session dies, agent main", "open turn    t0, next step", "helper", "last     started at seq 5"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		if strings.ContainsAny(out+errs, "\x1b\x07") {
			t.Errorf("control characters in %q", out)
		}
	}
	t.Run("wrong usage", func(t *testing.T) {
		for _, row := range []struct {
			args string
			code int
			want string
		}{
			{"dies --decide edit-1", 2, "want CALL=done"},
			{"dies --decide edit-1=perhaps", 2, "want done, failed or retry"},
			{"dies --decide read-1=done", 1, "it is completed"},
			{"dies --decide none=done", 1, "no call"},
			{"dies --note why", 2, "--decide"},
			{"dies --agent a/b", 2, "agent id"},
			{"none", 1, "no session none"},
		} {
			if code, out, errs := ask(dir, strings.Fields(row.args)...); code != row.code || out != "" || !strings.Contains(errs, row.want) {
				t.Errorf("%s: exit code %d, stdout %q, stderr %q", row.args, code, out, errs)
			}
		}
		if code, _, errs := ask(t.TempDir()); code != 1 || !strings.Contains(errs, "name one") {
			t.Errorf("in a directory without a session: exit code %d, stderr %q", code, errs)
		}
	})
	code, out, errs := ask(dir, "--json")
	var st resume.State
	if err := json.Unmarshal([]byte(out), &st); code != 3 || err != nil || st.SessionID != "dies" || st.RunID != "r1" || strings.Count(out, "\n") != 1 {
		t.Fatalf("--json: exit code %d, %v\n%s\n%s", code, err, out, errs)
	}
	code, out, errs = ask(dir, "--decide", "edit-1=done", "--note", "looked", "--json")
	if code != 0 || errs != "" {
		t.Fatalf("--decide: exit code %d\n%s\n%s", code, out, errs)
	}
	projector.again()
	gateway.again()
	if code, out, errs = ask(dir, "--run", "r1", "--json"); code != 0 {
		t.Errorf("after the decision: exit code %d\n%s\n%s", code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		t.Fatal(err)
	}
	for _, c := range st.ToolCalls {
		if c.ToolCallID == "edit-1" && (c.Class != resume.ClassCompleted || c.SettledBy != "ada") {
			t.Errorf("edit-1 is %s by %q", c.Class, c.SettledBy)
		}
	}
	if st.RunID != "r1" || st.OpenTurn == nil {
		t.Errorf("the decision disturbed the run: run %s, open turn %v", st.RunID, st.OpenTurn)
	}

	remember := func(args ...string) string {
		t.Helper()
		code, out, errs := callIn(t, dir, "steno", append([]string{"memory", "dies", "--gateway", s.gatewayURL()}, args...)...)
		if code != 0 {
			t.Errorf("memory %v: exit code %d, %s", args, code, errs)
		}
		return out
	}
	if out := remember(); !strings.HasPrefix(out, "## Session Memory\n") || !strings.Contains(out, "Completed tool Read (read-1).") || strings.Contains(out, "Uncertain") || strings.Contains(out, "\x1b") {
		t.Errorf("memory\n%s", out)
	}
	if out := remember("--char-budget", "100"); len([]rune(strings.TrimSuffix(out, "\n"))) > 100 || !strings.Contains(out, "[truncated]") {
		t.Errorf("memory of 100 characters\n%s", out)
	}
	if out := remember("--json"); !json.Valid([]byte(out)) || !strings.Contains(out, `"schema_version":1`) {
		t.Errorf("memory as JSON\n%s", out)
	}
}
