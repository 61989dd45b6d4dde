package fold_test

import (
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/reducer"
)

// The lines about a cold log, as far as they say what events become. What a
// format's own records become is its importer's.

// L22: a loop's messages with a compaction between them.
func TestL22(t *testing.T) {
	w := newWorld(t).add(
		ev("message", `{"role":"system","content":"be good"}`),
		ev("message", `{"role":"user","content":"hello"}`),
		ev("message", `{"role":"assistant","content":"let me see","metadata":{"reasoning":"hm","tool_calls":[{"id":"c","name":"Bash","arguments":"{\"command\":\"ls\"}"}]}}`),
		ev("message", `{"role":"tool","content":"a.txt","metadata":{"tool_call_id":"c"}}`),
		ev("message", `{"role":"assistant","content":"one file"}`),
		ev("message", `{"role":"user","content":"more"}`),
		ev("message", `{"role":"summary","content":"so far"}`),
		ev("checkpoint", `{"checkpoint_id":"k","summary":"so far"}`),
		ev("message", `{"role":"user","content":"last"}`))
	w.want(
		"items/#", "4", "items/0/prompt", "hello", "items/0/steps/#", "2", "items/0/steps/0/frames/0/kind", "thinking",
		"items/0/steps/0/frames/1/text", "let me see", "items/0/steps/0/frames/c/output", "a.txt",
		"items/0/steps/0/frames/c/input", `{"command":"ls"}`, "items/0/steps/1/frames/0/text", "one file",
		"items/1/prompt", "more", "items/2/marker", "compaction", "items/3/prompt", "last")
}

// L24: parts that are not text become attachments; bytes do not travel.
func TestL24(t *testing.T) {
	w := newWorld(t).add(ev("message", `{"role":"user","content":[{"type":"text","text":"see "},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
		{"type":"image_url","image_url":{"url":"https://x.test/a.jpg"}},
		{"type":"text","text":"this"},{"type":"file","fileId":"f1","name":"a.pdf","mediaType":"application/pdf"}]}`))
	w.want("items/t0/prompt", "see this", "items/t0/attachmentIds", `["t0.att1","t0.att2","t0.att3"]`,
		"attachments/t0.att1", `{"attachmentId":"t0.att1","mediaType":"image/png"}`,
		"attachments/t0.att2/source", `{"kind":"url","url":"https://x.test/a.jpg"}`,
		"attachments/t0.att3/source", `{"fileId":"f1","kind":"session_media"}`, "attachments/t0.att3/name", "a.pdf")
	if strings.Contains(snapJSON(w.live.Snapshot(-1)), "AAAA") {
		t.Error("bytes of an image are in the snapshot")
	}
}

// L30: a call without a result runs, one with a result is done.
func TestL30(t *testing.T) {
	newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"a","name":"X","args":{}}`), ev("tool.call.started", `{"toolCallId":"b","name":"X","args":{}}`),
		ev("tool.result", `{"toolCallId":"b","output":"out"}`),
	).want("items/t0/steps/0/frames/a/state", "running", "items/t0/steps/0/frames/b/state", "done", "items/t0/steps/0/frames/b/output", "out")
}

// L31, L34, L35: what opens a turn beside a user.
func TestL31(t *testing.T) {
	newWorld(t).add(
		ev("turn.started", `{"prompt":"go"}`),
		ev("turn.started", `{"origin":{"kind":"system_trigger","name":"subagent"}}`), ev("turn.step.started", `{}`),
		ev("turn.started", `{"origin":{"kind":"cron_job","jobId":"j1"}}`),
		ev("turn.started", `{"origin":{"kind":"background_task","taskId":"b1"}}`),
		ev("turn.started", `{"origin":{"kind":"background_task","taskId":7}}`),
	).want(
		"items/t1/origin/kind", "other", "items/t1/origin/payload", `{"kind":"system_trigger","name":"subagent"}`, "items/t1/prompt", "", "items/t1/steps/#", "1",
		"items/t2/origin/kind", "cron", "items/t2/origin/taskId", "j1", "items/t3/origin/kind", "task", "items/t3/origin/taskId", "b1",
		"items/t4/origin/kind", "other", "items/t4/origin/taskId", "")
}

// L36: what is no fact of the transcript changes nothing.
func TestL36(t *testing.T) {
	w := newWorld(t).add(ev("turn.started", `{"prompt":"go"}`))
	before := snapJSON(w.live.Snapshot(-1))
	w.add(ev("vendor.thing", `{"todos":[],"taskId":"x"}`), ev("tool.call.executing", `{"toolCallId":"c"}`))
	if after := snapJSON(w.live.Snapshot(-1)); after != before {
		t.Errorf("the snapshot became %s", after)
	}
}

// L37: the last todo document wins; a malformed entry is left out.
func TestL37(t *testing.T) {
	newWorld(t).add(
		ev("todo.updated", `{"items":[{"title":"old","status":"pending"}]}`),
		ev("todo.updated", `{"key":"other","items":[{"title":"a","status":"in_progress"},{"title":"b"},7,{"title":"c","status":"done"}]}`),
	).want("todos/#", "1", "todos/todo/items", `[{"status":"in_progress","title":"a"},{"status":"done","title":"c"}]`, "todos/todo/updatedAt", stamp(2))
}

// L45, L46, L47: approvals and questions. One that nobody resolved stays
// pending (theirs is cancelled), with the call named inside the request.
func TestL45(t *testing.T) {
	newWorld(t).add(
		ev("interaction.request", `{"id":"a","kind":"approval","request":{}}`), ev("interaction.resolved", `{"id":"a","response":{"decision":"approved","by":"x"}}`),
		ev("interaction.request", `{"id":"q","kind":"question"}`), ev("interaction.resolved", `{"id":"q","response":null}`),
		ev("interaction.request", `{"id":"s","kind":"question"}`), ev("interaction.resolved", `{"id":"s","response":{"answers":["x"]}}`),
		ev("interaction.request", `{"id":"z","kind":"approval"}`), ev("interaction.resolved", `{"id":"z","response":{"decision":"perhaps"}}`),
		ev("interaction.request", `{"id":"p","kind":"approval","request":{"toolCallId":"c"}}`),
		ev("interaction.request", `{"id":"u","kind":"user_tool","request":{}}`), ev("interaction.resolved", `{"id":"u","response":{}}`),
	).want(
		"interactions/a/state", "approved", "interactions/a/response", `{"by":"x","decision":"approved"}`, "interactions/q/state", "dismissed",
		"interactions/s/state", "answered", "interactions/z/state", "cancelled",
		"interactions/p/state", "pending", "interactions/p/toolCallId", "c", "interactions/u", "", "interactions/#", "5")
}

// L49, L50: how a turn ended, and again.
func TestL49(t *testing.T) {
	failed := ev("turn.ended", `{"turnId":0,"reason":"failed","error":{"message":"no quota","code":"Q"},"durationMs":7}`)
	newWorld(t).add(ev("turn.started", `{"turnId":0}`), failed).want(
		"items/t0/state", "failed", "items/t0/error", "no quota", "items/t0/durationMs", "7", "items/t0/endedAt", stamp(2))
	newWorld(t).add(ev("turn.started", `{"turnId":0}`), failed, ev("turn.ended", `{"turnId":0,"reason":"completed"}`)).want(
		"items/t0/state", "completed", "items/t0/error", "", "items/t0/endedAt", stamp(3))
	newWorld(t).add(ev("turn.started", `{"turnId":0}`), ev("turn.ended", `{"turnId":0,"reason":"blocked"}`)).want("items/t0/state", "failed")
	newWorld(t).add(ev("turn.started", `{"turnId":0}`), failed, ev("turn.ended", `{"turnId":0,"reason":"melted"}`)).want(
		"items/t0/state", "failed", "items/t0/endedAt", stamp(3), "items/notice/payload/field", "reason")
	newWorld(t).add(ev("turn.started", `{"turnId":0}`), ev("turn.ended", `{"turnId":9,"reason":"completed"}`)).want("items/t0/state", "running", "items/#", "1")
	newWorld(t).add(ev("turn.ended", `{"reason":"completed"}`)).want("items/#", "0")
}

// L51, L52: theirs counts the turns that show. Here a turn has the number that
// its publisher gave it, so numbers that were never used leave a gap.
func TestL51(t *testing.T) {
	newWorld(t).add(ev("turn.started", `{"turnId":0}`), ev("turn.started", `{"turnId":2}`), ev("turn.ended", `{"turnId":2,"reason":"failed"}`), ev("turn.started", `{}`)).
		want("items/#", "3", "items/1/turnId", "t2", "items/1/state", "failed", "items/2/turnId", "t3")
}

// N2: what was told of an agent stays when it is disposed of.
func TestN2(t *testing.T) {
	w := newWorld(t).add(ev("turn.started", `{"prompt":"go"}`), ev("turn.ended", `{"reason":"completed"}`))
	before := snapJSON(w.live.Snapshot(-1))
	if w.add(ev("agent.disposed", `{}`)); snapJSON(w.live.Snapshot(-1)) != before || w.live.Descriptor().DisposedAt != stamp(3) {
		t.Errorf("snapshot %s, descriptor %+v", snapJSON(w.live.Snapshot(-1)), w.live.Descriptor())
	}
}

// N4: theirs ignores what follows. Here a log goes on: its next run starts the
// agent again.
func TestN4(t *testing.T) {
	w := newWorld(t).add(ev("agent.disposed", `{}`), ev("agent.started", `{}`), ev("turn.started", `{"prompt":"again"}`)).want("items/t0/prompt", "again")
	if d := w.live.Descriptor(); d.DisposedAt != "" {
		t.Errorf("descriptor %+v", d)
	}
}

// N3: a sub-agent that ran when the state was read ends under the same id.
func TestN3(t *testing.T) {
	newWorld(t).add(ev("subagent.spawned", `{"subagentId":"s","taskId":"k","runInBackground":true}`), ev("subagent.completed", `{"subagentId":"s","resultSummary":"ok"}`)).
		want("tasks/#", "1", "tasks/k/state", "completed", "tasks/k/resultSummary", "ok")
}

// N8: a turn that ends keeps what it was opened with, also without a start.
func TestN8(t *testing.T) {
	newWorld(t).add(ev("user.message", `{"turnId":4,"text":"x","attachments":[{"kind":"image","url":"https://x.test/a"}]}`), ev("turn.ended", `{"turnId":4,"reason":"completed"}`)).
		want("items/t4/startedAt", stamp(1), "items/t4/origin/kind", "other", "items/t4/state", "completed", "attachments/t4.att1/mediaType", "image/*")
}

// P10: a reader that begins with a snapshot has its attachments.
func TestP10(t *testing.T) {
	w := newWorld(t).add(ev("turn.started", `{"prompt":"see","attachments":[{"mediaType":"image/png","fileId":"f"}]}`))
	reader := reducer.NewTranscript("main")
	reader.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: "main", Snapshot: w.live.Snapshot(1)}})
	if got := lookup(t, snapJSON(reader.Snapshot(-1)), "attachments/t0.att1/source/fileId"); got != "f" {
		t.Errorf("file %s", got)
	}
}

// P45: the content of a prompt is nobody's business: it passes byte for byte.
func TestP45(t *testing.T) {
	content := `[ {"type":"image","n":12345678901234567890}, "x" ]`
	w := newWorld(t).add(ev("prompt.submitted", `{"promptId":"a","status":"running"}`), ev("prompt.steered", `{"activePromptId":"a","promptIds":[],"content":`+content+`}`))
	if doc := snapJSON(w.live.Snapshot(-1)); !strings.Contains(doc, `"content":`+content) {
		t.Errorf("snapshot %s", doc)
	}
}
