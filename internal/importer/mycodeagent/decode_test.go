package mycodeagent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/internal/importer/mycodeagent"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

func rec(n int, session, kind, payload string) string {
	return fmt.Sprintf(`{"event_id":"evt-%d","timestamp":"2026-01-01T00:00:%02dZ","session_id":"%s","run_id":"run-1","step":%d,"event_type":"%s","payload":%s,"schema_version":1}`, n, n, session, n, kind, payload) + "\n"
}

func decode(src importer.Source, lines ...string) ([]*events.Event, *importer.Report) {
	return suite().Decode(src, []byte(strings.Join(lines, "")))
}

// TestVerbatim: a record of the family is the event, with its id, step, run and
// payload byte for byte.
func TestVerbatim(t *testing.T) {
	payload := `{"role": "user", "content": "hi\u0041", "n": 12345678901234567890}`
	line := strings.Replace(rec(3, "s", "message", payload), `"schema_version"`, `"reference_id":"evt-1","schema_version"`, 1)
	list, report := decode(importer.Source{}, line)
	if len(list) != 2 || !report.Clean() {
		t.Fatalf("%d events, %+v", len(list), report)
	}
	e := list[1]
	if e.ID != "evt-3" || string(e.Payload) != payload || e.Step != 3 || !e.HasStep || e.SourceRun != "run-1" || e.ReferenceID != "evt-1" || e.Timestamp != "2026-01-01T00:00:03Z" {
		t.Errorf("%+v", e)
	}
	if start := list[0]; start.Type != events.TypeAgentStarted || !bytes.Contains(start.Labels, []byte(`"source":"import:mycodeagent"`)) {
		t.Errorf("start %+v", start)
	}
}

func TestOddRecords(t *testing.T) {
	hi := rec(1, "s", "message", `{"role":"user","content":"hi"}`)
	for name, c := range map[string]struct {
		line    string
		kind    string
		skipped int
	}{
		"another session": {rec(2, "other", "message", `{"role":"user","content":"x"}`), "foreign.mycodeagent.other_session", 1},
		"unknown type":    {rec(2, "s", "novelty", `{"a":1}`), "foreign.mycodeagent.novelty", 0},
		"no payload":      {rec(2, "s", "message", `7`), "foreign.mycodeagent.untyped", 1},
		"no type":         {rec(2, "s", "", `{}`), "foreign.mycodeagent.untyped", 1},
		"a repeat":        {hi, "", 0},
		"its id again":    {rec(1, "s", "message", `{"role":"user","content":"other"}`), "message", 0},
	} {
		list, report := decode(importer.Source{}, hi, c.line)
		importertest.CheckEvents(t, list)
		kind := ""
		if len(list) > 2 {
			kind = list[2].Type
		}
		if kind != c.kind || report.Skipped != c.skipped {
			t.Errorf("%s: %q, skipped %d", name, kind, report.Skipped)
		}
	}
}

const (
	task     = `{"tool_name":"Task","tool_call_id":"c1","status":"completed","args":{"description":"look","subagent_type":"explore"},"result":{"text":"found","data":{"child_session_id":"s-child"}}}`
	childHi  = `{"role":"user","content":"explore"}`
	childLog = "transcript-subagent-s-child.jsonl"
)

func write(t *testing.T, dir, name, data string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestParent: the Task call whose result names a sub-agent is its parent, and a
// call of another tool that mentions it is not.
func TestParent(t *testing.T) {
	dir := t.TempDir()
	child := write(t, dir, childLog, rec(1, "subagent-s-child", "message", childHi))
	src, err := mycodeagent.Format{}.Locate(child)
	if err != nil || src.Agent != "s-child" || src.Session != "" || src.Spawn.Parent != "" {
		t.Fatalf("alone: %+v, %v", src, err)
	}
	write(t, dir, "transcript-a.jsonl", rec(1, "a", "tool_lifecycle", strings.Replace(task, `"Task"`, `"Glob"`, 1)))
	main := rec(1, "m", "tool_lifecycle", task)
	write(t, dir, "transcript-m.jsonl", main)
	src, err = mycodeagent.Format{}.Locate(child)
	if err != nil || src.Session != "m" || src.Spawn != (importer.Spawn{Parent: "main", ToolCallID: "c1", Label: "look"}) {
		t.Fatalf("with a parent: %+v, %v", src, err)
	}
	list, _ := decode(src, rec(1, "subagent-s-child", "message", childHi))
	if string(list[0].Payload) != `{"type":"sub","parentAgentId":"main","parentToolCallId":"c1","label":"look"}` || list[0].Session != "m" || list[1].Agent != "s-child" {
		t.Errorf("child: %s of %s", list[0].Payload, list[0].Session)
	}
	list, _ = decode(importer.Source{}, main, main)
	importertest.CheckEvents(t, list)
	if len(list) != 4 || list[2].Type != events.TypeSubagentSpawned || list[3].Type != events.TypeSubagentCompleted {
		t.Errorf("parent: %s", importertest.Listing(list))
	}
}

// TestStays: a sub-agent that was imported before its parent was known does not
// get a second copy in the parent's session.
func TestStays(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, childLog, rec(1, "subagent-s-child", "message", childHi))
	log := importertest.NewLog()
	run := func() (added int) {
		p := &importer.Planner{Formats: []importer.Format{mycodeagent.Format{}}, Runs: log}
		jobs, failures, err := p.Plan(t.Context(), []string{dir})
		if err != nil || len(failures) > 0 {
			t.Fatalf("%v %v", failures, err)
		}
		for _, j := range jobs {
			data, err := os.ReadFile(j.Path)
			if err != nil {
				t.Fatal(err)
			}
			list, _ := suite().Decode(j.Source, data)
			feed := importer.NewFeed(log)
			if err := feed.Send(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			added += feed.Added
		}
		return added
	}
	if n := run(); n != 2 {
		t.Errorf("first: %d events", n)
	}
	write(t, dir, "transcript-m.jsonl", rec(1, "m", "tool_lifecycle", task))
	if n := run(); n != 4 { // the parent's alone
		t.Errorf("with its parent: %d events", n)
	}
	if n := run(); n != 0 {
		t.Errorf("again: %d events", n)
	}
}

type count struct{ Turns, Steps, Calls, Settled, Failed, Gate int }

// countFile counts by the rules of the format alone.
func countFile(data []byte) (c count) {
	calls, settled := map[string]bool{}, map[string]bool{}
	for raw := range bytes.Lines(data) {
		var l struct {
			EventType string `json:"event_type"`
			Payload   struct {
				Role, Status string
				ToolCallID   string `json:"tool_call_id"`
				Metadata     struct{ Source string }
			}
		}
		if !bytes.HasSuffix(raw, []byte("\n")) || json.Unmarshal(raw, &l) != nil {
			continue
		}
		switch {
		case l.Payload.Role == "user" && l.Payload.Metadata.Source == "completion_gate":
			c.Gate++
		case l.Payload.Role == "user":
			c.Turns++
		case l.Payload.Role == "assistant":
			c.Steps++
		case l.EventType == "tool_lifecycle":
			calls[l.Payload.ToolCallID] = true
			if l.Payload.Status == "completed" || l.Payload.Status == "failed" {
				settled[l.Payload.ToolCallID] = true
			}
			if l.Payload.Status == "failed" {
				c.Failed++
			}
		}
	}
	c.Calls, c.Settled = len(calls), len(settled)
	return c
}

func countTree(s *reducer.Snapshot) (c count) {
	for turn := range s.Turns() {
		c.Turns++
		for _, step := range turn.Steps {
			c.Steps++
			for _, f := range step.Frames {
				switch {
				case f.Kind == reducer.FrameText && f.Role == reducer.RoleUser:
					c.Gate++
				case f.Kind == reducer.FrameTool:
					c.Calls++
					if f.State != reducer.ToolRunning {
						c.Settled++
					}
					if f.State == reducer.ToolError {
						c.Failed++
					}
				}
			}
		}
	}
	return c
}

func TestCounts(t *testing.T) {
	s := suite()
	for _, path := range s.Files(t) {
		name := s.Name(path)
		if strings.HasPrefix(name, "d-int") {
			continue // a call that its user interrupted has no status of its own
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src := s.Locate(t, path)
		list, _ := s.Decode(src, data)
		want, got := countFile(data), countTree(importertest.Fold(t, list, src.Agent))
		if got != want || want.Turns == 0 {
			t.Errorf("%s: the tree has %+v, the file %+v", name, got, want)
		}
	}
}
