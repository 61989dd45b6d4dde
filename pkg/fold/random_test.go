package fold_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// field is one payload field and the values a generator picks from.
type field struct {
	name   string
	values []string // JSON
}

var (
	turnIDs  = []string{"", "", "", "0", "1", "2", "5"}
	stepIDs  = []string{"", "", "", "1", "2", "3", "7"}
	callIDs  = []string{`"c1"`, `"c2"`, `"f1"`, `"c1"`}
	taskIDs  = []string{`"k1"`, `"k2"`, `""`, ""}
	agentIDs = []string{`"sub-1"`, `"sub-2"`}
	texts    = []string{`"Hel"`, `"lo \"w\"\n"`, `"\ud83d"`, `"\ude00x"`, `"é"`, `""`, `"a"`, `"日本"`, `"Hello"`}
	opaque   = []string{`"done"`, `{"a":[1,1e400]}`, `12345678901234567890`, `null`, `[]`, ""}
	flags    = []string{"true", "false", ""}
	numbers  = []string{"1", "2.5", "0", "-3", "1e400", ""}
	wrong    = []string{`"x"`, "5", "true", "[]", "{}", "1e400", `[1,"a",null,{}]`, `{"kind":7}`, "-1"}
)

// grammar has every event type with its fields.
var grammar = map[string][]field{
	"agent.started":            {{"type", []string{`"main"`, `"sub"`, ""}}, {"parentAgentId", taskIDs}, {"label", texts}},
	"agent.disposed":           {{"reason", texts}},
	"turn.started":             {{"turnId", turnIDs}, {"prompt", texts}, {"origin", []string{"", `{"kind":"user"}`, `{"kind":"task","taskId":"k1"}`, `{"kind":"cron_job","jobId":"j"}`, `"user"`}}, {"attachments", []string{"", `[{"kind":"image","fileId":"ab"}]`, `[{"url":"http://x"},{"mediaType":"a/b"}]`}}},
	"turn.ended":               {{"turnId", turnIDs}, {"reason", []string{`"completed"`, `"cancelled"`, `"failed"`, `"blocked"`, `"odd"`}}, {"error", []string{"", `"boom"`, `{"message":"m","code":"c"}`}}, {"durationMs", numbers}, {"interruptReason", []string{"", `"user_cancelled"`}}},
	"turn.step.started":        {{"turnId", turnIDs}, {"step", stepIDs}},
	"turn.step.completed":      {{"turnId", turnIDs}, {"step", stepIDs}, {"usage", []string{"", `{"inputOther":3,"output":1.5}`, `{}`}}, {"model", texts}, {"cost", numbers}, {"finishReason", texts}, {"llmStreamDurationMs", numbers}},
	"turn.step.interrupted":    {{"turnId", turnIDs}, {"step", stepIDs}, {"reason", texts}, {"message", texts}},
	"turn.step.retrying":       {{"turnId", turnIDs}, {"step", stepIDs}, {"failedAttempt", numbers}, {"errorName", texts}},
	"assistant.delta":          {{"turnId", turnIDs}, {"step", stepIDs}, {"delta", texts}},
	"thinking.delta":           {{"turnId", turnIDs}, {"step", stepIDs}, {"delta", texts}},
	"assistant.message":        {{"turnId", turnIDs}, {"step", stepIDs}, {"text", texts}, {"frame", []string{"", "1", "2", "9"}}, {"attachments", []string{"", `[{"kind":"image"}]`}}},
	"thinking.message":         {{"turnId", turnIDs}, {"step", stepIDs}, {"text", texts}, {"frame", []string{"", "1"}}},
	"user.message":             {{"turnId", turnIDs}, {"step", stepIDs}, {"text", texts}, {"taskId", taskIDs}},
	"tool.call.delta":          {{"turnId", turnIDs}, {"step", stepIDs}, {"toolCallId", callIDs}, {"name", []string{"", `"Bash"`}}, {"argumentsPart", texts}},
	"tool.call.started":        {{"turnId", turnIDs}, {"step", stepIDs}, {"toolCallId", callIDs}, {"name", []string{`"Bash"`, `"TodoWrite"`}}, {"args", []string{`{"todos":[{"content":"a","status":"completed"}]}`, `"{\"x\":1}"`, `"not json"`, `{}`}}, {"display", opaque}, {"view", []string{"", `"v"`}}, {"taskId", taskIDs}},
	"tool.call.executing":      {{"toolCallId", callIDs}},
	"tool.progress":            {{"toolCallId", callIDs}, {"update", []string{`{"kind":"stdout","text":"x"}`, `{"kind":"odd"}`, `{"kind":"custom","customData":{"a":1}}`}}},
	"tool.result":              {{"toolCallId", callIDs}, {"output", opaque}, {"isError", flags}, {"synthetic", flags}},
	"todo.updated":             {{"items", []string{`[{"title":"t","status":"done"}]`, `[]`, `[{"title":1}]`}}},
	"task.started":             {{"info", []string{`{"taskId":"k1","kind":"process","description":"d","status":"running","startedAt":1767225600000,"endedAt":null}`, `{"taskId":"k2","kind":"agent","agentId":"sub-1","detached":false,"toolCallId":"c1"}`, `{}`}}},
	"task.terminated":          {{"info", []string{`{"taskId":"k1","status":"killed","endedAt":1767225600000}`, `{"taskId":"k2","status":"completed"}`}}, {"outputTail", texts}},
	"task.notified":            {{"title", texts}, {"body", texts}, {"sourceId", taskIDs}},
	"shell.started":            {{"commandId", []string{`"s1"`, `"s2"`}}, {"taskId", taskIDs}},
	"shell.output":             {{"commandId", []string{`"s1"`, `"s2"`}}, {"taskId", taskIDs}, {"update", []string{`{"kind":"stdout","text":"out\ud83d"}`, `{"kind":"stderr","text":"\ude00"}`, `{}`}}},
	"shell.completed":          {{"commandId", []string{`"s1"`, `"s2"`}}, {"isError", flags}},
	"subagent.spawned":         {{"subagentId", agentIDs}, {"subagentName", texts}, {"parentToolCallId", callIDs}, {"swarmIndex", []string{"", "1"}}, {"runInBackground", flags}, {"taskId", taskIDs}},
	"subagent.started":         {{"subagentId", agentIDs}},
	"subagent.completed":       {{"subagentId", agentIDs}, {"resultSummary", texts}, {"usage", []string{"", `{"output":1}`}}},
	"subagent.failed":          {{"subagentId", agentIDs}, {"error", texts}},
	"subagent.suspended":       {{"subagentId", agentIDs}, {"reason", texts}},
	"goal.updated":             {{"snapshot", []string{"null", `{"objective":"o","status":"active","tokensUsed":3,"budget":{"tokenBudget":null}}`, `{"objective":"o","status":"odd"}`}}},
	"agent.status.updated":     {{"planMode", flags}, {"swarmMode", flags}, {"towerMode", flags}, {"model", texts}, {"contextTokens", numbers}, {"permission", []string{"", `"yolo"`, `"odd"`}}, {"usage", []string{"", `{"total":{"a":1}}`}}},
	"agent.activity.updated":   {{"lifecycle", []string{"", `"ready"`, `"disposed"`, `"disposing"`}}, {"activity", []string{`"turn"`, `"odd"`, ""}}, {"phase", []string{"", `{"kind":"idle"}`, `{"kind":"running","turnId":1,"step":1,"stepId":"","since":5}`, `{"kind":"odd"}`}}, {"turn", []string{"", `{"turnId":1,"phase":"streaming","stream":"assistant","step":1,"since":3}`}}},
	"plan_mode.enter":          {},
	"plan_mode.exit":           {},
	"swarm_mode.enter":         {{"trigger", texts}},
	"swarm_mode.exit":          {},
	"tower_mode.enter":         {},
	"tower_mode.exit":          {},
	"plan.revision":            {{"id", texts}, {"path", texts}, {"version", numbers}},
	"prompt.submitted":         {{"promptId", []string{`"p1"`, `"p2"`}}, {"status", []string{`"queued"`, `"running"`}}, {"content", opaque}, {"createdAt", []string{"", `"2026-01-01T00:00:00Z"`, "5", `"odd"`}}},
	"prompt.completed":         {{"promptId", []string{`"p1"`, `"p2"`}}, {"reason", []string{`"completed"`, `"failed"`, `"blocked"`}}},
	"prompt.aborted":           {{"promptId", []string{`"p1"`, `"p3"`}}},
	"prompt.steered":           {{"activePromptId", []string{`"p1"`}}, {"promptIds", []string{`["p2","p3"]`, `[]`, `[1]`}}, {"content", opaque}},
	"interaction.request":      {{"id", []string{`"i1"`, `"i2"`}}, {"kind", []string{`"approval"`, `"question"`, `"odd"`}}, {"toolCallId", callIDs}, {"request", opaque}},
	"interaction.resolved":     {{"id", []string{`"i1"`, `"i2"`, `"i3"`}}, {"response", []string{"null", `{"decision":"approved"}`, `{"decision":"odd"}`, `"yes"`}}},
	"action.decided":           {{"run_id", texts}, {"toolCallId", callIDs}, {"decision", []string{`"done"`, `"failed"`, `"retry"`}}, {"result", opaque}},
	"compaction.started":       {},
	"compaction.completed":     {{"summary", texts}, {"phase", texts}},
	"hook.result":              {{"any", opaque}},
	"skill.activated":          {{"name", texts}},
	"plugin_command.activated": {{"name", texts}},
	"cron.fired":               {},
	"context.spliced":          {{"start", numbers}, {"deleteCount", []string{"0", "2"}}, {"messages", opaque}},
	"context.undo":             {{"count", []string{"1", "2", "0", "99", `"x"`}}},
	"context.clear":            {},
	"error":                    {{"message", texts}, {"code", opaque}},
	"warning":                  {{"message", texts}},
	"steno.skipped":            {{"n", []string{"4"}}, {"event_type", texts}, {"reason", texts}},
	"message":                  {{"role", []string{`"user"`, `"assistant"`, `"assistant"`, `"tool"`, `"system"`, `"summary"`}}, {"content", append([]string{`[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]`}, texts...)}, {"metadata", []string{"", `{"reasoning":"why"}`, `{"tool_calls":[{"id":"c1","name":"Bash","arguments":"{}"},{"id":"c2","name":"x","arguments":{}}]}`, `{"tool_call_id":"c1","is_error":true}`, `{"tool_call_id":"c2"}`, `{"source":"completion_gate"}`}}},
	"state_transition":         {{"to_state", texts}, {"reason", []string{`"x"`, `"unrecoverable_error"`}}},
	"tool_lifecycle":           {{"tool_name", texts}, {"tool_call_id", callIDs}, {"status", []string{`"requested"`, `"started"`, `"completed"`, `"failed"`}}, {"args", opaque}, {"result", opaque}, {"error", []string{"", `"e"`, `{"message":"m"}`}}},
	"checkpoint":               {{"checkpoint_id", texts}, {"summary", texts}, {"runtime_state", opaque}},
	"terminal":                 {{"reason", []string{`"completed"`, `"cancelled"`, `"max_steps"`}}},
	"foreign.x.y":              {{"a", opaque}},
}

// grammarTypes lists the types in a fixed order.
var grammarTypes = func() []string {
	var list []string
	for typ := range grammar {
		list = append(list, typ)
	}
	slices.Sort(list)
	return list
}()

// drawEvent draws one event.
func drawEvent(t *rapid.T, hostile bool) string {
	typ := rapid.SampledFrom(grammarTypes).Draw(t, "type")
	if rapid.IntRange(0, 2).Draw(t, "common") == 0 {
		typ = rapid.SampledFrom([]string{"turn.started", "assistant.delta", "thinking.delta", "tool.call.started", "tool.result", "turn.ended", "turn.step.started"}).Draw(t, "type")
	}
	var members []string
	for _, f := range grammar[typ] {
		v := rapid.SampledFrom(f.values).Draw(t, f.name)
		if hostile && rapid.IntRange(0, 9).Draw(t, "wrong") == 0 {
			v = rapid.SampledFrom(wrong).Draw(t, f.name)
		}
		if v != "" {
			members = append(members, strconv.Quote(f.name)+":"+v)
		}
	}
	var extra []string
	if run := rapid.SampledFrom([]string{"", "", "", `"run_id":"a"`, `"run_id":"b"`}).Draw(t, "run"); run != "" {
		extra = append(extra, run)
	}
	if rapid.IntRange(0, 20).Draw(t, "blob") == 0 {
		extra = append(extra, `"blobs":[{"path":"/text","sha256":"`+strings.Repeat("ab", 32)+`","size":9,"media_type":"text/plain"}]`)
	}
	return ev(typ, "{"+strings.Join(members, ",")+"}", extra...)
}

// TestRandomLogs folds random logs of every event type, well-formed and not,
// and checks what world checks after every record.
func TestRandomLogs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.t = rt
		hostile := rapid.Bool().Draw(rt, "hostile")
		n := rapid.IntRange(1, 60).Draw(rt, "events")
		at := rapid.IntRange(0, n).Draw(rt, "reset at")
		var late *reducer.Transcript
		for i := range n {
			if i == at {
				late = reducer.NewTranscript("main")
				late.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: "main", Snapshot: w.live.Snapshot(-1)}})
			}
			b := w.record(fold.Record{Data: []byte(drawEvent(rt, hostile))})
			if late != nil {
				if gap := late.Apply(b.Ops).Gap; gap != nil {
					rt.Fatalf("gap after a reset: %+v", gap)
				}
				checkKept(rt, w.live.Snapshot(-1), late.Snapshot(-1))
			}
		}
	})
}

// checkKept compares what the fold keeps with what a reader has.
func checkKept(t tester, kept, have *reducer.Snapshot) {
	t.Helper()
	if snapJSON(kept) == snapJSON(have) {
		return
	}
	if a, b := trimTo(t, kept, kept), trimTo(t, have, kept); a != b {
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] {
			i++
		}
		from := max(0, i-300)
		t.Fatalf("the reader has\n… %s\nthe fold has\n… %s", b[from:min(len(b), i+500)], a[from:min(len(a), i+500)])
	}
}

// trimTo returns what a snapshot has of the items, steps and entities that
// kept has, as JSON.
func trimTo(t tester, s, kept *reducer.Snapshot) string {
	t.Helper()
	a, k := decoded(t, s), decoded(t, kept)
	for _, list := range []string{"items", "tasks", "interactions", "attachments", "todos", "prompts"} {
		a[list] = trimList(a[list], k[list])
		if entities, ok := a[list].([]any); ok && list != "items" {
			// An id that comes again after its entity was closed keeps its
			// place at a reader who never dropped it.
			slices.SortFunc(entities, func(a, b any) int { return strings.Compare(entityID(a), entityID(b)) })
		}
	}
	delete(a, "hasMoreOlder")
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// entityID returns the id of an item, step or entity.
func entityID(v any) string {
	m, _ := v.(map[string]any)
	for _, key := range []string{"stepId", "turnId", "markerId", "refId", "taskId", "interactionId", "attachmentId", "todoId", "promptId"} {
		if id, ok := m[key].(string); ok {
			return fmt.Sprint(key, id)
		}
	}
	return ""
}

func trimList(list, kept any) any {
	known := map[string]any{}
	keptList, _ := kept.([]any)
	for _, v := range keptList {
		known[entityID(v)] = v
	}
	var out []any
	all, _ := list.([]any)
	for _, v := range all {
		k, ok := known[entityID(v)]
		if !ok {
			continue
		}
		if m, isMap := v.(map[string]any); isMap && m["steps"] != nil {
			delete(m, "hasMoreSteps")
			m["steps"] = trimList(m["steps"], k.(map[string]any)["steps"])
		}
		out = append(out, v)
	}
	return out
}

func decoded(t tester, s *reducer.Snapshot) (doc map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(snapJSON(s)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
