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
