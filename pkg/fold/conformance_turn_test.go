package fold_test

import (
	"strings"
	"testing"
)

// The tests are named after the lines of the conformance list they cover.

func TestP1(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{"turnId":1,"origin":{"kind":"user"},"prompt":"hi"}`),
		ev("turn.step.started", `{"turnId":1,"step":1}`),
		ev("assistant.delta", `{"turnId":1,"delta":"Hello"}`),
		ev("assistant.delta", `{"turnId":1,"delta":" world"}`),
	)
	if got := w.ops(2); len(got) != 3 || !strings.Contains(got[1], `"offset":0,"text":"Hello"`) || !strings.Contains(got[2], `"offset":5,"text":" world"`) {
		t.Errorf("appends: %v", got)
	}
	w.add(ev("tool.call.started", `{"turnId":1,"toolCallId":"call_1","name":"Bash","args":"{\"command\":\"ls\"}","display":{"kind":"command"}}`))
	if got := w.ops(1); len(got) != 2 || !strings.Contains(got[0], `"text":"Hello world"`) {
		t.Errorf("no flush before the call: %v", got)
	}
	w.add(
		ev("tool.result", `{"turnId":1,"toolCallId":"call_1","output":"file.txt"}`),
		ev("turn.step.completed", `{"turnId":1,"step":1,"usage":{"inputOther":1,"output":2,"inputCacheRead":3,"inputCacheCreation":4}}`),
		ev("turn.ended", `{"turnId":1,"reason":"completed"}`),
	)
	w.want(
		"items/#", "1", "items/t1/state", "completed", "items/t1/origin/payload", `{"kind":"user"}`, "items/t1/origin/kind", "user",
		"items/t1/endedAt", stamp(8), "items/t1/steps/#", "1", "items/t1/steps/t1.1/state", "completed",
		"items/t1/steps/t1.1/frames/0/text", "Hello world", "items/t1/steps/t1.1/frames/0/frameId", "t1.1.f1",
		"items/t1/steps/t1.1/frames/1/frameId", "t1.1.call_1", "items/t1/steps/t1.1/frames/1/state", "done",
		"items/t1/steps/t1.1/frames/1/input", `{"command":"ls"}`, "items/t1/steps/t1.1/frames/1/output", "file.txt",
		"items/t1/steps/t1.1/frames/1/display", `{"kind":"command"}`,
		"items/t1/usage", `{"cachedTokens":3,"inputTokens":5,"outputTokens":2}`,
	)
}

// P2, and the defect list: usage, duration and origin survive the turn's end.
func TestP2(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"turnId":3,"prompt":"keep me"}`),
		ev("turn.ended", `{"turnId":3,"reason":"completed","durationMs":12.5}`),
	).want("items/t3/prompt", "keep me", "items/t3/origin/kind", "user", "items/t3/durationMs", "12.5", "items/t3/startedAt", stamp(1))
}

func TestP3(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{"turnId":0,"prompt":"see","promptAttachments":[{"kind":"image","fileId":"f1"}]}`))
	if got := w.kinds(); got != "attachment.upsert turn.upsert" {
		t.Errorf("operations %s", got)
	}
	w.add(ev("turn.ended", `{"reason":"completed"}`)).want(
		"attachments/t0.att1/mediaType", "image/*", "attachments/t0.att1/source", `{"fileId":"f1","kind":"session_media"}`,
		"items/t0/attachmentIds", `["t0.att1"]`)
}

func TestP4(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"turnId":0}`),
		ev("assistant.delta", `{"turnId":0,"step":2,"delta":"x"}`),
	).want("items/t0/steps/#", "1", "items/t0/steps/t0.2/frames/0/text", "x")
}

func TestP5(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{"turnId":0}`), ev("assistant.delta", `{"delta":"Hello "}`), ev("assistant.delta", `{"delta":"world"}`))
	if got := w.ops(1); len(got) != 1 || !strings.Contains(got[0], `"offset":6`) {
		t.Errorf("P5a: %v", got)
	}
	w.want("items/t0/steps/t0.1/frames/0/text", "Hello world")
	w.add(ev("thinking.delta", `{"delta":"hm"}`)).want(
		"items/t0/steps/t0.1/frames/1/frameId", "t0.1.f2", "items/t0/steps/t0.1/frames/1/kind", "thinking")
}

func TestP6(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{}`), ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{}}`), ev("tool.result", `{"toolCallId":"c","output":1}`))
	if got := w.kinds(); got != "frame.upsert" {
		t.Errorf("operations %s", got)
	}
	w.want("items/t0/steps/t0.1/frames/0/state", "done")
}

// Where we differ: P8's ids come from the event, m<seq>, then m<seq>.2.
func TestP8(t *testing.T) {
	newWorld(t).add(
		ev("hook.result", `{"a":1}`),
		ev("hook.result", `{"a":2}`),
		ev("error", `{"message":5,"code":"x"}`),
	).want("items/0/markerId", "m1", "items/1/markerId", "m2", "items/2/markerId", "m3", "items/3/markerId", "m3.2")
}

func TestP11(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"turnId":0}`), ev("turn.step.started", `{}`),
		ev("thinking.delta", `{"delta":"think"}`), ev("assistant.delta", `{"delta":"text"}`),
		ev("turn.ended", `{"turnId":0,"reason":"cancelled"}`),
	).want(
		"items/t0/state", "cancelled", "items/t0/steps/t0.1/state", "interrupted",
		"items/t0/steps/t0.1/frames/0/text", "think", "items/t0/steps/t0.1/frames/1/text", "text")
}

func TestP12(t *testing.T) {
	for _, c := range []struct{ reason, want string }{
		{`,"interruptReason":"user_cancelled"`, `{"reason":"user_cancelled","turnId":4}`}, {`,"interruptReason":"aborted"`, ""}, {"", ""},
	} {
		newWorld(t).add(ev("turn.started", `{"turnId":4}`), ev("turn.ended", `{"turnId":4,"reason":"cancelled"`+c.reason+`}`)).
			want("items/interruption/payload", c.want)
	}
}

func TestP13(t *testing.T) {
	for _, c := range []struct{ fields, want string }{
		{`"rawFinishReason":"stop"`, "stop"},
		{`"providerFinishReason":"p","rawFinishReason":"r","finishReason":"f"`, "f"},
		{`"providerFinishReason":"p","rawFinishReason":"r"`, "r"},
		{`"providerFinishReason":"p"`, "p"},
	} {
		newWorld(t).add(ev("turn.step.started", `{}`), ev("turn.step.completed", `{`+c.fields+`,
			"usage":{"inputOther":1,"output":2},"model":"m","cost":0.5,
			"llmFirstTokenLatencyMs":1,"llmStreamDurationMs":2,"llmRequestBuildMs":3,
			"llmServerFirstTokenMs":4,"llmServerDecodeMs":5,"llmClientConsumeMs":6}`)).want(
			"items/t0/steps/t0.1/finishReason", c.want,
			"items/t0/steps/t0.1/usage", `{"inputCacheCreation":0,"inputCacheRead":0,"inputOther":1,"output":2}`,
			"items/t0/steps/t0.1/model", "m", "items/t0/steps/t0.1/cost", "0.5",
			"items/t0/steps/t0.1/timing", `{"llmClientConsumeMs":6,"llmFirstTokenLatencyMs":1,"llmRequestBuildMs":3,"llmServerDecodeMs":5,"llmServerFirstTokenMs":4,"llmStreamDurationMs":2}`)
	}
}

func TestP14(t *testing.T) {
	newWorld(t).add(ev("turn.step.started", `{}`), ev("turn.step.interrupted", `{"reason":"aborted","message":"by user"}`)).want(
		"items/t0/steps/t0.1/state", "interrupted", "items/t0/steps/t0.1/endReason", "aborted", "items/t0/steps/t0.1/endMessage", "by user")
}

// P15, and where we differ: a retry empties what the failed attempt streamed.
func TestP15(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.step.started", `{}`), ev("thinking.delta", `{"delta":"why"}`), ev("assistant.delta", `{"delta":"half an ans"}`),
		ev("tool.call.delta", `{"toolCallId":"c1","name":"Bash","argumentsPart":"{\"a"}`),
		ev("turn.step.retrying", `{"failedAttempt":1,"nextAttempt":2,"maxAttempts":3,"delayMs":500,"errorName":"Overloaded","errorMessage":"529","statusCode":529}`),
	).want(
		"items/t0/steps/t0.1/state", "running",
		"items/t0/steps/t0.1/retry", `{"delayMs":500,"errorMessage":"529","errorName":"Overloaded","failedAttempt":1,"maxAttempts":3,"nextAttempt":2,"statusCode":529}`,
		"items/t0/steps/t0.1/frames/0/text", "", "items/t0/steps/t0.1/frames/1/text", "",
		"items/t0/steps/t0.1/frames/2/state", "error", "items/t0/steps/t0.1/frames/2/error", "retried", "items/t0/steps/t0.1/frames/2/inputText", "")
	w.add(ev("assistant.delta", `{"delta":"an answer"}`), ev("turn.step.completed", `{}`)).want(
		"items/t0/steps/t0.1/retry", "", "items/t0/steps/t0.1/state", "completed", "items/t0/steps/t0.1/frames/3/text", "an answer")
	newWorld(t).add(ev("turn.step.started", `{}`), ev("turn.step.retrying", `{}`)).want(
		"items/t0/steps/t0.1/retry", `{"delayMs":0,"errorMessage":"","errorName":"","failedAttempt":0,"maxAttempts":0,"nextAttempt":0}`)
}

func TestP16(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"turnId":0}`),
		ev("turn.step.started", `{}`), ev("turn.step.completed", `{"usage":{"inputOther":100,"output":10,"inputCacheRead":5,"inputCacheCreation":50}}`),
		ev("turn.step.started", `{}`), ev("turn.step.completed", `{"usage":{"inputOther":200,"output":20,"inputCacheCreation":25}}`),
		ev("turn.ended", `{"reason":"completed","durationMs":900}`),
	).want("items/t0/usage", `{"cachedTokens":5,"inputTokens":375,"outputTokens":30}`, "items/t0/durationMs", "900")
	newWorld(t).add(ev("turn.started", `{}`), ev("turn.ended", `{"reason":"failed","error":{"message":"boom","code":"E"}}`)).
		want("items/t0/state", "failed", "items/t0/error", "boom", "items/t0/usage", "")
	// Usage that comes after the end is not lost either.
	newWorld(t).add(ev("turn.started", `{}`), ev("assistant.delta", `{"delta":"x"}`), ev("turn.ended", `{"reason":"completed"}`),
		ev("turn.step.completed", `{"usage":{"output":7},"cost":1.5}`)).
		want("items/t0/state", "completed", "items/t0/usage", `{"cachedTokens":0,"cost":1.5,"inputTokens":0,"outputTokens":7}`)
}

func TestP17(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{}`, `"timestamp":"2026-02-03T04:05:06+01:00"`),
		ev("turn.ended", `{"reason":"completed"}`, `"timestamp":"2026-02-03T04:05:07.1239Z"`),
		ev("turn.started", `{}`), ev("turn.ended", `{"reason":"completed"}`, `"timestamp":"yesterday"`),
	).want(
		"items/t0/startedAt", "2026-02-03T03:05:06.000Z", "items/t0/endedAt", "2026-02-03T04:05:07.123Z",
		"items/t1/startedAt", stamp(3), "items/t1/endedAt", stamp(4))
}

func TestP46(t *testing.T) {
	newWorld(t).add(ev("turn.started", `{}`), ev("turn.ended", `{"reason":"blocked"}`)).want("items/t0/state", "failed")
}

func TestP47(t *testing.T) {
	for _, c := range []struct{ origin, kind, task string }{
		{`{"kind":"cron_job","jobId":"j1"}`, "cron", "j1"},
		{`{"kind":"cron_missed","jobId":"j1"}`, "cron", "j1"},
		{`{"kind":"cron"}`, "cron", ""},
		{`{"kind":"task","taskId":"k"}`, "task", "k"},
		{`{"kind":"background_task","taskId":"k"}`, "task", "k"},
		{`{"kind":"background_task","taskId":7}`, "other", ""},
		{`{"kind":"task"}`, "other", ""},
		{`{"kind":"hook_result"}`, "hook", ""},
		{`{"kind":"hook"}`, "hook", ""},
		{`{"kind":"compaction_summary"}`, "compaction", ""},
		{`{"kind":"shell_command"}`, "user", ""},
		{`{"kind":"side"}`, "side", ""},
		{`{"kind":"other"}`, "other", ""},
		{`{"kind":"whatever"}`, "other", ""},
	} {
		newWorld(t).add(ev("turn.started", `{"prompt":"p","origin":`+c.origin+`}`)).want(
			"items/t0/origin/kind", c.kind, "items/t0/origin/taskId", c.task, "items/t0/origin/payload", sorted(c.origin))
	}
	newWorld(t).add(ev("turn.started", `{}`)).want("items/t0/origin/kind", "other")
}

// Numbers that the publisher leaves out, and numbers that are taken.
func TestNumbers(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{}`), ev("turn.step.started", `{}`), ev("assistant.delta", `{"delta":"a"}`), ev("turn.step.started", `{}`),
		ev("turn.started", `{}`), ev("assistant.delta", `{"delta":"b"}`), ev("turn.started", `{"turnId":9}`), ev("turn.started", `{}`),
	).want(
		"items/0/turnId", "t0", "items/t0/steps/#", "2", "items/t0/steps/t0.1/state", "completed", "items/t0/steps/t0.2/state", "interrupted", "items/t0/state", "cancelled",
		"items/1/turnId", "t1", "items/t1/state", "cancelled", "items/2/turnId", "t9", "items/3/turnId", "t10", "items/t10/state", "running")
	// A turn with a lower number is put where it belongs.
	newWorld(t).add(ev("turn.started", `{"turnId":5}`), ev("turn.started", `{"turnId":2}`)).want("items/0/turnId", "t2", "items/1/turnId", "t5")
	// Content without a turn opens one.
	newWorld(t).add(ev("assistant.delta", `{"delta":"a"}`)).want("items/t0/origin/kind", "other", "items/t0/state", "running")
	// A result never does.
	newWorld(t).add(ev("tool.result", `{"toolCallId":"c","output":1}`), ev("tool.progress", `{"toolCallId":"c","update":{"kind":"stdout"}}`)).want("items/#", "0")
}

func TestReopen(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{"turnId":1,"prompt":"p"}`), ev("assistant.delta", `{"delta":"a"}`),
		ev("turn.ended", `{"reason":"completed","durationMs":5}`),
		ev("assistant.delta", `{"turnId":1,"step":1,"delta":"late"}`),
	).want("items/t1/state", "running", "items/t1/endedAt", "", "items/t1/prompt", "p",
		"items/t1/steps/t1.1/state", "completed", "items/t1/steps/t1.1/frames/1/text", "late")
	w.add(ev("turn.ended", `{"reason":"completed"}`), ev("turn.started", `{"turnId":1}`)).want("items/t1/state", "running", "items/t1/prompt", "p", "items/t1/startedAt", stamp(1))
	// Further steps are higher, and what the publisher goes on calling step 1
	// is the new one.
	w.add(ev("turn.step.started", `{"turnId":1,"step":1}`), ev("assistant.delta", `{"turnId":1,"step":1,"delta":"new"}`)).want(
		"items/t1/steps/#", "2", "items/t1/steps/t1.2/frames/0/text", "new", "items/notice/payload/field", "step")
}

// L39 as a fold rule: a turn that is cancelled twice has one interruption.
func TestL39(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"turnId":1}`), ev("turn.ended", `{"turnId":1,"reason":"cancelled","interruptReason":"user_cancelled"}`),
		ev("turn.ended", `{"turnId":1,"reason":"cancelled","interruptReason":"user_cancelled"}`),
		ev("turn.started", `{"turnId":2}`), ev("turn.ended", `{"turnId":2,"reason":"cancelled","interruptReason":"aborted"}`),
		ev("turn.ended", `{"turnId":2,"reason":"cancelled","interruptReason":"user_cancelled"}`),
	).want("items/#", "3", "items/1/payload/turnId", "1")
}

// L48, L49, L50 as fold rules: the last report of an end counts.
func TestL48(t *testing.T) {
	w := newWorld(t).add(
		ev("turn.started", `{"turnId":1}`), ev("turn.ended", `{"turnId":1,"reason":"failed","error":{"message":"boom"},"durationMs":7}`),
	).want("items/t1/state", "failed", "items/t1/error", "boom", "items/t1/durationMs", "7", "items/t1/endedAt", stamp(2))
	w.add(ev("turn.ended", `{"turnId":1,"reason":"completed"}`)).want("items/t1/state", "completed", "items/t1/error", "")
	w.add(ev("turn.ended", `{"turnId":9,"reason":"completed"}`))
	if w.kinds() != "" {
		t.Errorf("an unknown turn made %s", w.kinds())
	}
	newWorld(t).add(ev("turn.started", `{}`), ev("turn.ended", `{"reason":"odd"}`)).want("items/t0/state", "cancelled", "items/t0/endedAt", stamp(2))
}

// C2, L45, L46, L47 as fold rules: records of every kind, in their order.
func TestC2(t *testing.T) {
	newWorld(t).add(
		ev("goal.updated", `{"snapshot":{"objective":"o","status":"active","tokensUsed":0,"budget":{"tokenBudget":null}}}`), ev("plan_mode.enter", `{}`),
		ev("task.started", `{"info":{"taskId":"k","kind":"process"}}`), ev("todo.updated", `{"items":[{"title":"a","status":"pending"}]}`),
		ev("interaction.request", `{"id":"a","kind":"approval","request":{"toolCallId":"c"}}`), ev("interaction.request", `{"id":"q","kind":"question"}`),
		ev("interaction.resolved", `{"id":"a","response":{"decision":"approved"}}`), ev("interaction.request", `{"id":"u","kind":"user_tool"}`),
	).want(
		"items/0/marker", "goal", "items/1/marker", "plan.enter", "items/2/kind", "taskref", "items/#", "3", "todos/#", "1",
		"interactions/a/state", "approved", "interactions/a/toolCallId", "c", "interactions/q/state", "pending", "interactions/#", "2")
}

// A second start of a turn keeps its header unless it gives another; one that
// was opened without a start gets its origin then.
func TestStartedAgain(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"turnId":0,"origin":{"kind":"task","taskId":"b"},"prompt":"x"}`), ev("turn.ended", `{"reason":"failed","error":"e"}`),
		ev("turn.started", `{"turnId":0,"prompt":"y"}`),
	).want("items/t0/state", "running", "items/t0/origin/taskId", "b", "items/t0/prompt", "y", "items/t0/error", "", "items/t0/startedAt", stamp(1))
	newWorld(t).add(ev("assistant.delta", `{"turnId":0,"delta":"x"}`), ev("turn.started", `{"turnId":0,"prompt":"y"}`)).
		want("items/t0/origin/kind", "user")
}

// A malformed event of a turn opens nothing.
func TestMalformedOpensNothing(t *testing.T) {
	for typ, payload := range map[string]string{
		"user.message": `{}`, "assistant.message": `{"text":1}`, "assistant.delta": `{}`,
		"tool.call.started": `{"name":"X"}`, "tool.call.delta": `{"toolCallId":5}`, "turn.step.started": `{"step":"one"}`,
		"tool_lifecycle": `{"tool_call_id":"c"}`, "turn.step.retrying": `{"turnId":-1}`,
	} {
		newWorld(t).add(ev(typ, payload)).want("items/#", "1", "items/0/marker", "notice")
	}
}

// A text that stands in a blob changes no text that begins with it, also when
// it says which frame it is.
func TestBlobOfANumberedFrame(t *testing.T) {
	blob := `"blobs":[{"path":"/text","sha256":"` + strings.Repeat("0", 64) + `","size":100000,"media_type":"text/plain"}]`
	newWorld(t).add(ev("assistant.delta", `{"delta":"the whole"}`), ev("assistant.message", `{"text":"the","frame":1}`, blob)).
		want(frame0+"/text", "the whole", frame0+"/textBlob/size", "100000")
	newWorld(t).add(ev("assistant.delta", `{"delta":"other"}`), ev("assistant.message", `{"text":"the","frame":1}`, blob)).
		want(frame0+"/text", "the")
}
