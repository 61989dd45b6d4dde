package fold_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
	"github.com/stenohq/steno/pkg/resume"
)

// An emoji over two or three deltas, and halves that stay alone.
func TestSplitSurrogates(t *testing.T) {
	for _, c := range []struct {
		deltas []string
		want   string
	}{
		{[]string{`a\ud83d`, `\ude00b`}, "a😀b"},
		{[]string{`a\ud83d`, ``, `\ude00b`}, "a😀b"},
		{[]string{`\ud83d`, `\ude00`, `\ud83d`, `\ude01`}, "😀😁"},
		{[]string{`a\ud83d`, `b`}, "a\uFFFDb"},
		{[]string{`a\ud83d`}, "a\uFFFD"},
		{[]string{`\ude00a`}, "\uFFFDa"},
		{[]string{`\ud83d`, `\ud83d\ude00`}, "\uFFFD😀"},
		{[]string{`\ud83d\ud83d`, `\ude00\ude00`}, "\uFFFD😀\uFFFD"},
	} {
		w := newWorld(t)
		for _, d := range c.deltas {
			w.add(ev("assistant.delta", `{"delta":"`+d+`"}`))
			if got := w.at(frame0 + "/text"); !strings.HasPrefix(c.want, got) {
				t.Errorf("%q: half a pair came out: %q", c.deltas, got)
			}
		}
		w.add(ev("turn.ended", `{"reason":"completed"}`)).want(frame0+"/text", c.want)
		// Streamed arguments and output the same.
		w = newWorld(t)
		for _, d := range c.deltas {
			w.add(ev("tool.call.delta", `{"toolCallId":"c","argumentsPart":"`+d+`"}`), ev("shell.output", `{"commandId":"s","update":{"kind":"stdout","text":"`+d+`"}}`))
		}
		w.add(ev("tool.result", `{"toolCallId":"c","output":1}`), ev("shell.completed", `{"commandId":"s"}`)).
			want(frame0+"/inputText", c.want, "tasks/shell-s/outputTail", c.want)
	}
	// A whole message has its own rule: halves that are not joined in it.
	newWorld(t).add(ev("assistant.message", `{"text":"x\ud83d"}`), ev("user.message", `{"text":"\ude00"}`), ev("turn.started", `{"prompt":"\ud83d\ude00\ud83d"}`)).
		want(frame0+"/text", "x\uFFFD", "items/t0/steps/t0.1/frames/1/text", "\uFFFD", "items/t1/prompt", "😀\uFFFD")
}

func TestTenThousandToolsInAStep(t *testing.T) {
	b := newBig(t)
	b.add("turn.started", `{}`).add("turn.step.started", `{}`)
	for i := range 10_000 {
		b.add("tool.call.started", `{"toolCallId":"c`+strconv.Itoa(i)+`","name":"X","args":{}}`)
	}
	for i := range 10_000 {
		b.add("tool.result", `{"toolCallId":"c`+strconv.Itoa(9_999-i)+`","output":1}`)
	}
	b.want("items/t0/steps/t0.1/frames/#", "10000", "items/t0/steps/t0.1/frames/-1/state", "done")
	b.check()
	// The same id again and again, in ever new steps.
	for range 2000 {
		b.add("turn.step.started", `{}`).add("tool.call.started", `{"toolCallId":"same","name":"X","args":{}}`).add("tool.result", `{"toolCallId":"same","output":1}`)
	}
	b.check()
}

// A hundred thousand turns that can never close, each with a running tool.
func TestUnclosableTurns(t *testing.T) {
	b := newBig(t)
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	for i := range n {
		id := strconv.Itoa(i)
		b.add("turn.started", `{}`).add("tool.call.started", `{"toolCallId":"c`+id+`","name":"X","args":{},"taskId":"k`+id+`"}`).add("turn.ended", `{"reason":"completed"}`)
	}
	b.want("items/#", strconv.Itoa(n))
	for i := range n {
		b.add("tool.result", `{"toolCallId":"c`+strconv.Itoa(i)+`","output":1}`)
	}
	b.want("items/#", "20")
	b.check()
}

func TestHostileIDs(t *testing.T) {
	legal := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	ids := []string{legal, "f1", "f2", "f1'", "1", "t0", "m1", " ", "\\\"", "\u0000", "日本", strings.Repeat("x", 5000), "a.b.c", "..", "__proto__"}
	w := newWorld(t).add(ev("assistant.delta", `{"delta":"text"}`))
	for _, id := range ids {
		w.add(
			ev("tool.call.started", `{"toolCallId":`+quoted(id)+`,"name":"X","args":{}}`), ev("thinking.delta", `{"delta":"x"}`),
			ev("tool.result", `{"toolCallId":`+quoted(id)+`,"output":`+quoted(id)+`}`),
			ev("task.started", `{"info":{"taskId":`+quoted(id)+`,"kind":"process","toolCallId":`+quoted(id)+`}}`),
			ev("interaction.request", `{"id":`+quoted(id)+`,"kind":"approval","toolCallId":`+quoted(id)+`}`),
			ev("prompt.submitted", `{"promptId":`+quoted(id)+`,"status":"queued"}`),
			ev("subagent.spawned", `{"subagentId":`+quoted(id)+`,"parentToolCallId":`+quoted(id)+`,"runInBackground":false}`),
			ev("shell.started", `{"commandId":`+quoted(id)+`}`))
	}
	seen := map[string]bool{}
	frames := 0
	for turn := range w.live.Snapshot(-1).Turns() {
		for _, s := range turn.Steps {
			for _, f := range s.Frames {
				frames++
				seen[f.FrameID] = true
				if f.Kind == reducer.FrameTool && f.State != reducer.ToolDone {
					t.Errorf("call %.20q: %s", f.ToolCallID, f.State)
				}
			}
		}
	}
	if frames != 1+2*len(ids) || len(seen) != frames {
		t.Errorf("%d frames, %d ids", frames, len(seen))
	}
}

func TestHostileJSON(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	w := newWorld(t).add(
		ev("tool.call.started", `{"toolCallId":"c","name":"X","args":`+deep+`}`),
		strings.Repeat(`{"payload":`, 10_000)).want("items/#", "1", "items/0/payload/event", "invalid", "items/0/payload/count", "2")
	// Names that stand twice: the last one counts, as in a browser.
	w.add(`{"event_type":"turn.started","payload":{"prompt":"a","prompt":"b","turnId":"x","turnId":3}}`).want("items/t3/prompt", "b")
	w.add(`{"event_type":"assistant.delta","payload":{"delta":5,"delta":"x","turn\u0049d":3}}`).want("items/t3/steps/t3.1/frames/0/text", "x")
	// Numbers beyond float64 pass through where they are opaque.
	w.add(ev("tool.call.started", `{"toolCallId":"c","name":"X","args":{"a":1e400,"b":12345678901234567890}}`), ev("tool.result", `{"toolCallId":"c","output":1e400}`))
	if got := snapJSON(w.live.Snapshot(-1)); !strings.Contains(got, `"input":{"a":1e400,"b":12345678901234567890}`) || !strings.Contains(got, `"output":1e400`) {
		t.Errorf("not byte for byte: %s", got)
	}
	w.add(ev("turn.ended", `{"reason":"completed","durationMs":1e400}`)).want("items/t3/durationMs", "", "items/t3/state", "completed")
}

// What a batch or a snapshot handed out never changes afterwards.
func TestImmutable(t *testing.T) {
	w := newWorld(t)
	var ops [][]reducer.Op
	var said []string
	var snaps []*reducer.Snapshot
	for i := range 400 {
		line := ev("assistant.delta", `{"delta":"word `+strconv.Itoa(i)+` "}`)
		switch i % 50 {
		case 20:
			line = ev("thinking.delta", `{"delta":"hm"}`)
		case 30:
			line = ev("tool.call.delta", `{"toolCallId":"c`+strconv.Itoa(i)+`","argumentsPart":"{}"}`)
		case 40:
			line = ev("turn.step.started", `{}`)
		}
		data := []byte(line)
		b := w.live.Step(fold.Record{Seq: uint64(i + 1), StoredAt: epoch, Data: data})
		for j := range data { // Data is not kept
			data[j] = 'x'
		}
		snap := w.live.Snapshot(-1)
		ops, snaps = append(ops, b.Ops), append(snaps, snap)
		said = append(said, opsJSON(b.Ops)+snapJSON(snap))
	}
	for i := range said {
		if got := opsJSON(ops[i]) + snapJSON(snaps[i]); got != said[i] {
			t.Fatalf("what record %d gave has changed from\n%s\nto\n%s", i+1, said[i], got)
		}
	}
}

// Ids and labels come from payloads and have any length: what is remembered
// of them is bounded in bytes.
func TestLongIDs(t *testing.T) {
	a := fold.New("s-1", "main")
	n := uint64(0)
	add := func(typ, payload string) {
		n++
		a.Step(record(n, ev(typ, payload)))
	}
	long := strings.Repeat("x", 100_000)
	for i := range 150 {
		agent := fmt.Sprintf("s%d", i)
		add("subagent.spawned", `{"subagentId":"`+agent+`","description":"`+long+`","parentToolCallId":"`+long+`","taskId":"`+agent+long+`"}`)
		add("subagent.completed", `{"subagentId":"`+agent+`"}`)
		add("subagent.spawned", `{"subagentId":"`+agent+long+`","parentToolCallId":"`+long+`"}`)
		add("subagent.completed", `{"subagentId":"`+agent+long+`"}`)
		add("shell.started", `{"commandId":"`+agent+long+`","taskId":"`+agent+`"}`)
		add("shell.completed", `{"commandId":"`+agent+long+`"}`)
	}
	s := a.Encode()
	if limit := 6 << 20; len(s.Head) > limit || len(s.Resume) > limit || len(s.Memory) > limit {
		t.Errorf("head %d, resume %d, memory %d bytes", len(s.Head), len(s.Resume), len(s.Memory))
	}
	if _, err := fold.Decode("s-1", "main", s); err != nil {
		t.Error(err)
	}
	// What cannot be the id of an agent has no row in the roster.
	children := a.Children()
	if len(children) != 150 {
		t.Errorf("%d children, want 150", len(children))
	}
	for _, c := range children {
		if _, err := events.ParseAgentID(c.AgentID); err != nil || len(c.Label.V) > 1000 || len(c.ParentToolCallID) > 1000 {
			t.Fatalf("child %.50s, label of %d bytes, call of %d", c.AgentID, len(c.Label.V), len(c.ParentToolCallID))
		}
	}
	if got := len(a.Resume(resume.ReadOptions{}).Children); got != 150 {
		t.Errorf("%d children to resume, want 150", got)
	}
}
