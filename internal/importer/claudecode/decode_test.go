package claudecode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/claudecode"
	"github.com/stenohq/steno/internal/importer/importertest"
)

// rec writes a record: type and members, with what every record has added.
func rec(n int, members string) string {
	return fmt.Sprintf(`{"uuid":"u%d","parentUuid":null,"sessionId":"S","timestamp":"2026-01-01T00:00:%02dZ",%s}`, n, n, members)
}

// decoded lists the events of lines, without the agents' starts, as type and
// payload.
func decoded(t *testing.T, lines ...string) ([]string, *importer.Report) {
	t.Helper()
	list, report := decodeAll(importer.Source{Name: "S"}, []byte(strings.Join(lines, "\n")+"\n"))
	importertest.CheckEvents(t, list)
	var out []string
	for _, e := range list {
		if e.Type == "agent.started" {
			continue
		}
		who := ""
		if e.Agent != "main" {
			who = string(e.Agent) + " "
		}
		if strings.HasPrefix(e.Type, "foreign.") {
			out = append(out, who+e.Type)
			continue
		}
		out = append(out, who+e.Type+" "+string(e.Payload))
	}
	return out, report
}

const (
	hi     = `"type":"user","promptId":"p1","message":{"content":"hi"}`
	said   = `"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"yes"}],"usage":{"input_tokens":1,"output_tokens":2}}`
	called = `"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"x":1}}]}`
	result = `"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"out"}]}`
)

var (
	turn0   = `turn.started {"prompt":"hi","origin":{"kind":"user"},"turnId":0}`
	step1   = `turn.step.started {"turnId":0,"step":1}`
	yes     = `assistant.message {"turnId":0,"step":1,"text":"yes"}`
	call1   = `tool.call.started {"turnId":0,"step":1,"toolCallId":"c1","name":"Bash","args":{"x":1}}`
	result1 = `tool.result {"toolCallId":"c1","output":"out"}`
	counted = `"usage":{"inputOther":1,"output":2}`
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{
			"an API message on several lines is one step, its usage counts once",
			[]string{
				rec(1, hi), rec(2, said),
				rec(3, `"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"more"}],"usage":{"input_tokens":1,"output_tokens":9}}`),
				rec(4, `"type":"assistant","message":{"id":"m2","content":[{"type":"thinking","thinking":"hm"},{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":""}]}`),
			},
			[]string{
				turn0, step1, yes, `assistant.message {"turnId":0,"step":1,"text":"more","frame":2}`,
				`turn.step.completed {"turnId":0,"step":1,"usage":{"inputOther":1,"output":9}}`,
				`turn.step.started {"turnId":0,"step":2}`, `thinking.message {"turnId":0,"step":2,"text":"hm"}`,
			},
		},
		{
			"a message that says it is the last ends the turn",
			[]string{rec(1, hi), rec(2, strings.Replace(said, `"usage"`, `"stop_reason":"end_turn","usage"`, 1)), rec(3, strings.Replace(said, "yes", "late", 1))},
			[]string{
				turn0, step1, yes, `turn.step.completed {"turnId":0,"step":1,` + counted + `,"finishReason":"end_turn"}`, `turn.ended {"turnId":0,"reason":"completed"}`,
				`assistant.message {"turnId":0,"step":1,"text":"late","frame":2}`,
				`turn.step.completed {"turnId":0,"step":1,` + counted + `,"finishReason":"end_turn"}`, `turn.ended {"turnId":0,"reason":"completed"}`,
			},
		},
		{
			"a further message goes on with the turn that ended",
			[]string{
				rec(1, hi), rec(2, strings.Replace(said, `"usage"`, `"stop_reason":"end_turn","usage"`, 1)),
				rec(3, strings.Replace(called, "m1", "m2", 1)),
			},
			[]string{
				turn0, step1, yes, `turn.step.completed {"turnId":0,"step":1,` + counted + `,"finishReason":"end_turn"}`, `turn.ended {"turnId":0,"reason":"completed"}`,
				`turn.started {"turnId":0}`, `turn.step.started {"turnId":0,"step":2}`, strings.Replace(call1, `"step":1`, `"step":2`, 1),
			},
		},
		{
			"a result before its call waits for it",
			[]string{rec(1, hi), rec(2, result), rec(3, called)},
			[]string{turn0, step1, call1, result1},
		},
		{
			"an id that the source uses again names another call",
			[]string{rec(1, hi), rec(2, called), rec(3, result), rec(4, strings.Replace(called, "m1", "m2", 1)), rec(5, strings.Replace(result, `"out"`, `"two","is_error":true`, 1))},
			[]string{
				turn0, step1, call1, result1, `turn.step.completed {"turnId":0,"step":1}`, `turn.step.started {"turnId":0,"step":2}`,
				`tool.call.started {"turnId":0,"step":2,"toolCallId":"c1#2","name":"Bash","args":{"x":1}}`,
				`tool.result {"toolCallId":"c1#2","output":"two","isError":true}`,
			},
		},
		{
			"the bytes of images stay out",
			[]string{
				rec(1, `"type":"user","message":{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAECAwQFBgc="}},{"type":"text","text":"look"}]}`),
				rec(2, called),
				rec(3, strings.Replace(result, `"out"`, `[{"type":"text","text":"shot"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAEC"}}]`, 1)),
				rec(4, `"type":"attachment","attachment":{"type":"file","content":{"file":{"base64":"AAEC"}}}`),
			},
			[]string{
				`turn.started {"prompt":"look","attachments":[{"kind":"image","mediaType":"image/png","size":8}],"origin":{"kind":"user"},"turnId":0}`,
				step1, call1,
				`tool.result {"toolCallId":"c1","output":[{"type":"text","text":"shot"},{"type":"image","source":{"type":"base64","media_type":"image/png","size":3}}]}`,
				`foreign.claude-code.attachment.file`,
			},
		},
		{
			"a user stops a turn",
			[]string{rec(1, hi), rec(2, called), rec(3, `"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}`)},
			[]string{turn0, step1, call1, `turn.step.completed {"turnId":0,"step":1}`, `turn.ended {"turnId":0,"reason":"cancelled","interruptReason":"user_cancelled"}`},
		},
		{
			"a call that is tried again, then answered",
			[]string{rec(1, hi), rec(2, `"type":"system","subtype":"api_error","retryAttempt":1,"maxRetries":10,"retryInMs":5.5,"error":{"status":529,"error":{"error":{"type":"overloaded_error","message":"busy"}}}`), rec(3, said)},
			[]string{
				turn0, step1,
				`turn.step.retrying {"turnId":0,"step":1,"failedAttempt":1,"nextAttempt":2,"maxAttempts":10,"delayMs":5.5,"errorName":"overloaded_error","errorMessage":"busy","statusCode":529}`,
				yes,
			},
		},
		{
			"an error of the API ends the turn",
			[]string{rec(1, hi), rec(2, said), rec(3, `"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"limit"}],"usage":{"input_tokens":0}}`)},
			[]string{
				turn0, step1, yes, `turn.step.completed {"turnId":0,"step":1,` + counted + `}`, `turn.step.started {"turnId":0,"step":2}`,
				`error {"message":"limit","code":"rate_limit"}`, `turn.step.interrupted {"turnId":0,"step":2,"reason":"error","message":"limit"}`,
				`turn.ended {"turnId":0,"reason":"failed","error":{"message":"limit","code":"rate_limit"}}`,
			},
		},
		{
			"a compaction takes its summary along; without one it goes alone",
			[]string{
				rec(1, hi), rec(2, `"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":9}`),
				rec(3, `"type":"user","isCompactSummary":true,"message":{"content":"so far"}`),
				rec(4, `"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual"}`), rec(5, said),
			},
			[]string{
				turn0, `compaction.completed {"trigger":"auto","preTokens":9,"contextSummary":"so far"}`,
				`compaction.completed {"trigger":"manual"}`, step1, yes,
			},
		},
		{
			"meta text opens no turn, further text of a prompt neither",
			[]string{
				rec(1, hi), rec(2, `"type":"user","isMeta":true,"promptId":"p1","message":{"content":"skill"}`), rec(3, said),
				rec(4, `"type":"user","promptId":"p1","message":{"content":"and"}`),
				rec(5, `"type":"user","promptId":"p2","message":{"content":"<command-name>/x</command-name>\n<command-args>y z</command-args>"}`),
			},
			[]string{
				turn0, `foreign.claude-code.user.meta`, step1, yes, `user.message {"turnId":0,"step":1,"text":"and"}`,
				`turn.step.completed {"turnId":0,"step":1,` + counted + `}`, `turn.ended {"turnId":0,"reason":"completed"}`,
				`turn.started {"prompt":"/x y z","origin":{"kind":"user"},"turnId":1}`,
			},
		},
		{
			"what the program wraps around a prompt is not shown",
			[]string{rec(1, `"type":"user","message":{"content":[{"type":"text","text":"<ide_opened_file>a</ide_opened_file>"},{"type":"text","text":"hi"}]}`)},
			[]string{`foreign.claude-code.user.context`, turn0},
		},
		{
			"prompts wait in line",
			[]string{
				rec(1, `"type":"queue-operation","operation":"dequeue"`), rec(2, `"type":"queue-operation","operation":"enqueue","content":"a"`),
				rec(3, `"type":"queue-operation","operation":"enqueue","content":"b"`), rec(4, `"type":"queue-operation","operation":"dequeue"`),
				rec(5, `"type":"queue-operation","operation":"remove"`),
			},
			[]string{
				`foreign.claude-code.queue-operation.dequeue`, `prompt.submitted {"promptId":"q1","status":"queued","content":"a"}`,
				`prompt.submitted {"promptId":"q2","status":"queued","content":"b"}`, `prompt.completed {"promptId":"q1","reason":"completed"}`,
				`prompt.aborted {"promptId":"q2"}`,
			},
		},
		{
			"progress of a call, and of none",
			[]string{
				rec(1, hi), rec(2, called), rec(3, `"type":"progress","toolUseID":"b0","parentToolUseID":"c1","data":{"type":"bash_progress","output":"50%"}`),
				rec(4, `"type":"progress","toolUseID":"c1","data":{"type":"hook_progress","hookName":"Pre:Bash"}`),
				rec(5, `"type":"progress","toolUseID":"other","data":{"type":"hook_progress"}`),
			},
			[]string{
				turn0, step1, call1, `tool.progress {"toolCallId":"c1","update":{"kind":"stdout","text":"50%"}}`,
				`tool.progress {"toolCallId":"c1","update":{"kind":"status","text":"Pre:Bash"}}`, `foreign.claude-code.progress.hook_progress`,
			},
		},
		{
			"plan mode, permissions, the length of a turn, hooks",
			[]string{
				rec(1, `"type":"user","permissionMode":"plan","message":{"content":"hi"}`), rec(2, said),
				rec(3, `"type":"permission-mode","permissionMode":"bypassPermissions"`), rec(4, `"type":"permission-mode","permissionMode":"bypassPermissions"`),
				rec(5, `"type":"system","subtype":"stop_hook_summary","hookInfos":[]`), rec(6, `"type":"system","subtype":"turn_duration","durationMs":12`),
			},
			[]string{
				`plan_mode.enter {}`, turn0, step1, yes, `plan_mode.exit {}`, `agent.status.updated {"permission":"yolo"}`,
				`turn.step.completed {"turnId":0,"step":1,` + counted + `}`, `hook.result {"event":"Stop","hooks":[]}`,
				`turn.ended {"turnId":0,"reason":"completed","durationMs":12}`,
			},
		},
		{
			"a record that stands in the file twice",
			[]string{rec(1, hi), rec(1, hi), rec(2, said), rec(2, said)},
			[]string{turn0, step1, yes},
		},
		{
			"another run of the source",
			[]string{rec(1, hi), rec(2, said), strings.Replace(rec(3, strings.Replace(said, "m1", "m2", 1)), `"S"`, `"S2"`, 1)},
			[]string{
				turn0, step1, yes, `turn.step.completed {"turnId":0,"step":1,` + counted + `}`,
				`turn.started {"turnId":1}`, `turn.step.started {"turnId":1,"step":1}`, `assistant.message {"turnId":1,"step":1,"text":"yes"}`,
			},
		},
		{
			"a sidechain in the file is a sub-agent, found by its prompt",
			[]string{
				rec(1, hi), rec(2, `"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Task","input":{"prompt":"dig","description":"Dig","subagent_type":"g"}}]}`),
				rec(3, `"type":"user","isSidechain":true,"message":{"content":"dig"}`),
				strings.Replace(rec(4, `"isSidechain":true,`+said), `"parentUuid":null`, `"parentUuid":"u3"`, 1),
				rec(5, strings.Replace(result, `"message"`, `"toolUseResult":{"usage":{"output_tokens":3}},"message"`, 1)),
			},
			[]string{
				turn0, step1,
				`tool.call.started {"turnId":0,"step":1,"toolCallId":"c1","name":"Task","args":{"prompt":"dig","description":"Dig","subagent_type":"g"}}`,
				`subagent.spawned {"subagentId":"side-u3","subagentName":"g","parentToolCallId":"c1","description":"Dig","runInBackground":false}`,
				`side-u3 turn.started {"prompt":"dig","origin":{"kind":"user"},"turnId":0}`, `side-u3 ` + step1, `side-u3 ` + yes,
				result1, `subagent.completed {"subagentId":"side-u3","resultSummary":"out","usage":{"output":3}}`,
			},
		},
		{
			"a sub-agent known by its result, and one that goes on in the background",
			[]string{
				rec(1, hi), rec(2, `"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Agent","input":{"prompt":"dig"}},{"type":"tool_use","id":"c2","name":"Agent","input":{"prompt":"wait","run_in_background":true}}]}`),
				rec(3, strings.Replace(result, `"message"`, `"toolUseResult":{"agentId":"a1","status":"completed"},"message"`, 1)),
				rec(4, strings.Replace(strings.Replace(result, `"message"`, `"toolUseResult":{"agentId":"a2","status":"async_launched"},"message"`, 1), "c1", "c2", 1)),
			},
			[]string{
				turn0, step1, `tool.call.started {"turnId":0,"step":1,"toolCallId":"c1","name":"Agent","args":{"prompt":"dig"}}`,
				`tool.call.started {"turnId":0,"step":1,"toolCallId":"c2","name":"Agent","args":{"prompt":"wait","run_in_background":true}}`,
				result1, `subagent.spawned {"subagentId":"a1","parentToolCallId":"c1","runInBackground":false}`, `subagent.completed {"subagentId":"a1","resultSummary":"out"}`,
				`tool.result {"toolCallId":"c2","output":"out"}`, `subagent.spawned {"subagentId":"a2","parentToolCallId":"c2","runInBackground":true}`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := decoded(t, c.lines...)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// What an event stands for is dated by the records it is made of, not by the
// one that ended it.
func TestTimesOfEnds(t *testing.T) {
	list, _ := decodeAll(importer.Source{Name: "S"}, []byte(strings.Join([]string{rec(1, hi), rec(2, said), rec(40, strings.Replace(hi, "p1", "p2", 1))}, "\n")+"\n"))
	for _, e := range list {
		if (e.Type == "turn.step.completed" || e.Type == "turn.ended") && e.Timestamp != "2026-01-01T00:00:02Z" {
			t.Errorf("%s at %s", e.Type, e.Timestamp)
		}
	}
}

func TestHeldIsReported(t *testing.T) {
	_, report := decoded(t, rec(1, hi), rec(2, result), rec(3, `"type":"system","subtype":"compact_boundary"`))
	if len(report.Held) != 2 || report.Held[0].Line != 2 || report.Held[1].Line != 3 || report.Clean() {
		t.Errorf("held %v", report.Held)
	}
}

func TestLabels(t *testing.T) {
	list, _ := decodeAll(importer.Source{Name: "S", Labels: map[string]string{"host": "h"}}, []byte(strings.Join([]string{
		`{"type":"summary","summary":"Old","leafUuid":"x"}`,
		rec(1, `"cwd":"/w","version":"2","gitBranch":"b",`+hi),
		rec(2, strings.Replace(said, `"id"`, `"model":"big","id"`, 1)),
		rec(3, `"type":"ai-title","aiTitle":"Better"`), rec(4, `"type":"summary","summary":"Older","leafUuid":"x"`),
		rec(5, `"type":"custom-title","customTitle":"Mine"`), rec(6, `"type":"ai-title","aiTitle":"Later"`),
	}, "\n")+"\n"))
	var last []byte
	for _, e := range list {
		if e.Type == "agent.started" {
			last = e.Labels
		}
	}
	want := `{"cwd":"/w","git_branch":"b","host":"h","model":"big","runtime":"claude-code","source":"import:claude-code","title":"Mine","version":"2"}`
	if string(last) != want || list[0].Type != "agent.started" {
		t.Errorf("labels %s", last)
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	side := func(prompt string) string {
		return rec(1, `"isSidechain":true,"type":"user","message":{"content":"`+prompt+`"}`) + "\n"
	}
	main := write("S.jsonl", rec(1, hi)+"\n"+
		rec(2, `"type":"assistant","message":{"content":[{"type":"tool_use","id":"c7","name":"Agent","input":{"prompt":"dig","description":"Dig"}}]}`)+"\n")
	write("S/subagents/agent-a.meta.json", `{"agentType":"explore","toolUseId":"c1"}`)
	for _, c := range []struct {
		path string
		want importer.Source
	}{
		{main, importer.Source{Name: "S", Agent: "main"}},
		{write("S/subagents/agent-a.jsonl", side("x")), importer.Source{
			Name: "agent-a", Session: "S", Agent: "a", Spawn: importer.Spawn{Parent: "main", ToolCallID: "c1", Label: "explore"},
		}},
		{write("S/subagents/flow/agent-b.jsonl", side("dig")), importer.Source{
			Name: "agent-b", Session: "S", Agent: "b", Spawn: importer.Spawn{Parent: "main", ToolCallID: "c7", Label: "Dig"},
		}},
		{write("agent-c.jsonl", side("dig")), importer.Source{ // as older versions have it
			Name: "agent-c", Session: "S", Agent: "c", Spawn: importer.Spawn{Parent: "main", ToolCallID: "c7", Label: "Dig"},
		}},
		{write("T/subagents/agent-d.jsonl", side("lost")), importer.Source{
			Name: "agent-d", Session: "T", Agent: "d", Spawn: importer.Spawn{Parent: "main"},
		}},
		{write("agent-e.jsonl", rec(1, hi)+"\n"), importer.Source{Name: "agent-e", Agent: "main"}}, // no sidechain
	} {
		got, err := claudecode.Format{}.Locate(c.path)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", c.path, got, err, c.want)
		}
	}
}
