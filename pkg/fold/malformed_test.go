package fold_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// opaqueFields pass through whatever they are; nothing in them is malformed.
var opaqueFields = map[string]bool{
	"tool.call.started.args": true, "tool.call.started.display": true, "tool.result.output": true, "prompt.submitted.content": true,
	"prompt.steered.content": true, "interaction.request.request": true, "action.decided.result": true, "hook.result.any": true,
	"tool_lifecycle.args": true, "tool_lifecycle.result": true, "error.code": true, "checkpoint.summary": true, "checkpoint.runtime_state": true,
	"compaction.completed.summary": true, "compaction.completed.phase": true, "skill.activated.name": true, "plugin_command.activated.name": true,
	"context.spliced.messages": true, "foreign.x.y.a": true,
	"subagent.failed.error": true,
	// A question's answer is opaque; an approval's is tested by itself.
	"interaction.resolved.response": true,
}

// verbatim are types whose payload stands in their marker as it is.
var verbatim = map[string]bool{"checkpoint": true, "plan.revision": true, "swarm_mode.enter": true, "context.spliced": true, "error": true, "steno.skipped": true, "context.undo": true}

// unread are fields of the other form of an event.
var unread = map[string]bool{"agent.activity.updated.activity": true, "agent.activity.updated.phase": true, "agent.activity.updated.turn": true}

var sampleOf = map[scan.Kind]string{
	scan.Bool: "true", scan.Number: "5", scan.String: `"str"`, scan.Object: `{"odd":1}`, scan.Array: `[["odd"]]`,
}

// scene is a log before the event under test: something of each kind is there.
func scene(t *testing.T) *world {
	w := newWorld(t)
	w.split = false
	return w.add(
		ev("turn.started", `{"turnId":1,"prompt":"p"}`), ev("turn.step.started", `{"turnId":1,"step":1}`),
		ev("assistant.delta", `{"delta":"Hel"}`), ev("tool.call.started", `{"toolCallId":"c1","name":"Bash","args":{}}`),
		ev("task.started", `{"info":{"taskId":"k1","kind":"process"}}`), ev("interaction.request", `{"id":"i1","kind":"approval","toolCallId":"c1"}`),
		ev("prompt.submitted", `{"promptId":"p1","status":"queued"}`))
}

// event builds one with the first value of every field, but for one.
func eventWith(typ, name, value string) string {
	var members []string
	for _, f := range grammar[typ] {
		v := f.values[0]
		for i := 0; v == "" && i < len(f.values); i++ {
			v = f.values[i]
		}
		if f.name == name {
			v = value
		}
		if v != "" && v != "1e400" {
			members = append(members, strconv.Quote(f.name)+":"+v)
		}
	}
	return ev(typ, "{"+strings.Join(members, ",")+"}")
}

// tree is the snapshot without notices, whose ids and counts differ.
func (w *world) tree() string {
	doc := decoded(w.t, w.live.Snapshot(-1))
	items, _ := doc["items"].([]any)
	doc["items"] = slices.DeleteFunc(items, func(v any) bool { return v.(map[string]any)["marker"] == "notice" })
	return quoted(doc)
}

func (w *world) noticeOf(typ, field string) bool {
	for it := range w.live.Snapshot(-1).Items() {
		if it.Marker == nil || it.Marker.Marker != "notice" {
			continue
		}
		m := string(it.Marker.Payload)
		if strings.Contains(m, `"event":`+strconv.Quote(typ)) && (strings.Contains(m, `"field":`+strconv.Quote(field)) || strings.Contains(m, `"field":"`+field+".") || strings.Contains(m, `"field":"`+field+"[")) {
			return true
		}
	}
	return false
}

// TestWrongTypes gives every field of every payload a value of every type it
// should not have. A notice names the field, and the tree is that of the event
// without the field, or without the event.
func TestWrongTypes(t *testing.T) {
	cases := 0
	for _, typ := range grammarTypes {
		for _, f := range grammar[typ] {
			key := typ + "." + f.name
			if opaqueFields[key] || unread[key] {
				continue
			}
			good := map[scan.Kind]bool{scan.Null: true}
			for _, v := range f.values {
				if v != "" {
					good[scan.KindOf([]byte(v))] = true
				}
			}
			for kind, value := range sampleOf {
				if good[kind] {
					continue
				}
				cases++
				t.Run(fmt.Sprintf("%s/%s", key, kind), func(t *testing.T) {
					with := scene(t).add(eventWith(typ, f.name, value))
					if !with.noticeOf(typ, f.name) {
						t.Errorf("no notice names %s: %s", f.name, opsJSON(with.last().Ops))
					}
					without, never := scene(t).add(eventWith(typ, f.name, "")), scene(t)
					if got := with.tree(); !verbatim[typ] && got != without.tree() && got != never.tree() {
						t.Errorf("the tree is\n%s\nwithout the field\n%s", got, without.tree())
					}
				})
			}
		}
	}
	t.Logf("%d cases", cases)
}

// A value outside its closed set is dropped and reported.
func TestClosedSets(t *testing.T) {
	for _, c := range []struct{ typ, payload, field string }{
		{"agent.started", `{"type":"odd"}`, "type"},
		{"turn.ended", `{"reason":"odd"}`, "reason"},
		{"tool.progress", `{"toolCallId":"c1","update":{"kind":"odd"}}`, "update.kind"},
		{"todo.updated", `{"items":[{"title":"a","status":"odd"}]}`, "items[]"},
		{"task.terminated", `{"info":{"taskId":"k1","status":"odd"}}`, "info.status"},
		{"goal.updated", `{"snapshot":{"objective":"o","status":"odd"}}`, "snapshot.status"},
		{"agent.status.updated", `{"permission":"odd"}`, "permission"},
		{"agent.activity.updated", `{"activity":"odd"}`, "activity"},
		{"agent.activity.updated", `{"lifecycle":"odd"}`, "lifecycle"},
		{"agent.activity.updated", `{"phase":{"kind":"odd"}}`, "phase.kind"},
		{"prompt.submitted", `{"promptId":"p9","status":"odd"}`, "status"},
		{"prompt.completed", `{"promptId":"p9","reason":"odd"}`, "reason"},
		{"interaction.resolved", `{"id":"i1","response":{"decision":"odd"}}`, "response.decision"},
		{"interaction.resolved", `{"id":"i1","response":7}`, "response"},
		{"action.decided", `{"toolCallId":"c1","decision":"odd"}`, "decision"},
		{"message", `{"role":"odd","content":"x"}`, "role"},
		{"tool_lifecycle", `{"tool_call_id":"c1","status":"odd"}`, "status"},
		{"turn.started", `{"attachments":[{"kind":"odd"}]}`, "attachments[].kind"},
		{"turn.step.completed", `{"usage":{"output":"many"}}`, "usage.output"},
		{"turn.step.completed", `{"cost":1e400}`, "cost"},
		{"turn.started", `{"turnId":1.5}`, "turnId"},
		{"turn.started", `{"turnId":99999999999999999999}`, "turnId"},
		{"turn.started", `{"turnId":-1}`, "turnId"},
		{"assistant.delta", `{"step":0,"delta":"x"}`, "step"},
		{"assistant.delta", `{}`, "delta"},
		{"tool.result", `{"output":1}`, "toolCallId"},
	} {
		w := scene(t).add(ev(c.typ, c.payload))
		if !w.noticeOf(c.typ, c.field) {
			t.Errorf("%s %s: no notice names %s: %s", c.typ, c.payload, c.field, opsJSON(w.last().Ops))
		}
	}
}

// Notices of one kind share a marker; its count is raised at 1, 2, 4, 8 …, and
// goes on in a new marker when that has closed.
func TestNoticeCounts(t *testing.T) {
	w := newWorld(t)
	raised := 0
	for range 100 {
		w.add(ev("assistant.delta", `{"delta":5}`))
		if w.kinds() != "" {
			raised++
		}
	}
	w.want("items/#", "1", "items/0/payload/count", "64", "items/0/markerId", "m1")
	if raised != 7 {
		t.Errorf("raised %d times", raised)
	}
	if got := w.batches[63].Ops[0]; !got.BeforeTurn.Set || got.BeforeTurn.V != 0 {
		t.Errorf("a raised notice does not say where it stands: %s", opsJSON(w.batches[63].Ops))
	}
	w.split = false
	for range 30 {
		w.add(ev("turn.started", `{}`), ev("turn.ended", `{"reason":"completed"}`))
	}
	w.want("items/0/turnId", "t10")
	for range 28 {
		w.add(ev("assistant.delta", `{"delta":5}`))
	}
	w.want("items/notice/payload/count", "128", "items/-1/marker", "notice")
}

// A stored message that is no event, and a lost one, are told and counted.
func TestInvalidAndLost(t *testing.T) {
	w := newWorld(t).add(`{"event_type":`, `[]`, ev("turn.started", `{}`, `"session_id":"other"`), "", "\x00\xff").
		want("items/#", "1", "items/0/payload/count", "4", "items/0/payload/event", "invalid")
	lost := newWorld(t)
	lost.live.Step(record(1, ev("turn.started", `{}`)))
	one := lost.live.Step(lostRecord(2, 9))
	if one.Seq != 2 || one.SeqTo != 9 || lost.live.Seq() != 9 {
		t.Errorf("batch %+v, seq %d", one, lost.live.Seq())
	}
	each := newWorld(t)
	each.live.Step(record(1, ev("turn.started", `{}`)))
	for n := uint64(2); n <= 9; n++ {
		each.live.Step(lostRecord(n, n))
	}
	if a, b := snapJSON(lost.live.Snapshot(-1)), snapJSON(each.live.Snapshot(-1)); a != b {
		t.Errorf("a range gives\n%s\none by one\n%s", a, b)
	}
	if a, b := lost.live.Encode(), each.live.Encode(); string(a.Head) != string(b.Head) {
		t.Error("the states differ")
	}
	w.add(ev("turn.started", `{}`)).want("items/t0/state", "running")
}

// Unknown types do nothing and are told once.
func TestUnknownTypes(t *testing.T) {
	w := newWorld(t).add(ev("foreign.x.y", `{}`))
	if w.last().Unknown != "foreign.x.y" || len(w.last().Ops) != 0 {
		t.Errorf("%+v", w.last())
	}
	if w.add(ev("foreign.x.y", `{}`)); w.last().Unknown != "" {
		t.Error("told twice")
	}
	if got := w.live.Info().Events; got != 2 {
		t.Errorf("%d events", got)
	}
}

// Everything admission finds is told.
func TestAdmissionNotices(t *testing.T) {
	numbered := func(run string, n int, id string) []string {
		return []string{`"run_id":"` + run + `"`, `"n":` + strconv.Itoa(n), `"event_id":"` + id + `"`}
	}
	w := newWorld(t).add(
		ev("turn.started", `{}`, numbered("a", 1, "x")...), ev("assistant.delta", `{"delta":"1"}`, numbered("a", 2, "y")...),
		ev("assistant.delta", `{"delta":"2"}`, numbered("a", 2, "y")...)).want("items/t0/steps/t0.1/frames/0/text", "1", "items/#", "1")
	w.add(ev("assistant.delta", `{"delta":"3"}`, numbered("a", 2, "other")...)).want("items/notice/payload/event", "admission", "items/notice/payload/count", "1")
	w.split = false
	for range 4096 {
		w.add(ev("assistant.delta", `{"delta":"4"}`, numbered("a", 9, "z")...))
	}
	w.want("items/t0/steps/t0.1/frames/0/text", "14", "items/2/payload/message", `events 3 to 8 of run "a" never came; the transcript goes on without them`)
}

// What a fold emits is what Apply takes: no operation is refused by the
// schema's closed sets, which the reducer's decoder checks.
func TestOperationsDecode(t *testing.T) {
	w := scene(t)
	for _, typ := range grammarTypes {
		w.add(eventWith(typ, "", ""))
	}
	for _, b := range w.batches {
		doc := reducer.AppendOps(nil, b.Ops)
		ops, err := reducer.DecodeOps(doc)
		if err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		if again := reducer.AppendOps(nil, ops); string(again) != string(doc) {
			t.Errorf("decoded and encoded\n%s\nis\n%s", doc, again)
		}
	}
}

// TestWrongTypesInside does what TestWrongTypes does for the fields of objects
// inside payloads. # stands for the wrong value.
func TestWrongTypesInside(t *testing.T) {
	str, num, boolean, object, array := scan.String, scan.Number, scan.Bool, scan.Object, scan.Array
	cases := 0
	for _, c := range []struct {
		typ, payload, field string
		good                []scan.Kind
	}{
		{"turn.started", `{"origin":{"kind":#}}`, "origin.kind", []scan.Kind{str}},
		{"turn.started", `{"origin":{"kind":"cron_job","jobId":#}}`, "origin.jobId", []scan.Kind{str}},
		{"turn.started", `{"attachments":[#]}`, "attachments[]", []scan.Kind{object}},
		{"turn.started", `{"attachments":[{"kind":#}]}`, "attachments[].kind", []scan.Kind{str}},
		{"turn.started", `{"attachments":[{"mediaType":#}]}`, "attachments[].mediaType", []scan.Kind{str}},
		{"turn.started", `{"attachments":[{"name":#}]}`, "attachments[].name", []scan.Kind{str}},
		{"turn.started", `{"attachments":[{"size":#}]}`, "attachments[].size", []scan.Kind{num}},
		{"turn.started", `{"promptAttachments":[{"url":#}]}`, "promptAttachments[].url", []scan.Kind{str}},
		{"turn.started", `{"attachments":[{"fileId":#}]}`, "attachments[].fileId", []scan.Kind{str}},
		{"turn.started", `{"attachments":[{"sha256":#}]}`, "attachments[].sha256", []scan.Kind{str}},
		{"turn.ended", `{"reason":"failed","error":{"message":#}}`, "error.message", []scan.Kind{str}},
		{"turn.step.completed", `{"usage":{"inputOther":#}}`, "usage.inputOther", []scan.Kind{num}},
		{"turn.step.completed", `{"usage":{"output":#}}`, "usage.output", []scan.Kind{num}},
		{"turn.step.completed", `{"usage":{"inputCacheRead":#}}`, "usage.inputCacheRead", []scan.Kind{num}},
		{"turn.step.completed", `{"usage":{"inputCacheCreation":#}}`, "usage.inputCacheCreation", []scan.Kind{num}},
		{"turn.step.completed", `{"llmServerDecodeMs":#}`, "llmServerDecodeMs", []scan.Kind{num}},
		{"turn.step.retrying", `{"maxAttempts":#}`, "maxAttempts", []scan.Kind{num}},
		{"turn.step.retrying", `{"statusCode":#}`, "statusCode", []scan.Kind{num}},
		{"tool.progress", `{"toolCallId":"c1","update":{"kind":#}}`, "update.kind", []scan.Kind{str}},
		{"tool.progress", `{"toolCallId":"c1","update":{"kind":"stdout","text":#}}`, "update.text", []scan.Kind{str}},
		{"tool.progress", `{"toolCallId":"c1","update":{"kind":"progress","percent":#}}`, "update.percent", []scan.Kind{num}},
		{"tool.progress", `{"toolCallId":"c1","update":{"kind":"custom","customKind":#}}`, "update.customKind", []scan.Kind{str}},
		{"todo.updated", `{"items":[#]}`, "items[]", []scan.Kind{object}},
		{"todo.updated", `{"items":[{"title":#,"status":"done"}]}`, "items[]", []scan.Kind{str}},
		{"todo.updated", `{"items":[{"title":"a","status":#}]}`, "items[]", nil},
		{"task.started", `{"info":{"taskId":#}}`, "info.taskId", []scan.Kind{str}},
		{"task.started", `{"info":{"taskId":"z","kind":#}}`, "info.kind", []scan.Kind{str}},
		{"task.started", `{"info":{"taskId":"z","description":#}}`, "info.description", []scan.Kind{str}},
		{"task.started", `{"info":{"taskId":"z","status":#}}`, "info.status", nil},
		{"task.started", `{"info":{"taskId":"z","detached":#}}`, "info.detached", []scan.Kind{boolean}},
		{"task.started", `{"info":{"taskId":"z","agentId":#}}`, "info.agentId", []scan.Kind{str}},
		{"task.started", `{"info":{"taskId":"z","toolCallId":#}}`, "info.toolCallId", []scan.Kind{str}},
		{"task.started", `{"info":{"taskId":"z","startedAt":#}}`, "info.startedAt", []scan.Kind{num}},
		{"task.terminated", `{"info":{"taskId":"z","endedAt":#}}`, "info.endedAt", []scan.Kind{num}},
		{"shell.output", `{"commandId":"s","update":{"text":#}}`, "update.text", []scan.Kind{str}},
		{"goal.updated", `{"snapshot":{"objective":#,"status":"active"}}`, "snapshot.objective", []scan.Kind{str}},
		{"goal.updated", `{"snapshot":{"objective":"o","status":#}}`, "snapshot.status", nil},
		{"goal.updated", `{"snapshot":{"objective":"o","status":"active","tokensUsed":#}}`, "snapshot.tokensUsed", []scan.Kind{num}},
		{"goal.updated", `{"snapshot":{"objective":"o","status":"active","budget":#}}`, "snapshot.budget", []scan.Kind{object}},
		{"goal.updated", `{"snapshot":{"objective":"o","status":"active","budget":{"tokenBudget":#}}}`, "snapshot.budget.tokenBudget", []scan.Kind{num}},
		{"goal.updated", `{"snapshot":{"objective":"o","status":"active","completionCriterion":#}}`, "snapshot.completionCriterion", []scan.Kind{str}},
		{"agent.activity.updated", `{"activity":#}`, "activity", nil},
		{"agent.activity.updated", `{"phase":#}`, "phase", []scan.Kind{object}},
		{"agent.activity.updated", `{"phase":{"kind":#}}`, "phase.kind", nil},
		{"agent.activity.updated", `{"phase":{"kind":"running","turnId":#,"step":1,"since":1}}`, "phase.turnId", []scan.Kind{num}},
		{"agent.activity.updated", `{"phase":{"kind":"running","turnId":1,"step":#,"since":1}}`, "phase.step", []scan.Kind{num}},
		{"agent.activity.updated", `{"phase":{"kind":"running","turnId":1,"step":1,"since":#}}`, "phase.since", []scan.Kind{num}},
		{"agent.activity.updated", `{"phase":{"kind":"ended","turnId":1,"reason":#,"at":1}}`, "phase.reason", nil},
		{"agent.activity.updated", `{"phase":{"kind":"retrying","turnId":1,"step":1,"since":1,"failedAttempt":#}}`, "phase.failedAttempt", []scan.Kind{num}},
		{"agent.activity.updated", `{"lifecycle":"ready","turn":#}`, "turn", []scan.Kind{object}},
		{"agent.activity.updated", `{"lifecycle":"ready","turn":{"turnId":#}}`, "turn.turnId", []scan.Kind{num}},
		{"agent.activity.updated", `{"lifecycle":"ready","turn":{"turnId":1,"phase":#}}`, "turn.phase", nil},
		{"agent.activity.updated", `{"lifecycle":"ready","turn":{"turnId":1,"pendingApprovals":#}}`, "turn.pendingApprovals", []scan.Kind{array}},
		{"agent.activity.updated", `{"lifecycle":"ready","turn":{"turnId":1,"activeToolCalls":[#]}}`, "turn.activeToolCalls[]", []scan.Kind{object}},
		{"agent.activity.updated", `{"lifecycle":"ready","lastTurn":#}`, "lastTurn", []scan.Kind{object}},
		{"interaction.resolved", `{"id":"i1","response":#}`, "response", []scan.Kind{object}},
		{"interaction.resolved", `{"id":"i1","response":{"decision":#}}`, "response.decision", nil},
		{"prompt.steered", `{"activePromptId":"p1","promptIds":[#]}`, "promptIds[]", []scan.Kind{str}},
		{"prompt.completed", `{"promptId":"p1","reason":"completed","finishedAt":#}`, "finishedAt", []scan.Kind{num}},
		{"message", `{"role":"user","content":[#]}`, "content[]", []scan.Kind{str, object}},
		{"message", `{"role":"user","content":[{"type":"text","text":#}]}`, "content[].text", []scan.Kind{str}},
		{"message", `{"role":"user","content":[{"type":#}]}`, "content[].type", []scan.Kind{str}},
		{"message", `{"role":"user","content":[{"type":"image","source":{"url":#}}]}`, "content[].source.url", []scan.Kind{str}},
		{"message", `{"role":"user","content":"x","metadata":{"source":#}}`, "metadata.source", []scan.Kind{str}},
		{"message", `{"role":"assistant","content":"x","metadata":{"reasoning":#}}`, "metadata.reasoning", []scan.Kind{str}},
		{"message", `{"role":"assistant","content":"x","metadata":{"tool_calls":#}}`, "metadata.tool_calls", []scan.Kind{array}},
		{"message", `{"role":"assistant","content":"x","metadata":{"tool_calls":[#]}}`, "metadata.tool_calls[]", []scan.Kind{object}},
		{"message", `{"role":"assistant","content":"x","metadata":{"tool_calls":[{"id":#,"name":"n"}]}}`, "metadata.tool_calls[].id", []scan.Kind{str}},
		{"message", `{"role":"assistant","content":"x","metadata":{"tool_calls":[{"id":"q","name":#}]}}`, "metadata.tool_calls[].name", []scan.Kind{str}},
		{"message", `{"role":"tool","content":"x","metadata":{"tool_call_id":#}}`, "metadata.tool_call_id", []scan.Kind{str}},
		{"message", `{"role":"tool","content":"x","metadata":{"tool_call_id":"c1","is_error":#}}`, "metadata.is_error", []scan.Kind{boolean}},
		{"tool_lifecycle", `{"tool_call_id":"c1","status":"failed","error":{"message":#}}`, "error.message", []scan.Kind{str}},
	} {
		for kind, value := range sampleOf {
			if slices.Contains(c.good, kind) {
				continue
			}
			cases++
			w := scene(t).add(ev(c.typ, strings.Replace(c.payload, "#", value, 1)))
			if !w.noticeOf(c.typ, c.field) {
				t.Errorf("%s %s is %s: no notice: %s", c.typ, c.field, kind, opsJSON(w.last().Ops))
			}
		}
	}
	t.Logf("%d cases", cases)
}
