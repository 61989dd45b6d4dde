//go:build !js

package fold_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/schematest"
)

// contract is what an entity must have, and which of its members have a closed
// set of values: the table of entities once more, so that the schema cannot
// become looser than it.
type contract struct {
	def     string
	minimal string // its required members, and nothing else
	closed  map[string]string
}

func contracts() []contract {
	return []contract{
		{"turn", `{"kind":"turn","turnId":"t1","ordinal":1,"state":"queued","origin":{"kind":"user"},"steps":[]}`, map[string]string{
			"kind": "turn", "state": "queued running completed failed cancelled",
		}},
		{"turnHeader", `{"kind":"turn","turnId":"t1","ordinal":1,"state":"queued","origin":{"kind":"user"}}`, map[string]string{
			"kind": "turn", "state": "queued running completed failed cancelled",
		}},
		{"origin", `{"kind":"user"}`, map[string]string{"kind": "user cron hook compaction side other"}},
		{"origin", `{"kind":"task","taskId":"k"}`, nil},
		{"step", `{"kind":"step","stepId":"t1.1","turnId":"t1","ordinal":1,"state":"running","frames":[]}`, map[string]string{
			"kind": "step", "state": "running completed interrupted failed",
		}},
		{"stepHeader", `{"kind":"step","stepId":"t1.1","turnId":"t1","ordinal":1,"state":"running"}`, map[string]string{
			"kind": "step", "state": "running completed interrupted failed",
		}},
		{"stepUsage", `{"inputOther":0,"output":0,"inputCacheRead":0,"inputCacheCreation":0}`, nil},
		{"frame", `{"kind":"text","frameId":"f","role":"user","text":""}`, map[string]string{"kind": "text", "role": "assistant user"}},
		{"frame", `{"kind":"thinking","frameId":"f","text":""}`, nil},
		{"frame", `{"kind":"tool","frameId":"f","toolCallId":"c","name":"","state":"done"}`, map[string]string{"state": "running done error"}},
		{"frame", `{"kind":"notice","frameId":"f","level":"info","message":""}`, map[string]string{"level": "error warning info"}},
		{"blob", `{"sha256":"` + strings.Repeat("0", 64) + `","size":0,"mediaType":"a/b"}`, nil},
		{"marker", `{"kind":"marker","markerId":"m1","marker":"anything"}`, map[string]string{"kind": "marker"}},
		{"taskRef", `{"kind":"taskref","refId":"ref-k","taskId":"k"}`, map[string]string{"kind": "taskref"}},
		{"task", `{"taskId":"k","kind":"shell","state":"lost","detached":false,"outputTail":""}`, map[string]string{
			"kind": "shell subagent tool other", "state": "running completed failed timed_out killed lost",
		}},
		{"interaction", `{"interactionId":"i","interactionKind":"approval","state":"pending"}`, map[string]string{
			"interactionKind": "approval question", "state": "pending approved rejected cancelled answered dismissed",
		}},
		{"attachment", `{"attachmentId":"a","mediaType":"a/b"}`, nil},
		{"todo", `{"todoId":"todo","items":[]}`, nil},
		{"prompt", `{"promptId":"p","status":"queued","createdAt":"2026-01-01T00:00:00.000Z"}`, map[string]string{
			"status": "running queued blocked completed failed aborted",
		}},
		{"goal", `{"objective":"","status":"active"}`, map[string]string{"status": "active paused blocked complete"}},
		{"phase", `{"kind":"running","turnId":1,"step":1,"stepId":"","since":1}`, nil},
		{"phase", `{"kind":"streaming","turnId":1,"step":1,"stepId":"","since":1,"stream":"thinking"}`, map[string]string{"stream": "assistant thinking tool_call"}},
		{"phase", `{"kind":"tool_call","turnId":1,"step":1,"toolCallId":"c","name":"X","since":1}`, nil},
		{"phase", `{"kind":"retrying","turnId":1,"step":1,"stepId":"","failedAttempt":1,"nextAttempt":2,"maxAttempts":3,"delayMs":4,"since":1}`, nil},
		{"phase", `{"kind":"awaiting_approval","turnId":1,"since":1}`, nil},
		{"phase", `{"kind":"interrupted","turnId":1,"reason":"error","at":1}`, map[string]string{"reason": "aborted max_steps error"}},
		{"phase", `{"kind":"ended","turnId":1,"reason":"blocked","at":1}`, map[string]string{"reason": "completed cancelled failed blocked"}},
		{"agent", `{"agentId":"main"}`, nil},
		{"snapshot", `{"items":[],"tasks":[],"interactions":[],"attachments":[],"todos":[],"prompts":[],"meta":{},"hasMoreOlder":false}`, nil},
		{"operation", `{"op":"append","target":{"type":"task","taskId":"k"},"offset":0,"text":"x"}`, nil},
		{"operation", `{"op":"items.remove","ids":["t1"]}`, nil},
		{"operation", `{"op":"meta.merge","meta":{}}`, nil},
	}
}

func TestSchemaIsStrict(t *testing.T) {
	for _, c := range contracts() {
		schema := schematest.Load(t, c.def)
		var entity map[string]any
		if err := json.Unmarshal([]byte(c.minimal), &entity); err != nil {
			t.Fatal(err)
		}
		check := func(why string, valid bool, change func(map[string]any)) {
			t.Helper()
			other := maps.Clone(entity)
			change(other)
			doc, err := json.Marshal(other)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); (err == nil) != valid {
				t.Errorf("%s %s: valid %t, want %t: %s (%v)", c.def, why, err == nil, valid, doc, err)
			}
		}
		check("as it is", true, func(map[string]any) {})
		check("with a member nobody knows", true, func(m map[string]any) { m["later"] = 1 })
		for _, name := range slices.Sorted(maps.Keys(entity)) {
			check("without "+name, false, func(m map[string]any) { delete(m, name) })
			check("with null for "+name, false, func(m map[string]any) { m[name] = nil })
			check("with a list of lists for "+name, false, func(m map[string]any) { m[name] = []any{[]any{}} })
		}
		for name, values := range c.closed {
			check(name+" outside its set", false, func(m map[string]any) { m[name] = "sideways" })
			for value := range strings.FieldsSeq(values) {
				check(name+" "+value, true, func(m map[string]any) { m[name] = value })
			}
		}
	}
}
