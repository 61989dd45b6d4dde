package fold_test

import "testing"

// The plain-loop family gives the same tree.
func TestFacts(t *testing.T) {
	newWorld(t).add(
		ev("message", `{"role":"system","content":"you are"}`),
		ev("message", `{"role":"user","content":"hello"}`),
		ev("message", `{"role":"assistant","content":"let me look","metadata":{"reasoning":"hm","tool_calls":[{"id":"c1","name":"Read","arguments":"{\"p\":1}"},{"id":"c2","name":"Bash","arguments":{"x":2}}]}}`, `"step":9`),
		ev("tool_lifecycle", `{"tool_call_id":"c1","tool_name":"Read","status":"requested"}`),
		ev("tool_lifecycle", `{"tool_call_id":"c1","tool_name":"Read","status":"started"}`),
		ev("tool_lifecycle", `{"tool_call_id":"c1","tool_name":"Read","status":"completed","result":{"lines":3}}`),
		ev("message", `{"role":"tool","content":"3 lines","metadata":{"tool_call_id":"c1"}}`),
		ev("tool_lifecycle", `{"tool_call_id":"c2","tool_name":"Bash","status":"failed","error":{"code":"E","message":"no"}}`),
		ev("message", `{"role":"tool","content":"failed: no","metadata":{"tool_call_id":"c2"}}`),
		ev("message", `{"role":"assistant","content":"done"}`),
		ev("terminal", `{"reason":"completed"}`),
	).want(
		"items/#", "1", "items/t0/prompt", "hello", "items/t0/origin/kind", "user", "items/t0/state", "completed", "items/t0/steps/#", "2",
		"items/t0/steps/t0.1/state", "completed", frame0+"/kind", "thinking", frame0+"/text", "hm", "items/t0/steps/t0.1/frames/1/text", "let me look",
		"items/t0/steps/t0.1/frames/2/input", `{"p":1}`, "items/t0/steps/t0.1/frames/2/output", `{"lines":3}`, "items/t0/steps/t0.1/frames/2/state", "done",
		"items/t0/steps/t0.1/frames/3/output", "failed: no", "items/t0/steps/t0.1/frames/3/state", "error", "items/t0/steps/t0.1/frames/3/error", "no",
		"items/t0/steps/t0.2/frames/0/text", "done", "items/t0/steps/t0.2/state", "completed")
}

func TestFactsMixed(t *testing.T) {
	// What has streamed is completed by the message instead of doubled.
	newWorld(t).add(
		ev("message", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"b"}]}`),
		ev("thinking.delta", `{"delta":"why"}`), ev("assistant.delta", `{"delta":"hel"}`),
		ev("message", `{"role":"assistant","content":"hello","metadata":{"reasoning":"why","tool_calls":[{"id":"c","name":"X","arguments":"{}"}]}}`),
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{"a":1}}`), ev("tool.result", `{"toolCallId":"c","output":"fine"}`),
		ev("message", `{"role":"tool","content":"FINE","metadata":{"tool_call_id":"c"}}`),
		ev("assistant.delta", `{"delta":"second"}`),
		ev("message", `{"role":"assistant","content":"third"}`),
		ev("message", `{"role":"user","content":"check","metadata":{"source":"completion_gate"}}`),
		ev("terminal", `{"reason":"max_steps"}`),
	).want(
		"items/#", "1", "items/t0/prompt", "ab", "items/t0/attachmentIds", `["t0.att1"]`, "attachments/t0.att1", `{"attachmentId":"t0.att1","mediaType":"image/png"}`,
		"items/t0/steps/t0.1/frames/0/text", "why", "items/t0/steps/t0.1/frames/1/text", "hello", "items/t0/steps/t0.1/frames/2/output", "fine",
		"items/t0/steps/t0.1/frames/2/input", `{"a":1}`, "items/t0/steps/t0.1/frames/#", "3",
		"items/t0/steps/#", "2", "items/t0/steps/t0.2/frames/0/text", "third", "items/t0/steps/t0.2/frames/1/role", "user",
		"items/t0/state", "failed", "items/t0/error", "max_steps")
}

func TestFactTransitions(t *testing.T) {
	newWorld(t).add(
		ev("message", `{"role":"user","content":"x"}`), ev("state_transition", `{"to_state":"thinking","reason":"start","details":{}}`),
	).want("meta/agent/phase", `{"kind":"running","reason":"start","since":1767225602000,"step":0,"stepId":"","turnId":0}`)
	newWorld(t).add(ev("state_transition", `{"to_state":"failed","reason":"model_recovery_failed","details":{}}`)).want("items/notice/payload/level", "error")
	newWorld(t).add(ev("checkpoint", `{"checkpoint_id":"k","summary":"s","runtime_state":{"big":1}}`)).want(
		"items/0/marker", "compaction", "items/0/payload", `{"checkpoint_id":"k","phase":"completed","summary":"s"}`)
	for reason, state := range map[string]string{"completed_unverified": "completed", "user_abort": "cancelled", "interrupted": "cancelled", "token_budget": "failed"} {
		newWorld(t).add(ev("message", `{"role":"user","content":"x"}`), ev("terminal", `{"reason":"`+reason+`"}`)).want("items/t0/state", state)
	}
}

// The reason of a failed call may stand inside its result.
func TestFactInnerError(t *testing.T) {
	newWorld(t).add(
		ev("message", `{"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"c","name":"Task","arguments":"{}"}]}}`),
		ev("tool_lifecycle", `{"tool_call_id":"c","status":"failed","result":{"status":"error","error":{"code":"E","message":"inner"}}}`),
	).want(frame0+"/state", "error", frame0+"/error", "inner")
}

// A user message or a terminal completes the running step.
func TestFactStepsComplete(t *testing.T) {
	newWorld(t).add(
		ev("message", `{"role":"user","content":"a"}`), ev("message", `{"role":"assistant","content":"x"}`),
		ev("message", `{"role":"user","content":"b"}`), ev("message", `{"role":"assistant","content":"y"}`), ev("terminal", `{"reason":"user_abort"}`),
		ev("message", `{"role":"user","content":"c"}`), ev("assistant.delta", `{"delta":"half"}`), ev("terminal", `{"reason":"user_abort"}`),
	).want(
		"items/t0/state", "completed", "items/t0/steps/0/state", "completed", "items/t1/state", "cancelled", "items/t1/steps/0/state", "completed",
		"items/t2/steps/0/state", "interrupted")
}

func TestDecisions(t *testing.T) {
	newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`), ev("turn.ended", `{"reason":"cancelled"}`),
		ev("action.decided", `{"run_id":"r","toolCallId":"c","decision":"done","result":"it worked","by":"ann","note":"checked"}`),
	).want(frame0+"/state", "done", frame0+"/error", "", frame0+"/output", "it worked", "items/notice/payload/message", "ann decided on c: done (checked)")
	newWorld(t).add(ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`), ev("action.decided", `{"run_id":"r","toolCallId":"c","decision":"failed"}`)).
		want(frame0+"/state", "error")
}

// A new run closes what the former one left running.
func TestNewRun(t *testing.T) {
	run := func(r string) string { return `"run_id":"` + r + `"` }
	open := func(w *world) *world {
		return w.add(
			ev("turn.started", `{}`, run("a")), ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`, run("a")),
			ev("interaction.request", `{"id":"i","kind":"question"}`, run("a")),
			ev("task.started", `{"info":{"taskId":"d","kind":"process"}}`, run("a")),
			ev("task.started", `{"info":{"taskId":"f","kind":"process","detached":false}}`, run("a")),
			ev("subagent.spawned", `{"subagentId":"s","runInBackground":false}`, run("a")))
	}
	open(newWorld(t)).add(ev("agent.status.updated", `{}`, run("b"))).want(
		"items/t0/state", "cancelled", "items/t0/steps/t0.1/state", "interrupted", frame0+"/error", "interrupted", "interactions/i/state", "cancelled",
		"tasks/d/state", "running", "tasks/f/state", "lost", "tasks/s/state", "running", "tasks/s/stateReason", "parent restarted")
	// A former run that had ended its turn leaves what waits alone.
	open(newWorld(t)).add(ev("turn.ended", `{"reason":"completed"}`, run("a")), ev("agent.status.updated", `{}`, run("b"))).want(
		"items/t0/state", "completed", "interactions/i/state", "pending", "tasks/f/state", "running", "tasks/s/stateReason", "")
	// Events of no run close nothing; those of an older run are not shown.
	open(newWorld(t)).add(ev("agent.status.updated", `{}`)).want("items/t0/state", "running")
	open(newWorld(t)).add(ev("turn.started", `{}`, run("b")), ev("assistant.delta", `{"delta":"late"}`, run("a")), ev("assistant.delta", `{"delta":"late"}`, run("a"))).want(
		"items/t1/steps/#", "0", "items/notice/payload/count", "2", "items/#", "5")
	// A new source run within an import does the same.
	src := func(s string) []string { return []string{run("import"), `"source_run":"` + s + `"`} }
	newWorld(t).add(ev("turn.started", `{}`, src("x")...), ev("turn.started", `{}`, src("x")...), ev("agent.status.updated", `{}`, src("y")...)).
		want("items/t0/state", "cancelled", "items/t1/state", "cancelled")
	// What follows does not go into the old turn.
	open(newWorld(t)).add(ev("assistant.delta", `{"delta":"new"}`, run("b"))).want("items/t1/steps/t1.1/frames/0/text", "new")
}

// A message without content says nothing of the text that was streamed.
func TestFactWithoutContent(t *testing.T) {
	for content, want := range map[string]string{"": "looking", `,"content":null`: "looking", `,"content":""`: "", `,"content":"found"`: "found"} {
		newWorld(t).add(
			ev("message", `{"role":"user","content":"a"}`), ev("assistant.delta", `{"delta":"looking"}`),
			ev("message", `{"role":"assistant"`+content+`,"metadata":{"tool_calls":[{"id":"c","name":"Read","arguments":{}}]}}`),
		).want(frame0+"/text", want, "items/t0/steps/0/frames/c/state", "running", "items/t0/steps/#", "1")
	}
}
