package fold_test

import (
	"strings"
	"testing"
)

const frame0 = "items/t0/steps/t0.1/frames/0"

func TestP18(t *testing.T) {
	w := newWorld(t).add(
		ev("tool.call.delta", `{"toolCallId":"c1","name":"Bash","argumentsPart":"{\"a\":"}`),
		ev("tool.call.delta", `{"toolCallId":"c1","argumentsPart":"1}"}`),
		ev("tool.call.delta", `{"toolCallId":"c2","argumentsPart":"x"}`),
	).want(frame0+"/inputText", `{"a":1}`, frame0+"/name", "Bash", frame0+"/state", "running", "items/t0/steps/t0.1/frames/1/name", "", "items/t0/steps/t0.1/frames/1/inputText", "x")
	if got := w.ops(2); !strings.Contains(strings.Join(got, ""), `"field":"inputText"`) {
		t.Errorf("no append to inputText: %v", got)
	}
	w.add(ev("tool.call.started", `{"toolCallId":"c1","name":"Bash","args":{"a":1}}`)).want(frame0+"/inputText", `{"a":1}`, frame0+"/input", `{"a":1}`)
	w.add(ev("tool.call.delta", `{"toolCallId":"c1","argumentsPart":"!"}`)).want(frame0+"/inputText", `{"a":1}!`)
	w.add(ev("tool.result", `{"toolCallId":"c1","output":"ok"}`)).want(frame0+"/inputText", `{"a":1}!`, frame0+"/state", "done")
}

func TestP19(t *testing.T) {
	w := newWorld(t).add(ev("tool.progress", `{"toolCallId":"zz","update":{"kind":"stdout","text":"a"}}`))
	if w.kinds() != "" {
		t.Errorf("an unknown call made %s", w.kinds())
	}
	w.add(
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`),
		ev("tool.progress", `{"toolCallId":"c","update":{"kind":"stdout","text":"a"}}`),
		ev("tool.progress", `{"toolCallId":"c","update":{"kind":"progress","percent":50}}`),
	).want(frame0+"/progress", `{"kind":"progress","percent":50}`)
}

func TestP20(t *testing.T) {
	newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{},"display":{"d":1}}`),
		ev("tool.result", `{"toolCallId":"c","output":"no such file","isError":true}`),
	).want(frame0+"/state", "error", frame0+"/output", "no such file", frame0+"/error", "no such file", frame0+"/display", `{"d":1}`)
	newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`),
		ev("tool.result", `{"toolCallId":"c","output":{"a":1},"synthetic":true}`),
	).want(frame0+"/state", "error", frame0+"/error", "")
}

// The order of text and thinking is kept, and a call flushes.
func TestAlternation(t *testing.T) {
	newWorld(t).add(
		ev("thinking.delta", `{"delta":"a"}`), ev("assistant.delta", `{"delta":"b"}`), ev("thinking.delta", `{"delta":"c"}`),
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`), ev("thinking.delta", `{"delta":"d"}`),
	).want("items/t0/steps/t0.1/frames/#", "5",
		frame0+"/kind", "thinking", "items/t0/steps/t0.1/frames/1/kind", "text", "items/t0/steps/t0.1/frames/2/text", "c",
		"items/t0/steps/t0.1/frames/4/text", "d", "items/t0/steps/t0.1/frames/4/frameId", "t0.1.f4")
}

// Arguments pass through byte for byte; a string that holds JSON is parsed.
func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"n":12345678901234567890,"x":1e400}`, `{"n":12345678901234567890,"x":1e400}`},
		{`"{\"n\":1e400}"`, `{"n":1e400}`},
		{`" [1, 2] "`, `[1, 2]`},
		{`"not json"`, `"not json"`},
		{`""`, `""`},
		{`[]`, `[]`},
		{`"5"`, `5`},
	} {
		w := newWorld(t).add(ev("tool.call.started", `{"toolCallId":"c","name":"X","args":`+c.args+`}`))
		if got := snapJSON(w.live.Snapshot(-1)); !strings.Contains(got, `"input":`+c.want+`}`) {
			t.Errorf("args %s: %s", c.args, got)
		}
	}
}

// A result whose call is in an earlier turn lands on that frame.
func TestLateResult(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{}`), ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{},"taskId":"k"}`), ev("task.started", `{"info":{"taskId":"k","kind":"process","status":"running"}}`),
		ev("turn.ended", `{"reason":"completed"}`), ev("turn.started", `{}`), ev("tool.result", `{"toolCallId":"c","output":"late"}`),
	).want(frame0+"/output", "late", "items/t0/state", "completed", "items/t1/steps/#", "0")
}

// Defect never to have: a running tool shown as running for ever.
func TestInterruptedTools(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{}`), ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`), ev("turn.ended", `{"reason":"completed"}`),
	).want(frame0+"/state", "error", frame0+"/error", "interrupted")
	newWorld(t).add(
		ev("turn.started", `{}`), ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`),
		ev("subagent.spawned", `{"subagentId":"s","parentToolCallId":"c","runInBackground":true}`),
		ev("interaction.request", `{"id":"i","kind":"approval","toolCallId":"c"}`),
		ev("turn.ended", `{"reason":"completed"}`),
	).want(frame0+"/state", "running", "interactions/i/state", "pending").add(ev("agent.disposed", `{}`)).
		want(frame0+"/state", "error", "interactions/i/state", "cancelled", "tasks/s/state", "lost")
}

func TestP42(t *testing.T) {
	w := newWorld(t).add(ev("tool.call.started", `{"toolCallId":"r","name":"TodoList","args":{}}`), ev("tool.result", `{"toolCallId":"r","output":"[]"}`)).
		want(frame0+"/todoId", "", "todos/#", "0")
	w.add(ev("tool.call.started", `{"toolCallId":"w","name":"TodoList","args":{"todos":[{"title":"a","status":"completed"},{"content":"b","status":"in_progress"},{"step":"c","status":"pending"}]}}`)).
		want("items/t0/steps/t0.1/frames/1/todoId", "todo", "todos/#", "0")
	w.add(ev("tool.result", `{"toolCallId":"w","output":"ok"}`)).want(
		"todos/todo/items", `[{"status":"done","title":"a"},{"status":"in_progress","title":"b"},{"status":"pending","title":"c"}]`, "todos/todo/updatedAt", stamp(4))
	w.add(ev("tool.call.started", `{"toolCallId":"f","name":"update_plan","args":{"plan":[{"step":"z","status":"pending"}]}}`),
		ev("tool.result", `{"toolCallId":"f","output":"no","isError":true}`)).want("todos/todo/items/#", "3")
	w.add(ev("tool.call.started", `{"toolCallId":"g","name":"TodoWrite","args":{"todos":[{"content":"x","status":"odd"}]}}`), ev("tool.result", `{"toolCallId":"g","output":1}`)).
		want("todos/todo/items/#", "3")
	w.add(ev("todo.updated", `{"items":[{"title":"only","status":"done"}]}`)).want("todos/todo/items", `[{"status":"done","title":"only"}]`)
	w.add(ev("todo.updated", `{"items":[]}`)).want("todos/todo/items", `[]`)
}

func TestP40(t *testing.T) {
	w := newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`),
		ev("interaction.request", `{"id":"i","kind":"approval","request":{"toolCallId":"c","what":"rm"}}`))
	if w.kinds() != "interaction.upsert" {
		t.Errorf("operations %s", w.kinds())
	}
	if got := w.live.Info().Pending; got != 1 {
		t.Errorf("%d pending", got)
	}
	w.want("interactions/i/toolCallId", "c", "interactions/i/state", "pending")
	w.add(ev("interaction.resolved", `{"id":"i","response":{"decision":"approved","feedback":"go"}}`)).want(
		frame0+"/approvalId", "i", "interactions/i/state", "approved", "interactions/i/response", `{"decision":"approved","feedback":"go"}`)
	w.add(ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`)).want(frame0+"/approvalId", "i")
	if got := w.live.Info().Pending; got != 0 {
		t.Errorf("%d pending", got)
	}
	for response, want := range map[string]string{`{"decision":"rejected"}`: "rejected", `{"decision":"cancelled"}`: "cancelled", `{}`: "cancelled", `null`: "cancelled"} {
		newWorld(t).add(ev("interaction.request", `{"id":"i","kind":"approval"}`), ev("interaction.resolved", `{"id":"i","response":`+response+`}`)).
			want("interactions/i/state", want)
	}
}

func TestP43(t *testing.T) {
	w := newWorld(t).add(ev("interaction.request", `{"id":"q","kind":"question","request":{"text":"?"}}`))
	if w.kinds() != "interaction.upsert" {
		t.Errorf("operations %s", w.kinds())
	}
	w.add(ev("interaction.resolved", `{"id":"q","response":null}`)).want("interactions/q/state", "dismissed")
	newWorld(t).add(ev("interaction.request", `{"id":"q","kind":"question"}`), ev("interaction.resolved", `{"id":"q","response":"blue"}`)).
		want("interactions/q/state", "answered", "interactions/q/response", "blue")
	newWorld(t).add(ev("interaction.request", `{"id":"q","kind":"user_tool"}`), ev("interaction.resolved", `{"id":"q","response":"blue"}`)).
		want("interactions/#", "0")
}
