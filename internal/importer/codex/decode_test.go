package codex_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/importertest"
)

// The records of small files; at gives each line its time.
const (
	meta     = `"type":"session_meta","payload":{"id":"S","cwd":"/w","originator":"tui","cli_version":"1.2","git":{"branch":"b"}}`
	hi       = `"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	hiEvent  = `"type":"event_msg","payload":{"type":"user_message","message":"hi","images":[]}`
	yes      = `"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}`
	yesEvent = `"type":"event_msg","payload":{"type":"agent_message","message":"yes"}`
	started  = `"type":"event_msg","payload":{"type":"task_started","turn_id":"T1"}`
	complete = `"type":"event_msg","payload":{"type":"task_complete","turn_id":"T1","duration_ms":7}`
	aborted  = `"type":"event_msg","payload":{"type":"turn_aborted","turn_id":"T1","reason":"interrupted"}`
	call     = `"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}`
	output   = `"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"out"}`
	tokens1  = `"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10},"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}}`
	noTokens = `"type":"event_msg","payload":{"type":"token_count","info":null}`
)

// What they become.
const (
	turn0   = `turn.started {"prompt":"hi","origin":{"kind":"user"},"turnId":0}`
	again0  = `turn.started {"turnId":0}`
	step1   = `turn.step.started {"turnId":0,"step":1}`
	says    = `assistant.message {"turnId":0,"step":1,"text":"yes"}`
	call1   = `tool.call.started {"turnId":0,"step":1,"toolCallId":"c1","name":"shell","args":{"command":["ls"]}}`
	result1 = `tool.result {"toolCallId":"c1","output":"out"}`
	counted = `turn.step.completed {"turnId":0,"step":1,"usage":{"inputOther":6,"output":2,"inputCacheRead":4,"inputCacheCreation":0}}`
	closed1 = `turn.step.completed {"turnId":0,"step":1}`
	done0   = `turn.ended {"turnId":0,"reason":"completed","durationMs":7}`
)

// file writes records down, a second apart.
func file(records ...string) []byte {
	var b strings.Builder
	for i, members := range records {
		if strings.HasPrefix(members, "{") {
			b.WriteString(members + "\n")
			continue
		}
		fmt.Fprintf(&b, "{\"timestamp\":\"2026-01-01T00:00:%02dZ\",%s}\n", i+1, members)
	}
	return []byte(b.String())
}

// decoded lists the events of records, without the agent's starts, as type and
// payload.
func decoded(t *testing.T, records ...string) ([]string, *importer.Report) {
	t.Helper()
	list, report := decodeAll(importer.Source{Name: "S"}, file(records...))
	importertest.CheckEvents(t, list)
	if len(list) > 0 {
		folded(t, list)
	}
	var out []string
	for _, e := range list {
		switch {
		case e.Type == "agent.started":
		case strings.HasPrefix(e.Type, "foreign."):
			out = append(out, e.Type)
		default:
			out = append(out, e.Type+" "+string(e.Payload))
		}
	}
	return out, report
}

type decodeCase struct {
	name    string
	records []string
	want    []string
}

func checkDecode(t *testing.T, cases []decodeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, report := decoded(t, append([]string{meta}, c.records...)...)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if !report.Clean() {
				t.Errorf("report: %+v", report)
			}
		})
	}
}

func TestTurns(t *testing.T) {
	checkDecode(t, []decodeCase{
		{
			"a turn is what stands between the task's start and its end",
			[]string{started, hi, hiEvent, noTokens, yesEvent, yes, tokens1, complete},
			[]string{turn0, step1, says, counted, done0},
		},
		{
			"without tasks a prompt opens a turn and ends the one before",
			[]string{hi, hiEvent, yesEvent, yes, tokens1, strings.Replace(hi, `"hi"`, `"more"`, 1)},
			[]string{
				turn0, step1, says, counted, `turn.ended {"turnId":0,"reason":"completed"}`,
				`turn.started {"prompt":"more","origin":{"kind":"user"},"turnId":1}`,
			},
		},
		{
			"a prompt that stands before its task",
			[]string{hi, hiEvent, started, yesEvent, yes, complete},
			[]string{turn0, step1, says, closed1, done0},
		},
		{
			"the event of a prompt before its task and its item",
			[]string{hiEvent, started, hi, yes, yesEvent, complete},
			[]string{turn0, step1, says, closed1, done0},
		},
		{
			"an aborted turn, and what comes after it",
			[]string{started, hi, call, aborted, output, tokens1, yes, complete},
			[]string{
				turn0, step1, call1, `turn.ended {"turnId":0,"reason":"cancelled","interruptReason":"user_cancelled"}`,
				result1, counted, again0, `turn.step.started {"turnId":0,"step":2}`,
				`assistant.message {"turnId":0,"step":2,"text":"yes"}`, `turn.step.completed {"turnId":0,"step":2}`, done0,
			},
		},
		{
			"a task that was aborted before it showed anything",
			[]string{started, aborted},
			[]string{again0, `turn.ended {"turnId":0,"reason":"cancelled","interruptReason":"user_cancelled"}`},
		},
		{
			"a task whose end is missing was broken off",
			[]string{started, hi, yes, strings.Replace(started, "T1", "T2", 1), strings.Replace(hi, `"hi"`, `"go on"`, 1)},
			[]string{
				turn0, step1, says, `turn.ended {"turnId":0,"reason":"cancelled"}`,
				`turn.started {"prompt":"go on","origin":{"kind":"user"},"turnId":1}`,
			},
		},
		{
			"the program began again inside a turn",
			[]string{started, hi, call, meta},
			[]string{turn0, step1, call1, `turn.ended {"turnId":0,"reason":"cancelled"}`},
		},
		{
			"a second prompt in a turn: before its first step, and while it runs",
			[]string{started, hi, strings.Replace(hi, `"hi"`, `"and"`, 1), yes, strings.Replace(hi, `"hi"`, `"stop"`, 1)},
			[]string{
				turn0, `turn.started {"prompt":"hi\nand","origin":{"kind":"user"},"turnId":0}`, step1, says,
				`user.message {"turnId":0,"step":1,"text":"stop"}`,
			},
		},
		{
			"an error fails the turn",
			[]string{started, hi, `"type":"event_msg","payload":{"type":"error","message":"no","codex_error_info":{"http":{"code":500}}}`, complete},
			[]string{turn0, `error {"message":"no","code":"http"}`, `turn.ended {"turnId":0,"reason":"failed","error":{"message":"no","code":"http"},"durationMs":7}`},
		},
		{
			"without a task an error is the end of the turn",
			[]string{hi, hiEvent, yes, yesEvent, `"type":"event_msg","payload":{"type":"error","error":{"kind":"limit","message":"no"}}`, strings.Replace(hi, `"hi"`, `"again"`, 1)},
			[]string{
				turn0, step1, says, `error {"message":"no","code":"limit"}`, `turn.ended {"turnId":0,"reason":"failed","error":{"message":"no","code":"limit"}}`,
				`turn.started {"prompt":"again","origin":{"kind":"user"},"turnId":1}`,
			},
		},
		{
			"an error that the end tells",
			[]string{started, hi, `"type":"event_msg","payload":{"type":"task_complete","turn_id":"T1","error":{"message":"no","codex_error_info":"limit"}}`},
			[]string{turn0, `turn.ended {"turnId":0,"reason":"failed","error":{"message":"no","code":"limit"}}`},
		},
		{
			"a call of the model that is tried again",
			[]string{started, hi, `"type":"event_msg","payload":{"type":"stream_error","message":"Reconnecting... 2/5","additional_details":"reset"}`, yes},
			[]string{
				turn0, step1, `turn.step.retrying {"turnId":0,"step":1,"failedAttempt":2,"nextAttempt":3,"maxAttempts":5,"errorName":"stream_error","errorMessage":"reset"}`, says,
			},
		},
		{
			"turns that were taken back",
			[]string{started, hi, yes, complete, `"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}`, call},
			[]string{
				turn0, step1, says, closed1, done0, `context.undo {"count":1}`, `turn.started {"turnId":1}`, `turn.step.started {"turnId":1,"step":1}`,
				strings.Replace(call1, `"turnId":0`, `"turnId":1`, 1),
			},
		},
		{
			"texts that the program writes for the model are no prompts",
			[]string{
				started, strings.Replace(hi, `"user"`, `"developer"`, 1), strings.Replace(hi, `"hi"`, `"<environment_context>\n</environment_context>"`, 1),
				strings.Replace(hi, `"hi"`, `"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>"`, 1), strings.Replace(hi, `"hi"`, `"<turn_aborted>\n</turn_aborted>"`, 1),
				strings.Replace(hi, `{"type":"input_text"`, `{"type":"input_text","text":"<skill>\n</skill>"},{"type":"input_text"`, 1),
			},
			[]string{
				"foreign.codex.response_item.message.developer", "foreign.codex.response_item.message.context", "foreign.codex.response_item.message.context",
				"foreign.codex.response_item.message.context", "foreign.codex.response_item.message.context", turn0,
			},
		},
		{
			"the bytes of images stay out",
			[]string{started, strings.Replace(hi, `{"type":"input_text"`, `{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:image/png;base64,AAECAwQFBgc="},{"type":"input_text","text":"</image>"},{"type":"input_image","image_url":"https://x/y.png"},{"type":"input_image","image_url":null},{"type":"input_text"`, 1)},
			[]string{`turn.started {"prompt":"hi","attachments":[{"kind":"image","mediaType":"image/png","size":8},{"kind":"image","url":"https://x/y.png"}],"origin":{"kind":"user"},"turnId":0}`},
		},
	})
}

func TestUsage(t *testing.T) {
	tokens2 := strings.Replace(strings.Replace(tokens1, `"total_token_usage":{"input_tokens":10`, `"total_token_usage":{"input_tokens":13`, 1), `"last_token_usage":{"input_tokens":10`, `"last_token_usage":{"input_tokens":3`, 1)
	checkDecode(t, []decodeCase{
		{
			"a count that repeats the total tells of nothing new",
			[]string{started, hi, yes, tokens1, call, tokens1, output, tokens1},
			[]string{turn0, step1, says, counted, `turn.step.started {"turnId":0,"step":2}`, strings.Replace(call1, `"step":1`, `"step":2`, 1), result1},
		},
		{
			"what is cached is never more than what was put in",
			[]string{started, hi, yes, tokens2},
			[]string{turn0, step1, says, `turn.step.completed {"turnId":0,"step":1,"usage":{"inputOther":0,"output":2,"inputCacheRead":3,"inputCacheCreation":0}}`},
		},
		{
			"what was written to the cache is counted apart",
			[]string{started, hi, yes, strings.Replace(tokens1, `"cached_input_tokens":4`, `"cached_input_tokens":4,"cache_write_input_tokens":5`, 1)},
			[]string{turn0, step1, says, `turn.step.completed {"turnId":0,"step":1,"usage":{"inputOther":1,"output":2,"inputCacheRead":4,"inputCacheCreation":5}}`},
		},
		{
			"a call that left nothing else is a step of its own",
			[]string{started, hi, yes, tokens1, tokens2},
			[]string{
				turn0, step1, says, counted, `turn.step.started {"turnId":0,"step":2}`,
				`turn.step.completed {"turnId":0,"step":2,"usage":{"inputOther":0,"output":2,"inputCacheRead":3,"inputCacheCreation":0}}`,
			},
		},
		{
			"a count after the end of its turn",
			[]string{started, hi, yes, complete, tokens1},
			[]string{turn0, step1, says, closed1, done0, counted},
		},
		{
			"settings and the size of the context are told when they change",
			[]string{
				`"type":"turn_context","payload":{"model":"m","effort":"high","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"collaboration_mode":{"mode":"plan"}}`,
				`"type":"turn_context","payload":{"model":"m","effort":"high","approval_policy":"on-request","sandbox_policy":{"type":"danger-full-access"},"collaboration_mode":{"mode":"default"}}`,
				started, hi, yes, strings.Replace(tokens1, `"output_tokens":2}`, `"output_tokens":2,"total_tokens":12},"model_context_window":100`, 1), complete,
			},
			[]string{
				`agent.status.updated {"model":"m","thinkingEffort":"high","permission":"yolo"}`, `plan_mode.enter {}`,
				`agent.status.updated {"permission":"manual"}`, `plan_mode.exit {}`, turn0, step1, says,
				`agent.status.updated {"contextTokens":12,"maxContextTokens":100}`, strings.Replace(counted, `}}`, `},"model":"m"}`, 1), done0,
			},
		},
	})
}

func TestTwins(t *testing.T) {
	thought := `"type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"x"}`
	thoughtEvent := `"type":"event_msg","payload":{"type":"agent_reasoning","text":"a"}`
	checkDecode(t, []decodeCase{
		{
			"a text that is said twice stands twice",
			[]string{started, hi, yesEvent, yes, yesEvent, yes, complete},
			[]string{turn0, step1, says, `assistant.message {"turnId":0,"step":1,"text":"yes","frame":2}`, closed1, done0},
		},
		{
			"thoughts: the summary, not its events",
			[]string{started, hi, thoughtEvent, strings.Replace(thoughtEvent, `"a"`, `"b"`, 1), thought, thoughtEvent, complete},
			[]string{
				turn0, step1, `thinking.message {"turnId":0,"step":1,"text":"a"}`, `thinking.message {"turnId":0,"step":1,"text":"b","frame":2}`,
				`thinking.message {"turnId":0,"step":1,"text":"a","frame":3}`, closed1, done0,
			},
		},
		{
			"events without items are taken when the turn ends",
			[]string{started, hiEvent, thoughtEvent, yesEvent, complete},
			[]string{turn0, step1, `thinking.message {"turnId":0,"step":1,"text":"a"}`, says, closed1, done0},
		},
		{
			"events alone, and no tasks",
			[]string{hiEvent, yesEvent, strings.Replace(hiEvent, `"hi"`, `"more"`, 1), strings.Replace(hi, `"hi"`, `"more"`, 1)},
			[]string{turn0, step1, says, closed1, `turn.ended {"turnId":0,"reason":"completed"}`, `turn.started {"prompt":"more","origin":{"kind":"user"},"turnId":1}`},
		},
		{
			"the items of newer versions are a third copy",
			[]string{
				started, hi, `"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","id":"1","content":[{"type":"text","text":"hi"}]}}`,
				`"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage","id":"2","content":[{"type":"Text","text":"yes"}]}}`, yes,
				call, `"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c1","exit_code":1}}`, output, complete,
			},
			[]string{
				turn0, step1, says, call1, `tool.progress {"toolCallId":"c1","update":{"kind":"custom","customKind":"exec_command_end","customData":{"exit_code":1}}}`,
				`tool.result {"toolCallId":"c1","output":"out","isError":true}`, closed1, done0,
			},
		},
		{
			"a compaction is told once",
			[]string{`"type":"compacted","payload":{"message":"sum"}`, `"type":"event_msg","payload":{"type":"context_compacted"}`, `"type":"event_msg","payload":{"type":"context_compacted"}`},
			[]string{`compaction.completed {"contextSummary":"sum"}`, `compaction.completed {}`},
		},
	})
}
