package fold_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// keptLimit is the bound of what a fold keeps beside what is open.
const keptLimit = 4 << 20

// collector is a sink that keeps everything, by id, as JSON.
type collector struct {
	turns    map[int]*reducer.Turn
	steps    map[int][]*reducer.Step
	items    map[string]string
	entities map[string]string
	gone     []int
	order    []string
}

func newCollector() *collector {
	return &collector{turns: map[int]*reducer.Turn{}, steps: map[int][]*reducer.Step{}, items: map[string]string{}, entities: map[string]string{}}
}

func (c *collector) Close(x reducer.Closed) {
	switch {
	case x.Turn != nil:
		c.turns[x.After] = x.Turn
		c.order = append(c.order, x.Turn.TurnID)
	case x.Step != nil:
		c.steps[x.After] = append(c.steps[x.After], x.Step)
		c.order = append(c.order, x.Step.StepID)
	case x.Marker != nil:
		c.items[x.Marker.MarkerID] = string(x.Marker.AppendJSON(nil))
		c.order = append(c.order, x.Marker.MarkerID)
	case x.TaskRef != nil:
		c.items[x.TaskRef.RefID] = string(x.TaskRef.AppendJSON(nil))
		c.order = append(c.order, x.TaskRef.RefID)
	case x.Task != nil:
		c.entities["task "+x.Task.TaskID] = string(x.Task.AppendJSON(nil))
	case x.Interaction != nil:
		c.entities["interaction "+x.Interaction.InteractionID] = string(x.Interaction.AppendJSON(nil))
	case x.Attachment != nil:
		c.entities["attachment "+x.Attachment.AttachmentID] = string(x.Attachment.AppendJSON(nil))
	case x.Prompt != nil:
		c.entities["prompt "+x.Prompt.PromptID] = string(x.Prompt.AppendJSON(nil))
	}
}

func (c *collector) Gone(from int) {
	c.gone = append(c.gone, from)
	for n := range c.turns {
		if n >= from {
			delete(c.turns, n)
			delete(c.steps, n)
		}
	}
}

// big is a world without the checks after each record, for long logs.
type big struct {
	t      *testing.T
	a      *fold.Agent
	sink   *collector
	reader *reducer.Transcript
	seq    uint64
	last   fold.Batch
}

func newBig(t *testing.T) *big {
	b := &big{t: t, sink: newCollector(), reader: reducer.NewTranscript("main")}
	b.a = fold.New("s-1", "main", fold.WithSink(b.sink))
	return b
}

func (b *big) add(typ, payload string, extra ...string) *big {
	b.seq++
	b.last = b.a.Step(fold.Record{Seq: b.seq, StreamSeq: b.seq, StoredAt: epoch + int64(b.seq), Data: []byte(ev(typ, payload, extra...))})
	if gap := b.reader.Apply(b.last.Ops).Gap; gap != nil {
		b.t.Fatalf("record %d: gap %+v", b.seq, *gap)
	}
	return b
}

func (b *big) want(pairs ...string) {
	b.t.Helper()
	doc := snapJSON(b.a.Snapshot(-1))
	for i := 0; i < len(pairs); i += 2 {
		if got := lookup(b.t, doc, pairs[i]); got != pairs[i+1] {
			b.t.Errorf("%s = %.200s, want %s", pairs[i], got, pairs[i+1])
		}
	}
}

// check compares with the reader and through a checkpoint.
func (b *big) check() {
	b.t.Helper()
	checkKept(b.t, b.a.Snapshot(-1), b.reader.Snapshot(-1))
	s := b.a.Encode()
	again, err := fold.Decode("s-1", "main", s)
	if err != nil {
		b.t.Fatal(err)
	}
	if string(again.Encode().Head) != string(s.Head) || snapJSON(again.Snapshot(-1)) != snapJSON(b.a.Snapshot(-1)) {
		b.t.Fatal("the state does not survive a checkpoint")
	}
}

func (b *big) bounded(limit int) {
	b.t.Helper()
	if n := len(snapJSON(b.a.Snapshot(-1))); n > limit {
		b.t.Errorf("the snapshot has %d bytes, want at most %d", n, limit)
	}
	if n := len(b.a.Encode().Head); n > limit+limit/4+12<<10 {
		b.t.Errorf("the state has %d bytes, want at most %d", n, limit+limit/4)
	}
}

func TestHundredThousandTurns(t *testing.T) {
	b := newBig(t)
	const turns = 100_000
	for i := range turns {
		b.add("turn.started", `{"prompt":"go `+strconv.Itoa(i)+`","attachments":[{"kind":"image"}]}`)
		if i%3 == 0 {
			b.add("hook.result", `{"i":`+strconv.Itoa(i)+`}`)
		}
		b.add("turn.ended", `{"reason":"completed"}`)
	}
	b.bounded(64 << 10)
	b.want("items/t99979", "", "items/t99980/state", "completed", "hasMoreOlder", "true", "attachments/#", "20")
	if len(b.sink.turns) != turns-20 || b.sink.turns[0].Prompt.V != "go 0" || b.a.Info().Turns != turns {
		t.Errorf("the sink has %d turns, the index says %d", len(b.sink.turns), b.a.Info().Turns)
	}
	if len(b.sink.entities) != turns-20 {
		t.Errorf("the sink has %d attachments", len(b.sink.entities))
	}
	if got := strings.Join(b.sink.order[:5], " "); got != "m2 t0 t1 t2 m9" && got != "t0 m2 t1 t2 m9" {
		t.Errorf("the sink's order begins %s", got)
	}
	b.check()
	// A closed turn: its number is given away, and its events do nothing.
	b.add("turn.started", `{"turnId":5,"prompt":"again"}`).want("items/t100000/prompt", "again", "items/notice/payload/field", "turnId")
	b.add("assistant.delta", `{"turnId":5,"delta":"x"}`).want("items/t100000/steps/t100000.1/frames/0/text", "x")
	b.add("assistant.delta", `{"turnId":6,"delta":"x"}`)
	if len(b.last.Ops) != 0 {
		t.Errorf("a closed turn got %s", opsJSON(b.last.Ops))
	}
	b.check()
	// An undo that reaches closed turns is told by a reset.
	b.add("context.undo", `{"count":50}`)
	if b.last.Ops[len(b.last.Ops)-2].Kind != reducer.OpReset || len(b.sink.turns) != turns-49 || fmt.Sprint(b.sink.gone) != "[99951]" {
		t.Errorf("after the undo: %d turns in the sink, gone %v, %v", len(b.sink.turns), b.sink.gone, b.last.Ops[len(b.last.Ops)-2].Kind)
	}
	b.want("items/#", "1", "items/0/marker", "undo", "hasMoreOlder", "true")
	b.check()
	// Numbers are not used again.
	b.add("turn.started", `{"turnId":99990,"prompt":"p"}`).want("items/t100001/prompt", "p")
	b.add("context.clear", `{}`).want("items/#", "1", "items/0/marker", "clear", "hasMoreOlder", "false")
	if len(b.sink.turns) != 0 {
		t.Errorf("%d turns in the sink after a clear", len(b.sink.turns))
	}
	b.bounded(4096)
	b.check()
}

func TestFiveThousandSteps(t *testing.T) {
	b := newBig(t)
	b.add("turn.started", `{"prompt":"go"}`)
	const steps = 5000
	for i := range steps {
		b.add("turn.step.started", `{}`)
		b.add("assistant.message", `{"text":"step `+strconv.Itoa(i+1)+`"}`)
		b.add("turn.step.completed", `{"usage":{"output":1}}`)
	}
	b.want("items/t0/steps/#", "50", "items/t0/steps/0/stepId", "t0.4951", "items/t0/hasMoreSteps", "true", "hasMoreOlder", "false")
	b.bounded(32 << 10)
	b.add("assistant.delta", `{"step":7,"delta":"late"}`)
	if len(b.last.Ops) != 0 {
		t.Errorf("a closed step got %s", opsJSON(b.last.Ops))
	}
	b.check()
	b.add("turn.step.started", `{"step":7}`).want("items/t0/steps/-1/stepId", "t0.5001", "items/notice/payload/field", "step")
	b.add("turn.ended", `{"reason":"completed"}`).want("items/t0/usage/outputTokens", strconv.Itoa(steps))
	for range 21 {
		b.add("turn.started", `{}`).add("turn.ended", `{"reason":"completed"}`)
	}
	if n := len(b.sink.steps[0]) + len(b.sink.turns[0].Steps); n != steps+1 || b.sink.steps[0][0].Frames[0].Text != "step 1" {
		t.Errorf("the sink has %d steps", n)
	}
	b.check()
}

func TestTenMegabytesOfText(t *testing.T) {
	b := newBig(t)
	b.add("turn.started", `{"prompt":"go"}`)
	chunk := strings.Repeat("0123456789é", 1000)
	total := 0
	for total < 10<<20 {
		b.add("assistant.delta", `{"delta":"`+chunk+`"}`)
		total += len(chunk)
	}
	var sizes []int
	for turn := range b.a.Snapshot(-1).Turns() {
		for _, f := range turn.Steps[0].Frames {
			sizes = append(sizes, len(f.Text))
		}
	}
	for i, n := range sizes[:len(sizes)-1] {
		if n != 1<<20 && n != 1<<20-1 {
			t.Errorf("frame %d has %d bytes", i, n)
		}
	}
	if len(sizes) != 11 {
		t.Errorf("%d frames", len(sizes))
	}
	b.check()
	b.add("turn.step.completed", `{}`).add("turn.ended", `{"reason":"completed"}`).add("turn.started", `{}`)
	b.bounded(keptLimit)
	b.want("items/#", "1", "hasMoreOlder", "true")
	b.check()
}

func TestLooseThings(t *testing.T) {
	b := newBig(t)
	for i := range 10_000 {
		id := strconv.Itoa(i)
		b.add("task.started", `{"info":{"taskId":"k`+id+`","kind":"process","description":"d"}}`)
		b.add("task.terminated", `{"info":{"taskId":"k`+id+`","status":"completed"}}`)
		b.add("prompt.submitted", `{"promptId":"p`+id+`","status":"queued"}`).add("prompt.aborted", `{"promptId":"p`+id+`"}`)
		b.add("interaction.request", `{"id":"i`+id+`","kind":"question"}`).add("interaction.resolved", `{"id":"i`+id+`","response":1}`)
	}
	b.want("tasks/#", "1000", "prompts/#", "1000", "interactions/#", "1000", "items/#", "1000", "tasks/0/taskId", "k9000", "items/0/refId", "ref-k9000")
	b.bounded(1 << 20)
	b.check()
	if len(b.sink.entities) != 27_000 || len(b.sink.items) != 9000 {
		t.Errorf("the sink has %d entities, %d items", len(b.sink.entities), len(b.sink.items))
	}
	// A closed one acts as an unknown id.
	b.add("interaction.resolved", `{"id":"i3","response":2}`)
	if len(b.last.Ops) != 0 {
		t.Errorf("a closed interaction got %s", opsJSON(b.last.Ops))
	}
	// What is open is never closed.
	for i := range 3000 {
		b.add("interaction.request", `{"id":"q`+strconv.Itoa(i)+`","kind":"question"}`)
	}
	b.want("interactions/#", "4000")
	b.check()
	// A big undo is told by a reset.
	b.add("context.clear", `{}`)
	b.want("items/#", "1", "interactions/#", "4000")
	b.check()
}

func TestFourMebibytes(t *testing.T) {
	b := newBig(t)
	text := strings.Repeat("x", 900_000)
	b.add("turn.started", `{}`)
	for i := range 10 {
		b.add("turn.step.started", `{}`)
		b.add("tool.call.started", `{"toolCallId":"c`+strconv.Itoa(i)+`","name":"X","args":{}}`)
		if i != 2 {
			b.add("tool.result", `{"toolCallId":"c`+strconv.Itoa(i)+`","output":"`+text+`"}`)
		}
		b.bounded(keptLimit + 2000 + len(text))
	}
	// Step 3 has a running tool: it stays, and its late result lands.
	b.want("items/t0/steps/0/stepId", "t0.3", "items/t0/hasMoreSteps", "true")
	b.add("tool.result", `{"toolCallId":"c2","output":"late"}`).want("items/t0/steps/t0.3/frames/0/output", "late")
	b.check()
	for range 8 {
		b.add("hook.result", `{"big":"`+text+`"}`)
	}
	b.bounded(keptLimit + 2000)
	b.check()
	// A turn with a running tool holds; its result lets it go.
	b.add("turn.started", `{"turnId":50}`).add("tool.call.started", `{"toolCallId":"held","name":"X","args":{},"taskId":"kk"}`)
	b.add("turn.ended", `{"reason":"completed"}`)
	for range 30 {
		b.add("turn.started", `{}`).add("turn.ended", `{"reason":"completed"}`)
	}
	b.want("items/t50/steps/0/frames/0/state", "running", "items/t51", "", "items/t61/state", "completed")
	b.check()
	b.add("tool.result", `{"toolCallId":"held","output":"x"}`)
	b.want("items/t50", "")
	b.check()
}

// The newest 20 turns are counted over all turns, also those that closed
// because of their size.
func TestNewestTwentyOfAll(t *testing.T) {
	b := newBig(t)
	b.add("turn.started", `{}`).add("tool.call.started", `{"toolCallId":"c","name":"X","args":{},"taskId":"k"}`).add("turn.ended", `{"reason":"completed"}`)
	for i := range 22 {
		prompt := "small"
		if i < 12 {
			prompt = strings.Repeat("x", 700_000)
		}
		b.add("turn.started", `{"prompt":"`+prompt+`"}`).add("turn.ended", `{"reason":"completed"}`)
	}
	b.want("items/0/turnId", "t0", "items/1/turnId", "t8", "items/#", "16")
	b.add("tool.result", `{"toolCallId":"c","output":1}`)
	b.want("items/0/turnId", "t8", "items/#", "15")
	b.check()
}
