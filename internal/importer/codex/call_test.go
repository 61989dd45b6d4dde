package codex_test

import (
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
)

func execEnd(id, rest string) string {
	return `"type":"event_msg","payload":{"type":"exec_command_end","call_id":"` + id + `","command":["ls"],"cwd":"/w",` + rest + `}`
}

func TestCalls(t *testing.T) {
	progress := `tool.progress {"toolCallId":"c1","update":{"kind":"custom","customKind":"exec_command_end","customData":{"exit_code":0,"command":["ls"],"cwd":"/w"}}}`
	withOutput := func(text string) string { return strings.Replace(output, `"out"`, text, 1) }
	checkDecode(t, []decodeCase{
		{
			"how a program ended decides, wherever that stands",
			[]string{started, hi, call, execEnd("c1", `"exit_code":0`), output, complete},
			[]string{turn0, step1, call1, progress, result1, closed1, done0},
		},
		{
			"its end after its output",
			[]string{started, hi, call, output, execEnd("c1", `"exit_code":0`), execEnd("c1", `"exit_code":0`), complete},
			[]string{turn0, step1, call1, result1, progress, closed1, done0},
		},
		{
			"its end before the call",
			[]string{started, hi, execEnd("c1", `"exit_code":0`), call, output, complete},
			[]string{turn0, step1, call1, progress, result1, closed1, done0},
		},
		{
			"its end, and no output before the turn's",
			[]string{started, hi, call, execEnd("c1", `"exit_code":0,"aggregated_output":"told"`), complete},
			[]string{turn0, step1, call1, progress, `tool.result {"toolCallId":"c1","output":"told"}`, closed1, done0},
		},
		{
			"its end, and no call at all",
			[]string{started, hi, execEnd("c1", `"exit_code":2,"stdout":"told"`), complete},
			[]string{
				turn0, step1, `tool.call.started {"turnId":0,"step":1,"toolCallId":"c1","name":"exec_command","args":{"command":["ls"],"cwd":"/w"}}`,
				strings.Replace(progress, `_code":0`, `_code":2`, 1), `tool.result {"toolCallId":"c1","output":"told","isError":true}`, closed1, done0,
			},
		},
		{
			"such a call opens no step behind the last one",
			[]string{started, hi, yes, execEnd("c1", `"exit_code":0`), tokens1, complete},
			[]string{
				turn0, step1, says, counted, `tool.call.started {"turnId":0,"step":1,"toolCallId":"c1","name":"exec_command","args":{"command":["ls"],"cwd":"/w"}}`,
				progress, `tool.result {"toolCallId":"c1"}`, done0,
			},
		},
		{
			"an output before its call",
			[]string{started, hi, output, call},
			[]string{turn0, step1, call1, result1},
		},
		{
			"an id that is used again names another call",
			[]string{started, hi, call, output, call, withOutput(`"two"`)},
			[]string{turn0, step1, call1, result1, strings.Replace(call1, `"c1"`, `"c1#2"`, 1), `tool.result {"toolCallId":"c1#2","output":"two"}`},
		},
		{
			"the forms of outputs",
			[]string{
				started, hi, call, withOutput(`"{\"output\":\"x\",\"metadata\":{\"exit_code\":3}}"`), withOutput(`{"content":"x","success":false}`),
				withOutput(`[{"type":"input_text","text":"x"},{"type":"input_text","text":"y"}]`), withOutput(`{"type":"input_text","text":"x"}`),
				withOutput(`[{"type":"input_image","image_url":"data:image/png;base64,AAEC"}]`), withOutput(`null`), withOutput(`"Exit code: 1\nWall time: 1\nOutput:\nx"`),
				withOutput(`"Chunk ID: 1\nWall time: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 1"`), withOutput(`"aborted by user after 1s"`),
				withOutput(`"fine\nExit code: 1"`),
			},
			[]string{
				turn0, step1, call1,
				`tool.result {"toolCallId":"c1","output":"x","isError":true}`, `tool.result {"toolCallId":"c1","output":"x","isError":true}`,
				`tool.result {"toolCallId":"c1","output":"x\ny"}`, `tool.result {"toolCallId":"c1","output":"x"}`,
				`tool.result {"toolCallId":"c1","output":[{"type":"input_image","image_url":"data:image/png;3 bytes"}]}`, `tool.result {"toolCallId":"c1","output":""}`,
				`tool.result {"toolCallId":"c1","output":"Exit code: 1\nWall time: 1\nOutput:\nx","isError":true}`,
				`tool.result {"toolCallId":"c1","output":"Chunk ID: 1\nWall time: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 1"}`,
				`tool.result {"toolCallId":"c1","output":"aborted by user after 1s","isError":true}`, `tool.result {"toolCallId":"c1","output":"fine\nExit code: 1"}`,
			},
		},
	})
}

func TestCallKinds(t *testing.T) {
	item := func(payload string) string { return `"type":"response_item","payload":` + payload }
	event := func(payload string) string { return `"type":"event_msg","payload":` + payload }
	begun := func(id, name, args string) string {
		return `tool.call.started {"turnId":0,"step":1,"toolCallId":"` + id + `","name":"` + name + `","args":` + args + `}`
	}
	checkDecode(t, []decodeCase{
		{
			"text in place of arguments, arguments that are no JSON, no arguments, a namespace",
			[]string{
				started, hi, item(`{"type":"custom_tool_call","call_id":"a","name":"apply_patch","input":"*** Begin"}`),
				item(`{"type":"function_call","call_id":"b","name":"f","arguments":"{oops"}`), item(`{"type":"function_call","call_id":"c","name":"f","namespace":"mcp__x__","arguments":null}`),
				item(`{"type":"function_call","call_id":"d","name":"f","namespace":"x","arguments":"{}"}`),
			},
			[]string{
				turn0, step1, begun("a", "apply_patch", `"*** Begin"`), begun("b", "f", `"{oops"`), begun("c", "mcp__x__f", `{}`), begun("d", "x.f", `{}`),
			},
		},
		{
			"a local shell call goes by its id where it has no call id",
			[]string{started, hi, item(`{"type":"local_shell_call","id":"lsh","call_id":null,"status":"completed","action":{"type":"exec","command":["ls"]}}`), item(`{"type":"function_call_output","call_id":"lsh","output":"x"}`)},
			[]string{turn0, step1, begun("lsh", "local_shell", `{"type":"exec","command":["ls"]}`), `tool.result {"toolCallId":"lsh","output":"x"}`},
		},
		{
			"web searches: the event before its item, after it, and alone",
			[]string{
				started, hi,
				event(`{"type":"web_search_end","call_id":"ws1","query":"q","action":{"type":"search","query":"q"}}`), item(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`),
				item(`{"type":"web_search_call","id":"own","status":"failed","action":{"type":"search","query":"r"}}`), event(`{"type":"web_search_end","call_id":"ws2","query":"r","action":{"type":"search","query":"r"},"results":[{"url":"u"}]}`),
				event(`{"type":"web_search_end","call_id":"ws2","query":"r","action":{"type":"search","query":"r"},"results":[{"url":"u"}]}`),
				event(`{"type":"web_search_end","call_id":"ws3","query":"s"}`), complete,
			},
			[]string{
				turn0, step1, begun("ws1", "web_search", `{"type":"search","query":"q"}`), `tool.result {"toolCallId":"ws1"}`,
				begun("own", "web_search", `{"type":"search","query":"r"}`), `tool.result {"toolCallId":"own","isError":true}`, `tool.result {"toolCallId":"own","output":[{"url":"u"}]}`,
				begun("ws3", "web_search", `{"query":"s"}`), `tool.result {"toolCallId":"ws3"}`, closed1, done0,
			},
		},
		{
			"tools of servers",
			[]string{
				started, hi, item(`{"type":"function_call","call_id":"m","name":"srv__t","arguments":"{}"}`),
				event(`{"type":"mcp_tool_call_end","call_id":"m","invocation":{"server":"srv","tool":"t","arguments":{}},"duration":{"secs":1,"nanos":0},"result":{"Err":"down"}}`),
				item(`{"type":"function_call_output","call_id":"m","output":"down"}`),
				event(`{"type":"mcp_tool_call_end","call_id":"n","invocation":{"server":"srv","tool":"t","arguments":{"a":1}},"result":{"Ok":{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAEC","mimeType":"image/png"}],"isError":true}}}`), complete,
			},
			[]string{
				turn0, step1, begun("m", "srv__t", `{}`), `tool.progress {"toolCallId":"m","update":{"kind":"custom","customKind":"mcp_tool_call_end","customData":{"server":"srv","tool":"t","duration":{"secs":1,"nanos":0}}}}`,
				`tool.result {"toolCallId":"m","output":"down","isError":true}`,
				begun("n", "srv.t", `{"a":1}`), `tool.progress {"toolCallId":"n","update":{"kind":"custom","customKind":"mcp_tool_call_end","customData":{"server":"srv","tool":"t"}}}`,
				`tool.result {"toolCallId":"n","output":[{"type":"text","text":"x"},{"type":"image","size":3,"mimeType":"image/png"}],"isError":true}`, closed1, done0,
			},
		},
		{
			"patches, pictures, looks at pictures, tools of the client",
			[]string{
				started, hi, event(`{"type":"patch_apply_end","call_id":"p","success":false,"stdout":"","stderr":"no","changes":{"f":{"type":"add"}}}`),
				item(`{"type":"image_generation_call","id":"i","status":"completed","revised_prompt":"cat","result":"AAEC"}`), event(`{"type":"image_generation_end","call_id":"i","status":"completed","result":"AAEC"}`),
				event(`{"type":"view_image_tool_call","call_id":"v","path":"/x.png"}`),
				event(`{"type":"dynamic_tool_call_request","callId":"d","tool":"t","arguments":{}}`), event(`{"type":"dynamic_tool_call_response","call_id":"d","tool":"t","arguments":{},"content_items":[{"type":"inputText","text":"x"}],"success":true}`), complete,
			},
			[]string{
				turn0, step1, begun("i", "image_generation", `{"prompt":"cat"}`), `tool.result {"toolCallId":"i","output":{"size":3,"status":"completed"}}`,
				begun("p", "apply_patch", `{"changes":{"f":{"type":"add"}}}`), `tool.progress {"toolCallId":"p","update":{"kind":"custom","customKind":"patch_apply_end","customData":{"success":false,"changes":{"f":{"type":"add"}}}}}`,
				`tool.result {"toolCallId":"p","output":"no","isError":true}`, begun("v", "view_image", `{"path":"/x.png"}`), `tool.result {"toolCallId":"v"}`,
				begun("d", "t", `{}`), `tool.result {"toolCallId":"d","output":"x"}`, closed1, done0,
			},
		},
		{
			"other agents",
			[]string{
				started, hi, item(`{"type":"function_call","call_id":"s","name":"spawn_agent","arguments":"{}"}`),
				event(`{"type":"collab_agent_spawn_end","call_id":"s","new_thread_id":"child","new_agent_nickname":"Ada","prompt":"do","status":"pending_init"}`), item(`{"type":"function_call_output","call_id":"s","output":"{}"}`),
				event(`{"type":"collab_waiting_end","call_id":"w","agent_statuses":[{"thread_id":"child","status":{"completed":"done"}}],"statuses":{"child":{"completed":"done"}}}`),
				event(`{"type":"collab_close_end","call_id":"x","receiver_thread_id":"child","status":"shutdown"}`),
				event(`{"type":"sub_agent_activity","event_id":"y","agent_thread_id":"other","agent_path":"/root/b","kind":"started"}`),
				event(`{"type":"sub_agent_activity","event_id":"z","agent_thread_id":"other","agent_path":"/root/b","kind":"interrupted"}`), complete,
			},
			[]string{
				turn0, step1, begun("s", "spawn_agent", `{}`), `subagent.spawned {"subagentId":"child","subagentName":"Ada","parentToolCallId":"s","description":"do","runInBackground":true}`,
				`tool.result {"toolCallId":"s","output":"{}"}`, `subagent.completed {"subagentId":"child","resultSummary":"done"}`,
				`subagent.spawned {"subagentId":"other","subagentName":"/root/b","parentToolCallId":"y","runInBackground":true}`, `subagent.suspended {"subagentId":"other","reason":"interrupted"}`,
				begun("w", "wait", `{}`), `tool.result {"toolCallId":"w","output":[{"thread_id":"child","status":{"completed":"done"}}]}`,
				begun("x", "close_agent", `{"id":"child"}`), `tool.result {"toolCallId":"x","output":"shutdown"}`, closed1, done0,
			},
		},
	})
}

// TestTodo: a plan that was accepted is the todo document.
func TestTodo(t *testing.T) {
	list, _ := decodeAll(importer.Source{Name: "S"}, file(meta, started, hi,
		`"type":"response_item","payload":{"type":"function_call","call_id":"p","name":"update_plan","arguments":"{\"explanation\":\"x\",\"plan\":[{\"step\":\"one\",\"status\":\"completed\"},{\"step\":\"two\",\"status\":\"in_progress\"}]}"}`,
		`"type":"response_item","payload":{"type":"function_call_output","call_id":"p","output":"Plan updated"}`))
	snapshot := folded(t, list)
	for todo := range snapshot.Todos() {
		if len(todo.Items) == 2 && todo.Items[0].Title == "one" && todo.Items[0].Status == "done" && todo.Items[1].Status == "in_progress" {
			return
		}
		t.Errorf("todo: %+v", todo)
	}
	t.Error("no todo document of two entries")
}
