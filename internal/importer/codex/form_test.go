package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/codex"
	"github.com/stenohq/steno/internal/importer/importertest"
)

// TestBare: the oldest form has records without an envelope, and no times but
// the first.
func TestBare(t *testing.T) {
	list, report := decodeAll(importer.Source{Name: "x"}, file(
		`{"id":"S","timestamp":"2025-08-01T00:00:00.000Z","instructions":null,"git":{"branch":"b"}}`,
		`{"record_type":"state"}`,
		`{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"hi"}]}`,
		`{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":null}`,
		`{"type":"function_call","id":"fc","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}`,
		`{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"out\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}`,
		`{"type":"local_shell_call","id":"ls","status":"completed","action":{"type":"exec","command":["ls"]}}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}`,
		`{"type":"token_count","info":{"last_token_usage":{"input_tokens":1,"output_tokens":2}}}`,
		`{"type":"novel","id":"n"}`,
	))
	importertest.CheckEvents(t, list)
	var got []string
	for turn := range folded(t, list).Turns() {
		got = append(got, string(turn.State)+" "+turn.Prompt.V)
		for _, step := range turn.Steps {
			got = append(got, fmt.Sprint(step.State, step.Usage))
			for _, f := range step.Frames {
				got = append(got, fmt.Sprintf("%s %s%s %s %s", f.Kind, f.State, f.Text, f.ToolCallID, f.Output))
			}
		}
	}
	want := []string{"running hi", "completed&{1 2 0 0}", "thinking hm  ", `tool done c1 "out"`, "tool running ls ", "text yes  "}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if report.Session != "S" || !report.Clean() || report.Passed["foreign.codex.state"] != 1 || report.Passed["foreign.codex.novel"] != 1 {
		t.Errorf("report: %+v", report)
	}
	for _, e := range list {
		if e.Timestamp != "2025-08-01T00:00:00.000Z" {
			t.Errorf("%s at %s", e.Type, e.Timestamp)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct{ name, time, want string }{
		{"a time", `"2026-01-01T02:00:00.5+02:00"`, "2026-01-01T02:00:00.5+02:00"},
		{"without a zone", `"2026-01-01T00:00:00.25"`, "2026-01-01T00:00:00.25Z"},
		{"with a blank", `"2026-01-01 00:00:00"`, "2026-01-01T00:00:00Z"},
		{"seconds", `1777713516`, "2026-05-02T09:18:36.000Z"},
		{"seconds and a part", `1777713516.25`, "2026-05-02T09:18:36.250Z"},
		{"milliseconds", `1777713516250`, "2026-05-02T09:18:36.250Z"},
		{"seconds and nanoseconds", `{"secs":1777713516,"nanos":4000000}`, "2026-05-02T09:18:36.004Z"},
		{"as the language writes them", `{"secs_since_epoch":1777713516,"nanos_since_epoch":0}`, "2026-05-02T09:18:36Z"},
		{"a placeholder", `"[trimmed for fixture]"`, "2026-01-01T00:00:01Z"},
		{"nothing", `null`, "2026-01-01T00:00:01Z"},
		{"0", `0`, "2026-01-01T00:00:01Z"},
		{"too many nanoseconds", `{"secs":1777713516,"nanos":4000000000}`, "2026-01-01T00:00:01Z"},
		{"before the first year", `"0000-10-10T00:00:00Z"`, "2026-01-01T00:00:01Z"},
		{"the far future", `1e300`, "2026-01-01T00:00:01Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, _ := decodeAll(importer.Source{Name: "x"}, file(meta, `{"timestamp":`+c.time+`,`+hi+`}`))
			if got := list[len(list)-1].Timestamp; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Ids of sessions and turns carry their time: these are a second apart.
const (
	parentID  = "019b0000-0000-7000-8000-000000000001"
	parentT   = "019b0000-03e8-7000-8000-000000000001"
	childID   = "019b0000-07d0-7000-8000-000000000002"
	childT    = "019b0000-0bb8-7000-8000-000000000002"
	childName = "rollout-2026-01-01T00-00-00-" + childID
)

// TestFork: what a file copied from another session is shown, and not counted
// again. It was written with the time of the fork, or with its old times.
func TestFork(t *testing.T) {
	session := func(id, rest string) string {
		return `"type":"session_meta","payload":{"id":"` + id + `","timestamp":"2026-01-01T00:10:00Z"` + rest + `}`
	}
	task := func(id string) string { return strings.Replace(started, "T1", id, 1) }
	tokens := func(n int) string {
		return strings.Replace(strings.ReplaceAll(tokens1, `"input_tokens":10`, fmt.Sprintf(`"input_tokens":%d`, n)), `"cached_input_tokens":4`, `"cached_input_tokens":0`, 1)
	}
	at := func(when, record string) string { return `{"timestamp":"` + when + `",` + record + `}` }
	for _, c := range []struct {
		name    string
		records []string
		inputs  []int // of each step, 0 for none
	}{
		{
			"turns of the parent are older than the session",
			[]string{
				session(childID, `,"forked_from_id":"`+parentID+`"`), session(parentID, ""),
				task(parentT), hi, yes, tokens(10), complete, task(childT), hi, yes, tokens(7), complete,
			},
			[]int{0, 7},
		},
		{
			"it is a fork too when only the parent's session_meta says so",
			[]string{session(childID, ""), session(parentID, ""), task(parentT), hi, yes, tokens(10), complete, task(childT), hi, yes, tokens(7)},
			[]int{0, 7},
		},
		{
			"a fork that copied nothing",
			[]string{session(childID, `,"forked_from_id":"`+parentID+`"`), task(childT), hi, yes, tokens(7)},
			[]int{7},
		},
		{
			"no ids: copies have the time of the fork",
			[]string{
				at("2026-01-01T00:10:00.1Z", session("S", "")), at("2026-01-01T00:10:00.1Z", session("P", "")), at("2026-01-01T00:10:00.2Z", hi), at("2026-01-01T00:10:00.2Z", yes),
				at("2026-01-01T00:10:00.3Z", tokens(10)), at("2026-01-01T00:12:00Z", hi), at("2026-01-01T00:12:00.1Z", yes), at("2026-01-01T00:12:00.2Z", tokens(7)),
			},
			[]int{0, 7},
		},
		{
			"no ids: copies have their old times",
			[]string{
				at("2026-01-01T00:10:00.1Z", session("S", "")), at("2026-01-01T00:10:00.1Z", session("P", "")), at("2026-01-01T00:01:00Z", hi), at("2026-01-01T00:03:00Z", yes),
				at("2026-01-01T00:04:00Z", tokens(10)), at("2026-01-01T00:10:00.5Z", hi), at("2026-01-01T00:10:00.6Z", yes), at("2026-01-01T00:10:00.7Z", tokens(7)),
			},
			[]int{0, 7},
		},
		{
			"the session_meta of another session later in the file means nothing",
			[]string{session(parentID, ""), task(parentT), hi, yes, tokens(10), session(childID, ""), yes, tokens(7)},
			[]int{10, 7},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, report := decodeAll(importer.Source{Name: "x"}, file(c.records...))
			importertest.CheckEvents(t, list)
			if len(report.Agents) != 1 || report.Session != list[0].Session {
				t.Errorf("report: %+v", report)
			}
			var inputs []int
			for turn := range folded(t, list).Turns() {
				for _, step := range turn.Steps {
					n := 0
					if step.Usage != nil {
						n = int(step.Usage.InputOther)
					}
					inputs = append(inputs, n)
				}
			}
			if !slices.Equal(inputs, c.inputs) {
				t.Errorf("inputs %v, want %v\n%s", inputs, c.inputs, importertest.Trees(t, list))
			}
		})
	}
}

// TestHeld: what waits for something that the file does not have is in the
// report, and what cannot be used as well.
func TestHeld(t *testing.T) {
	_, report := decodeAll(importer.Source{Name: "x"}, file(meta, started, hi, yesEvent, output, execEnd("c9", `"exit_code":0`)))
	lines := []int{}
	for _, h := range report.Held {
		lines = append(lines, h.Line)
	}
	if !slices.Equal(lines, []int{4, 5, 6}) {
		t.Errorf("held: %+v", report.Held)
	}
	list, report := decodeAll(importer.Source{Name: "x"}, file(meta, started,
		`"type":"response_item","payload":{"type":"message","role":"user","content":7}`,
		`"type":"response_item","payload":{"type":"function_call_output","output":"x"}`,
		`"type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}"}`,
		`"type":"response_item","payload":"text"`, `"payload":{}`))
	importertest.CheckEvents(t, list)
	lines = lines[:0]
	for _, s := range report.SkippedList {
		lines = append(lines, s.Line)
	}
	if !slices.Equal(lines, []int{3, 4, 5, 7}) || report.Passed["foreign.codex.response_item"] != 1 {
		t.Errorf("skipped: %+v, passed %v", report.SkippedList, report.Passed)
	}
}

func TestNoMeta(t *testing.T) {
	src := importer.Source{Name: childID}
	if list, report := decodeAll(src, file(started, hi)); report.Session != childID || len(list) == 0 {
		t.Errorf("the name of the file tells the session when the first record does not: %+v", report)
	}
	src.Name = "notes"
	if list, _ := decodeAll(src, file(started, hi)); len(list) != 0 {
		t.Errorf("got %d events of no session", len(list))
	}
}

// TestDetect: of all logs in the corpus, those of the format are recognised,
// and no other.
func TestDetect(t *testing.T) {
	suite().Files(t)
	checked := 0
	err := filepath.WalkDir(corpus, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		format, err := importer.Detect(path, []importer.Format{codex.Format{}})
		want := strings.Contains(filepath.ToSlash(path), "/codex/")
		if got := err == nil && format != nil; got != want {
			t.Errorf("%s: recognised %v, want %v", path, got, want)
		}
		checked++
		return nil
	})
	if err != nil || checked < 30 {
		t.Fatalf("checked %d files: %v", checked, err)
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, records ...string) string {
		path := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(path, file(records...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rollout-2026-01-01T00-00-00-"+parentID, `"type":"session_meta","payload":{"id":"`+parentID+`"}`,
		`"type":"event_msg","payload":{"type":"collab_agent_spawn_end","call_id":"call-9","new_thread_id":"`+childID+`"}`)
	spawn := `"source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + parentID + `","depth":1,"agent_nickname":"Ada"}}}`
	src := suite().Locate(t, write(childName, `"type":"session_meta","payload":{"id":"`+childID+`",`+spawn+`}`))
	if src.Name != childID || src.Session != parentID || src.Agent != childID ||
		src.Spawn != (importer.Spawn{Parent: "main", ToolCallID: "call-9", Label: "Ada"}) {
		t.Errorf("a sub-agent: %+v", src)
	}
	grandchild := "019b0000-0fa0-7000-8000-000000000003"
	nested := strings.NewReplacer(parentID, childID, `"depth":1`, `"depth":2`).Replace(spawn)
	src = suite().Locate(t, write("deep", `"type":"session_meta","payload":{"id":"`+grandchild+`","session_id":"`+parentID+`",`+nested+`}`))
	if src.Session != parentID || string(src.Agent) != grandchild || src.Spawn.Parent != childID {
		t.Errorf("a sub-agent of a sub-agent: %+v", src)
	}
	src = suite().Locate(t, write("lost", `"type":"session_meta","payload":{"id":"`+grandchild+`",`+nested+`}`))
	if src.Session != "" || src.Agent != "main" {
		t.Errorf("a sub-agent whose root is not known is a session of its own: %+v", src)
	}
}
