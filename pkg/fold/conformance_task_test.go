package fold_test

import (
	"strings"
	"testing"
)

func TestP21(t *testing.T) {
	w := newWorld(t).add(
		ev("task.started", `{"info":{"taskId":"b1","kind":"process","description":"ls","status":"running","startedAt":1767225600000,"endedAt":null}}`),
		ev("shell.started", `{"commandId":"s1","taskId":"b1"}`),
		ev("shell.output", `{"commandId":"s1","update":{"kind":"stdout","text":"a\n"}}`),
		ev("shell.output", `{"commandId":"s1","update":{"kind":"stdout","text":"b"}}`),
	)
	if got := strings.Join(w.ops(2), ""); !strings.Contains(got, `"offset":0`) || !strings.Contains(got, `"offset":2`) {
		t.Errorf("appends: %s", got)
	}
	w.add(ev("shell.output", `{"commandId":"s1","update":{"kind":"progress","percent":3}}`))
	if w.kinds() != "" {
		t.Errorf("progress without text made %s", w.kinds())
	}
	w.add(ev("shell.completed", `{"commandId":"s1","isError":false}`)).want(
		"items/#", "1", "items/0/refId", "ref-b1", "tasks/b1/kind", "shell", "tasks/b1/state", "completed", "tasks/b1/outputTail", "a\nb",
		"tasks/b1/detached", "true", "tasks/b1/description", "ls", "tasks/b1/startedAt", "2026-01-01T00:00:00.000Z", "tasks/b1/endedAt", stamp(6))
}

func TestP22(t *testing.T) {
	newWorld(t).add(
		ev("shell.started", `{"commandId":"s1","taskId":"b1"}`), ev("shell.output", `{"commandId":"s1","update":{"kind":"stderr","text":"oops"}}`),
		ev("shell.completed", `{"commandId":"s1","isError":true}`),
	).want("tasks/b1/state", "failed", "tasks/b1/outputTail", "oops")
}

func TestP23(t *testing.T) {
	newWorld(t).add(
		ev("shell.output", `{"commandId":"s1","taskId":"b9","update":{"kind":"stdout","text":"x"}}`), ev("shell.completed", `{"commandId":"s1","taskId":"b9"}`),
	).want("tasks/b9/state", "completed", "tasks/b9/outputTail", "x", "items/0/refId", "ref-b9", "tasks/#", "1")
}

func TestP24(t *testing.T) {
	newWorld(t).add(ev("shell.completed", `{"commandId":"s1","taskId":"b9","isError":true}`)).want("tasks/b9/state", "failed", "items/0/refId", "ref-b9")
}

func TestP25(t *testing.T) {
	newWorld(t).add(ev("shell.completed", `{"commandId":"c1","isError":true}`)).want("tasks/shell-c1/state", "failed", "items/0/refId", "ref-shell-c1")
}

func TestP26(t *testing.T) {
	newWorld(t).add(ev("shell.started", `{"commandId":"c1"}`), ev("shell.completed", `{"commandId":"c1"}`)).want("tasks/shell-c1/state", "completed", "tasks/shell-c1/endedAt", stamp(2))
	newWorld(t).add(ev("shell.started", `{"commandId":"c1"}`), ev("shell.completed", `{"commandId":"c1","isError":true}`)).want("tasks/shell-c1/state", "failed")
}

func TestP27(t *testing.T) {
	w := newWorld(t).add(ev("task.notified", `{"title":"t","body":"b","sourceId":"k"}`))
	if w.kinds() != "" {
		t.Errorf("made %s", w.kinds())
	}
	w.add(ev("turn.started", `{}`), ev("task.notified", `{"title":"t","body":"b"}`)).want("items/t0/steps/#", "0")
}

func TestP41(t *testing.T) {
	newWorld(t).add(ev("turn.step.started", `{}`), ev("assistant.delta", `{"delta":"x"}`), ev("task.notified", `{"title":"Done","body":"all well ","sourceId":"k"}`)).want(
		"items/t0/steps/t0.1/frames/1", `{"frameId":"t0.1.f2","kind":"text","role":"user","taskId":"k","text":"Done\nall well"}`)
}

func TestP28(t *testing.T) {
	newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"Swarm","args":{}}`),
		ev("subagent.spawned", `{"subagentId":"s1","subagentName":"worker","parentToolCallId":"c","swarmIndex":0,"runInBackground":false}`),
		ev("subagent.spawned", `{"subagentId":"s1","parentToolCallId":"c","swarmIndex":0,"runInBackground":false}`),
		ev("subagent.completed", `{"subagentId":"s1"}`),
	).want(frame0+"/agentRefs", `[{"agentId":"s1","role":"member"}]`, "tasks/s1/state", "completed", "tasks/s1/detached", "false", "tasks/s1/description", "worker")
}

// P7: the frame of a spawned agent.
func TestP7(t *testing.T) {
	newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"Task","args":{}}`),
		ev("subagent.spawned", `{"subagentId":"s1","parentToolCallId":"c","runInBackground":true,"description":"look"}`),
	).want(frame0+"/agentRefs", `[{"agentId":"s1","role":"child"}]`, frame0+"/taskId", "s1", "tasks/s1/agentId", "s1", "tasks/s1/kind", "subagent", "tasks/s1/description", "look")
}

func TestP29(t *testing.T) {
	newWorld(t).add(
		ev("subagent.spawned", `{"subagentId":"s1","runInBackground":true,"taskId":"k1"}`),
		ev("task.started", `{"info":{"taskId":"k1","kind":"agent","agentId":"s1","status":"running"}}`),
		ev("subagent.completed", `{"subagentId":"s1","resultSummary":"found it"}`),
		ev("task.terminated", `{"info":{"taskId":"k1","kind":"agent","agentId":"s1","status":"completed"}}`),
	).want("tasks/#", "1", "tasks/k1/resultSummary", "found it", "tasks/k1/state", "completed")
}

func TestP30(t *testing.T) {
	newWorld(t).add(
		ev("subagent.spawned", `{"subagentId":"s1","runInBackground":true,"taskId":"k1"}`), ev("subagent.completed", `{"subagentId":"s1"}`),
		ev("subagent.spawned", `{"subagentId":"s1","runInBackground":false}`), ev("subagent.failed", `{"subagentId":"s1","error":"x"}`),
	).want("tasks/0/taskId", "k1", "tasks/0/state", "completed", "tasks/1/taskId", "s1", "tasks/1/state", "failed")
}

func TestP31(t *testing.T) {
	newWorld(t).add(
		ev("task.started", `{"info":{"taskId":"k1","kind":"agent","agentId":"s1","status":"running"}}`), ev("subagent.completed", `{"subagentId":"s1","resultSummary":"r"}`),
	).want("tasks/#", "1", "tasks/k1/resultSummary", "r")
}

func TestP48(t *testing.T) {
	w := newWorld(t).add(
		ev("subagent.spawned", `{"subagentId":"s1","runInBackground":false}`), ev("subagent.started", `{"subagentId":"s1"}`),
		ev("subagent.suspended", `{"subagentId":"s1","reason":"waits for approval"}`),
	).want("tasks/s1/state", "running", "tasks/s1/stateReason", "waits for approval")
	w.add(ev("subagent.started", `{"subagentId":"s1"}`)).want("tasks/s1/stateReason", "")
	w.add(ev("subagent.failed", `{"subagentId":"s1","error":"boom"}`)).want("tasks/s1/state", "failed", "tasks/s1/error", "boom")
	newWorld(t).add(ev("subagent.completed", `{"subagentId":"s1","resultSummary":"sum","usage":{"inputOther":1,"output":2,"inputCacheRead":3,"inputCacheCreation":4}}`)).want(
		"tasks/s1/state", "completed", "tasks/s1/usage", `{"inputCacheCreation":4,"inputCacheRead":3,"inputOther":1,"output":2}`, "tasks/s1/resultSummary", "sum")
}

func TestP49(t *testing.T) {
	for _, state := range []string{"running", "completed", "failed", "timed_out", "killed", "lost"} {
		newWorld(t).add(ev("task.terminated", `{"info":{"taskId":"k","kind":"process","status":"`+state+`"}}`)).want("tasks/k/state", state)
	}
	newWorld(t).add(ev("task.terminated", `{"info":{"taskId":"k","kind":"process","status":"odd"}}`)).want("tasks/k/state", "completed", "items/notice/payload/field", "info.status")
}

// L43, L44: what the records of tasks carry.
func TestL43(t *testing.T) {
	newWorld(t).add(
		ev("task.started", `{"info":{"taskId":"a","kind":"process","description":"d"}}`), ev("task.started", `{"info":{"taskId":"b","kind":"question"}}`),
		ev("task.terminated", `{"info":{"taskId":"a","status":"completed","endedAt":1767225601500},"outputTail":"tail"}`),
	).want("tasks/a/detached", "true", "tasks/a/outputTail", "tail", "tasks/a/endedAt", "2026-01-01T00:00:01.500Z", "tasks/a/kind", "shell", "tasks/a/description", "d",
		"items/0/refId", "ref-a", "items/1/refId", "ref-b", "tasks/b/kind", "other")
	w := newWorld(t).add(ev("task.started", `{}`), ev("task.started", `{"info":{}}`)).want("tasks/#", "0")
	w.want("items/0/payload/field", "info", "items/1/payload/field", "info.taskId")
}

// The tail of a task's output is a function of how much there was.
func TestOutputTail(t *testing.T) {
	w := newWorld(t)
	w.split = false
	chunk := strings.Repeat("0123456789abcdef", 1024) // 16 Ki units
	w.add(ev("shell.started", `{"commandId":"c"}`))
	total := ""
	for i := range 20 {
		w.add(ev("shell.output", `{"commandId":"c","update":{"kind":"stdout","text":"`+chunk+`"}}`))
		total += chunk
		start := max(0, (len(total)/65536-1)*65536)
		if got := w.at("tasks/shell-c/outputTail"); got != total[start:] {
			t.Fatalf("after chunk %d the tail has %d bytes, want %d", i, len(got), len(total)-start)
		}
		want := "append"
		if i > 0 && start != max(0, ((len(total)-len(chunk))/65536-1)*65536) {
			want = "task.upsert"
		}
		if w.kinds() != want {
			t.Errorf("chunk %d: %s, want %s", i, w.kinds(), want)
		}
	}
	// One that splits a pair at the border moves past it.
	w = newWorld(t).add(ev("shell.output", `{"commandId":"c","update":{"kind":"stdout","text":"`+strings.Repeat("x", 65535)+"😀"+strings.Repeat("y", 65535)+`"}}`))
	if got := w.at("tasks/shell-c/outputTail"); got != strings.Repeat("y", 65535) {
		t.Errorf("%d bytes, begins %q", len(got), got[:8])
	}
	w.add(ev("shell.output", `{"commandId":"c","update":{"kind":"stdout","text":"z"}}`), ev("shell.completed", `{"commandId":"c"}`))
}
