package kimi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/internal/importer/kimi"
)

const bind = `"type":"profile.bind","agentId":"x","modelAlias":"m"`

func appended(role, text, calls string) string {
	return `"type":"agent.message.appended","kind":"event","message":{"message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}],"toolCalls":[` + calls + `]},"meta":{}}`
}

// TestShapes: what else logs hold.
func TestShapes(t *testing.T) {
	call := loop(`"type":"tool.call","turnId":"0","step":1,"stepUuid":"s0.1","toolCallId":"c1","name":"Bash","args":{}`)
	result := loop(`"type":"tool.result","toolCallId":"c1","result":{"output":"out"}`)
	begin := loop(`"type":"step.begin","turnId":"0","step":1,"uuid":"s0.1"`)
	end := loop(`"type":"step.end","turnId":"0","step":1,"uuid":"s0.1","finishReason":"tool_use"`)
	for _, l := range []line{
		{
			"second copies count where there are no first ones",
			[]string{
				bind, appended("user", "hi", ""), appended("assistant", "yes", `{"id":"c1","name":"Bash","arguments":"{}"}`),
				`"type":"agent.message.appended","message":{"message":{"role":"tool","toolCallId":"c1","content":[{"type":"text","text":"out"}]}}`,
				`"type":"agent.turn.ended","turnId":0,"outcome":"done"`, `"type":"novelty"`,
			},
			[]string{"t0 completed user", `> "hi"`, "t0.1", "yes", "done Bash c1"},
			[]string{"t1", "t0.2"},
		},
		{
			"and not where there are", all(bind, turn(0, "hi"), appended("user", "hi", ""), appended("assistant", "re: hi", ""), `"type":"turn.ended","turnId":0,"reason":"completed"`),
			[]string{"t0 completed", "t0.1"},
			[]string{"t1", "t0.2"},
		},
		{
			"input for a turn that runs shows in it", all(
				prompt("go", byUser), user("go", byUser), begin, end,
				`"type":"turn.steer","input":[{"type":"text","text":"faster"}],"origin":`+byUser, user("faster", byUser), step(0, 2, "yes")),
			[]string{"t0 completed", "t0.1", `user []: "faster"`, "t0.2", "yes"},
			[]string{"t1"},
		},
		{
			"input after a turn begins one when its steps are of another", all(
				turn(0, "go"), `"type":"turn.steer","input":[{"type":"text","text":"next"}],"origin":`+byUser, user("next", byUser), step(1, 1, "yes")),
			[]string{"t0 completed", "t1 completed", `> "next"`, "t1.1", "yes"},
			nil,
		},
		{
			"and goes on with it when they are of the same", all(
				turn(0, "go"), `"type":"turn.steer","input":[{"type":"text","text":"more"}],"origin":`+byUser, user("more", byUser), step(0, 2, "yes")),
			[]string{"t0 completed", "t0.1", `user []: "more"`, "t0.2", "yes"},
			[]string{"t1"},
		},
		{"a result before its call", all(prompt("go", byUser), begin, result, call, end), []string{"done Bash c1"}, nil},
		{"an id that is used again", all(prompt("go", byUser), begin, call, result, call, result, end), []string{"done Bash c1 ", "done Bash c1#2 "}, nil},
		{"steps without a prompt", step(4, 1, "hello"), []string{"t0 completed other", "> -", "hello"}, []string{"t1"}},
		{
			"attempts are steps, and the failed ones show nothing", all(
				bind, prompt("go", byUser), begin,
				loop(`"type":"content.part","turnId":"0","stepUuid":"s0.1","part":{"type":"text","text":"half"}`),
				`"type":"turn.step.retrying","turnId":0,"step":1,"stepId":"s0.1","failedAttempt":1,"nextAttempt":2,"errorName":"E","errorMessage":"busy"`,
				step(0, 2, "whole"), `"type":"turn.ended","turnId":0,"reason":"completed"`),
			[]string{"t0 completed", `t0.1 interrupted - - "error"`, "t0.2 completed", "whole"},
			[]string{"half"},
		},
		{
			"nothing goes on with what was undone", all(turn(0, "a"), turn(1, "b"), `"type":"context.undo","count":1`, step(2, 1, "alone"), `"type":"context.undo","count":0.5`),
			[]string{"t0 completed", "-- undo", "t2 completed other", "alone"},
			[]string{`"b"`},
		},
		{"a clear", all(turn(0, "a"), `"type":"context.clear"`, turn(1, "b")), []string{"-- clear", "t1 completed"}, []string{`"a"`}},
		{
			"a compaction is told once",
			[]string{`"type":"full_compaction.begin","source":"manual"`, `"type":"context.apply_compaction","summary":{"role":"user","content":[{"type":"text","text":"short"}]},"count":3`, `"type":"full_compaction.complete"`},
			[]string{`-- compaction 2026-01-01T00:00:01.000Z "{\"phase\":\"started\"`, `-- compaction 2026-01-01T00:00:02.000Z "{\"phase\":\"completed\"`, "short"},
			[]string{"00:00:03"},
		},
	} {
		t.Run(l.name, l.run)
	}
}

// TestHeld: what waits for another record is listed, and not published.
func TestHeld(t *testing.T) {
	list, report := suite().Decode(importer.Source{Session: "s"}, []byte(wire(all(turn(0, "go"),
		loop(`"type":"tool.result","toolCallId":"c9","result":{"output":"out"}`),
		`"type":"agent.turn.ended","turnId":0,"outcome":"done"`,
	)...)))
	importertest.CheckEvents(t, list)
	if len(report.Held) != 2 || report.Held[0].Line != 6 || report.Held[1].Line != 7 || report.Clean() {
		t.Errorf("held %+v", report.Held)
	}
}

// TestDamage: a log without its first line, with CRLF, unknown types and bad
// lines in the middle is read.
func TestDamage(t *testing.T) {
	log := strings.ReplaceAll(wire(turn(0, "go")...), "\n", "\r\n")
	first, rest, _ := strings.Cut(log, "\n")
	log = first + "\n" + `{"type":"context.app` + "\r\n" + `7` + "\n\n" + `{"no":"type"}` + "\n" + `{"type":"novelty","agentId":"wrong","time":1767225600000}` + "\n" + rest
	list, report := suite().Decode(importer.Source{Session: "s"}, []byte(log))
	importertest.CheckEvents(t, list)
	tree := importertest.Tree(importertest.Fold(t, list, "main"))
	if report.Skipped != 4 || report.Passed["foreign.kimi.novelty"] != 1 || !strings.Contains(tree, "t0 completed") || !strings.Contains(tree, "re: go") {
		t.Errorf("%+v\n%s", report, tree)
	}
}

func TestDetect(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"metadata","protocol_version":"1.5","created_at":1}`: true,
		`{"type":"metadata","protocol_version":"1.10"}`:               false,
		`{"type":"turn.prompt","input":[]}`:                           true,
		`{"timestamp":1.5,"message":{"type":"TurnBegin"}}`:            false,
		`{"type":"user","uuid":"u","sessionId":"s"}`:                  false,
		`{"timestamp":"x","type":"response_item","payload":{}}`:       false,
	} {
		if got := (kimi.Format{}).Detect([][]byte{[]byte(raw)}); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// TestLocate: who started a sub-agent stands in a sibling's log, else in
// state.json, else in the result of an Agent call.
func TestLocate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "sessions", "wd", "session_1")
	write := func(name, data string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	locate := func(path string) importer.Source {
		src, err := kimi.Format{}.Locate(path)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	child := write("agents/agent-1/wire.jsonl", "")
	if src := locate(child); src.Session != "session_1" || src.Agent != "agent-1" || src.Spawn.Parent != "main" || src.Spawn.ToolCallID != "" {
		t.Errorf("alone: %+v", src)
	}
	main := write("agents/main/wire.jsonl", wire(
		loop(`"type":"tool.call","toolCallId":"c1","name":"Agent","args":{"description":"look"}`),
		loop(`"type":"tool.result","toolCallId":"c1","result":{"output":"agent_id: agent-1\nstatus: completed"}`)))
	if s := locate(child).Spawn; s != (importer.Spawn{Parent: "main", ToolCallID: "c1", Label: "look"}) {
		t.Errorf("by the result: %+v", s)
	}
	write("state.json", `{"title":"My work","workDir":"/w","agents":{"main":{"type":"main"},"agent-1":{"type":"sub","parentAgentId":"agent-0","labels":{"swarmItem":"b"}}}}`)
	src := locate(child)
	if src.Spawn != (importer.Spawn{Parent: "agent-0", Label: "b"}) || src.Labels["swarmItem"] != "b" || src.Labels["cwd"] != "/w" || src.Labels["title"] != "" {
		t.Errorf("by state.json: %+v", src)
	}
	if src := locate(main); src.Agent != "main" || src.Name != "session_1" || src.Labels["title"] != "My work" {
		t.Errorf("main: %+v", src)
	}
	write("agents/agent-0/wire.jsonl", wire(`"type":"subagent.spawned","subagentId":"agent-1","parentToolCallId":"c7","description":"dig"`))
	if s := locate(child).Spawn; s != (importer.Spawn{Parent: "agent-0", ToolCallID: "c7", Label: "dig"}) {
		t.Errorf("by the record: %+v", s)
	}
	if src := locate(write("loose file.jsonl", "")); src.Session != "loose-file" || src.Agent != "main" {
		t.Errorf("loose: %+v", src)
	}
}
