package term

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

// story is a session that shows one of everything.
var story = []string{
	`turn.started {"turnId":0,"prompt":"do it\nnow","attachments":[{"kind":"image"}]}`,
	`turn.step.started {"turnId":0,"step":1}`,
	`thinking.delta {"delta":"let me "}`, `thinking.delta {"delta":"see"}`,
	`assistant.delta {"delta":"I will "}`, `assistant.delta {"delta":"look.\nAnd "}`, `assistant.delta {"delta":"🎉 then"}`,
	`tool.call.started {"toolCallId":"c1","name":"Bash","args":{"command":"ls\u001b[2J"}}`,
	`tool.progress {"toolCallId":"c1","update":{"kind":"stdout","text":"50%"}}`,
	`tool.result {"toolCallId":"c1","output":"a\nb\u001b[31mred\u001b[0m\n\u001b[2Jc\n4\n5\n6\n7"}`,
	`tool.call.started {"toolCallId":"c2","name":"Read","args":{}}`,
	`tool.result {"toolCallId":"c2","output":"no such file","isError":true}`,
	`tool.call.started {"toolCallId":"c3","name":"TodoWrite","args":{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"},{"content":"three","status":"pending"}]}}`,
	`tool.result {"toolCallId":"c3","output":"ok"}`,
	`turn.step.completed {"usage":{"inputOther":10,"output":5}}`,
	`turn.step.started {}`,
	`turn.step.retrying {"failedAttempt":1,"nextAttempt":2,"maxAttempts":10,"errorName":"overloaded","errorMessage":"busy"}`,
	`assistant.message {"text":"done"}`,
	`subagent.spawned {"subagentId":"helper","description":"Dig","runInBackground":true}`,
	`interaction.request {"id":"i1","kind":"approval","request":{"what":"rm"}}`,
	`interaction.resolved {"id":"i1","response":{"decision":"approved"}}`,
	`compaction.completed {"trigger":"auto"}`,
	`subagent.completed {"subagentId":"helper","resultSummary":"found"}`,
	`turn.ended {"reason":"completed","durationMs":1500}`,
	`turn.started {"turnId":1,"prompt":"more"}`,
	`assistant.delta {"delta":"half"}`,
	`turn.ended {"reason":"failed","error":{"message":"limit"}}`,
}

func foldStory(t testing.TB, lines []string) (*fold.Agent, [][]reducer.Op) {
	t.Helper()
	a := fold.New("s", "main")
	var batches [][]reducer.Op
	for i, l := range lines {
		kind, payload, _ := strings.Cut(l, " ")
		e := events.Event{Type: kind, Payload: []byte(payload), Session: "s", Agent: "main", ID: fmt.Sprint(i), Timestamp: "2026-01-01T00:00:00Z", SchemaVersion: 1}
		b := a.Step(fold.Record{Seq: uint64(i + 1), Data: events.AppendEvent(nil, &e)})
		batches = append(batches, b.Ops)
	}
	return a, batches
}

const screen = `▶ t0 user
> do it
> now
> attachment t0.att1
~ let me see
  I will look.
  And 🎉 then
● Bash {"command":"ls\u001b[2J"}
  ⎿ a
    bred
    ␛[2Jc
    … 4 more lines
● Read {}
  ✗ no such file
● TodoWrite {"todos":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"},{"content":"three","status":"pending"}]}
  ⎿ ok
  ☑ one
  ◐ two
  ☐ three
↻ step t0.2 retry 2 of 10: overloaded busy
  done
▣ subagent running: Dig
? approval pending {"what":"rm"}
? approval approved {"what":"rm"}
◆ compaction {"phase":"completed","trigger":"auto"}
▣ subagent completed: Dig → found
■ t0 completed after 1.5 s, tokens 10 in, 0 cached, 5 out
▶ t1 user
> more
  half
✗ step t1.1 interrupted
■ t1 failed: limit
`

func TestPrinter(t *testing.T) {
	_, batches := foldStory(t, story)
	var out strings.Builder
	p := NewPrinter(&out, Options{Lines: 3})
	for _, ops := range batches {
		p.Ops("main", ops)
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	if out.String() != screen {
		t.Errorf("got\n%s\nwant\n%s", out.String(), screen)
	}
}

// Whole texts give the same screen as streamed ones.
func TestPrinterGrades(t *testing.T) {
	_, batches := foldStory(t, story)
	var block, turn strings.Builder
	p, q := NewPrinter(&block, Options{Lines: 3}), NewPrinter(&turn, Options{})
	for _, ops := range batches {
		p.Ops("main", grade.Filter(ops, grade.Block))
		q.Ops("main", grade.Filter(ops, grade.Turn))
	}
	if err := errors.Join(p.End(), q.End()); err != nil {
		t.Fatal(err)
	}
	if block.String() != screen {
		t.Errorf("got\n%s\nwant\n%s", block.String(), screen)
	}
	for _, lacks := range []string{"let me see", "● Bash", "↻"} {
		if strings.Contains(turn.String(), lacks) {
			t.Errorf("grade turn shows %q", lacks)
		}
	}
	if !strings.Contains(turn.String(), "■ t1 failed: limit") {
		t.Errorf("grade turn shows\n%s", turn.String())
	}
}

// TestPrinterOnce: wherever a watch is cut, and whether it goes on by batches or
// by a whole, each line is written once.
func TestPrinterOnce(t *testing.T) {
	_, batches := foldStory(t, story)
	rapid.Check(t, func(t *rapid.T) {
		var out strings.Builder
		p := NewPrinter(&out, Options{Lines: 3})
		at := 0
		for at < len(batches) {
			to := rapid.IntRange(at+1, len(batches)).Draw(t, "to")
			if rapid.Bool().Draw(t, "whole") {
				a, _ := foldStoryTo(to)
				p.Snapshot("main", a.Snapshot(-1))
			} else {
				for _, ops := range batches[at:to] {
					p.Ops("main", ops)
				}
			}
			at = to
		}
		_ = p.End()
		for _, once := range []string{
			"▶ t0 user\n", "> do it\n", "attachment", "let me see\n", "I will look.\n", "🎉 then\n", "● Bash", "bred", "● Read", "no such file", "● TodoWrite",
			"done\n", "▶ t1", "> more", "half", "■ t0 completed", "■ t1 failed",
		} {
			if n := strings.Count(out.String(), once); n != 1 {
				t.Fatalf("%q is there %d times:\n%s", once, n, out.String())
			}
		}
	})
}

func foldStoryTo(n int) (*fold.Agent, [][]reducer.Op) {
	var none testing.B
	return foldStory(&none, story[:n])
}

// A retry takes back what the failed attempt wrote; the next attempt is shown.
func TestPrinterRetry(t *testing.T) {
	_, batches := foldStory(t, []string{
		`turn.started {"prompt":"x"}`, `assistant.delta {"delta":"first try"}`,
		`turn.step.retrying {"failedAttempt":1,"nextAttempt":2,"maxAttempts":3,"errorName":"e"}`, `assistant.delta {"delta":"second try"}`,
	})
	var out strings.Builder
	p := NewPrinter(&out, Options{})
	for _, ops := range batches {
		p.Ops("main", ops)
	}
	_ = p.End()
	want := "▶ t0 user\n> x\n  first try\n  (taken back)\n↻ step t0.1 retry 2 of 3: e\n  second try\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Agents that write at the same time keep their lines apart.
func TestPrinterAgents(t *testing.T) {
	_, batches := foldStory(t, []string{`turn.started {"prompt":"x"}`, `assistant.delta {"delta":"one "}`, `assistant.delta {"delta":"two"}`})
	var out strings.Builder
	p := NewPrinter(&out, Options{Agents: true})
	for _, ops := range batches {
		p.Ops("a", ops)
		p.Ops("b", ops)
	}
	_ = p.End()
	want := "[a] ▶ t0 user\n[a] > x\n[b] ▶ t0 user\n[b] > x\n[a]   one \n[b]   one \n[a]   two\n[b]   two\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestPrinterForgetsOldTurns(t *testing.T) {
	var out strings.Builder
	p := NewPrinter(&out, Options{})
	turn := func(n int) []reducer.Op {
		return []reducer.Op{{Kind: reducer.OpTurnUpsert, Turn: &reducer.Turn{
			TurnID: fmt.Sprintf("t%d", n), Ordinal: n, State: reducer.TurnRunning, Origin: reducer.Origin{Kind: reducer.OriginUser},
		}}}
	}
	for n := range 1000 {
		p.Ops("a", turn(n))
	}
	if n := len(p.agents["a"].turns); n > keepTurns {
		t.Errorf("%d turns are remembered", n)
	}
	p.Ops("a", turn(3)) // long ago: not written as if it were new
	_ = p.End()
	if n := strings.Count(out.String(), "▶ t3 "); n != 1 {
		t.Errorf("turn 3 was written %d times", n)
	}
}
