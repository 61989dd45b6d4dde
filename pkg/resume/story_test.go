package resume_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/internal/pubmodel"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// A story is what a runtime does; it can be told in either family of events.
type story []run

type run struct {
	turns   []turn
	crashes bool // in the last step of its last turn, behind its calls
}

type turn struct {
	prompt string
	steps  []step
	reason string
}

type step struct {
	thoughts, text string
	calls          []toolCall
}

type toolCall struct {
	id, name string
	args     string // JSON
	status   string // requested, started, completed, failed
}

func genStory() *rapid.Generator[story] {
	return rapid.Custom(func(t *rapid.T) story {
		word := rapid.StringMatching(`[a-z "\\é😀\n]{0,12}`)
		ids := 0
		genCall := func(open bool) toolCall {
			ids++
			id := fmt.Sprintf("c%d", ids)
			if rapid.Bool().Draw(t, "repeated id") {
				id = "again" // ids repeat across runs; here within one turn at most once
			}
			status := []string{"completed", "failed"}
			if open {
				status = append(status, "requested", "started")
			}
			return toolCall{
				id: id, name: rapid.SampledFrom([]string{"Read", "Edit", "Bash"}).Draw(t, "name"),
				args:   rapid.SampledFrom([]string{`{}`, `{"n":12345678901234567890,"s":"a b"}`}).Draw(t, "args"),
				status: rapid.SampledFrom(status).Draw(t, "status"),
			}
		}
		genStep := func(open, last bool) step {
			s := step{thoughts: word.Draw(t, "thoughts"), text: word.Draw(t, "text")}
			seen := map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				if c := genCall(open); !seen[c.id] {
					seen[c.id] = true
					s.calls = append(s.calls, c)
				}
			}
			if (open || !last) && len(s.calls) == 0 {
				c := genCall(open)
				s.calls = append(s.calls, c)
			}
			if s.thoughts+s.text == "" && len(s.calls) == 0 {
				s.text = "x"
			}
			return s
		}
		var out story
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			r := run{crashes: rapid.Bool().Draw(t, "crashes")}
			turns := rapid.IntRange(1, 3).Draw(t, "turns")
			for i := range turns {
				u := turn{prompt: "ask " + word.Draw(t, "prompt"), reason: rapid.SampledFrom([]string{"completed", "failed", "cancelled"}).Draw(t, "reason")}
				steps := rapid.IntRange(1, 3).Draw(t, "steps")
				for j := range steps {
					last := j == steps-1
					u.steps = append(u.steps, genStep(last && i == turns-1 && r.crashes, last))
				}
				r.turns = append(r.turns, u)
			}
			out = append(out, r)
		}
		return unique(out)
	})
}

// unique keeps call ids unique within a run.
func unique(s story) story {
	for _, r := range s {
		seen := map[string]bool{}
		for _, u := range r.turns {
			for _, st := range u.steps {
				for i := range st.calls {
					if seen[st.calls[i].id] {
						st.calls[i].id += fmt.Sprint("-", len(seen))
					}
					seen[st.calls[i].id] = true
				}
			}
		}
	}
	return s
}

func (s story) live(t facttest.TB) *facttest.Log {
	l := facttest.New(t)
	for i, r := range s {
		l.Run(fmt.Sprint("run-", i))
		for j, u := range r.turns {
			l.Emit(events.TurnStarted{Prompt: &u.prompt})
			for k, st := range u.steps {
				l.Emit(events.StepStarted{})
				halves(l, st)
				for _, c := range st.calls {
					l.Emit(events.ToolCallDelta{ToolCallID: c.id, Name: c.name, ArgumentsPart: c.args})
				}
				liveCalls(l, st)
				if r.crashes && j == len(r.turns)-1 && k == len(u.steps)-1 {
					continue
				}
				l.Emit(events.StepCompleted{})
			}
			if !r.crashes || j < len(r.turns)-1 {
				l.Emit(events.TurnEnded{Reason: u.reason})
			}
		}
	}
	return l
}

// halves streams thoughts and text in two deltas each.
func halves(l *facttest.Log, st step) {
	for _, s := range []string{st.thoughts[:len(st.thoughts)/2], st.thoughts[len(st.thoughts)/2:]} {
		l.Emit(events.ThinkingDelta{Delta: strings.ToValidUTF8(s, "?")})
	}
	for _, s := range []string{st.text[:len(st.text)/2], st.text[len(st.text)/2:]} {
		l.Emit(events.AssistantDelta{Delta: strings.ToValidUTF8(s, "?")})
	}
}

func joined(s string) string {
	return strings.ToValidUTF8(s[:len(s)/2], "?") + strings.ToValidUTF8(s[len(s)/2:], "?")
}

func liveCalls(l *facttest.Log, st step) {
	for _, c := range st.calls {
		if c.status != "requested" {
			l.Emit(events.ToolCallStarted{ToolCallID: c.id, Name: c.name, Args: json.RawMessage(c.args)})
		}
	}
	for _, c := range st.calls {
		switch c.status {
		case "completed":
			l.Emit(events.ToolResult{ToolCallID: c.id, Output: "ok of " + c.id})
		case "failed":
			l.Emit(events.ToolResult{ToolCallID: c.id, Output: "it broke", IsError: true})
		}
	}
}

func (s story) facts(t facttest.TB) *facttest.Log {
	l := facttest.New(t)
	for i, r := range s {
		l.Run(fmt.Sprint("run-", i))
		for j, u := range r.turns {
			l.Message("user", u.prompt, "")
			crashed := r.crashes && j == len(r.turns)-1
			for k, st := range u.steps {
				factStep(l, st, !crashed && k == len(u.steps)-1 && u.reason == "completed")
			}
			if !crashed {
				l.Emit(events.Terminal{Reason: u.reason})
			}
		}
	}
	return l
}

func factStep(l *facttest.Log, st step, final bool) {
	meta := events.MessageMetadata{Reasoning: joined(st.thoughts)}
	for _, c := range st.calls {
		meta.ToolCalls = append(meta.ToolCalls, events.MessageCall{ID: c.id, Name: c.name, Arguments: c.args})
		meta.ActionType = "tool_call"
	}
	if len(st.calls) == 0 && final {
		meta.ActionType = "final"
	}
	text := joined(st.text)
	if text == "" && meta.Reasoning == "" && len(st.calls) == 0 {
		return
	}
	l.Emit(events.Message{Role: "assistant", Content: text, Metadata: &meta})
	for _, c := range st.calls {
		l.Emit(events.ToolLifecycle{ToolName: c.name, ToolCallID: c.id, Status: "requested", Args: c.args})
	}
	for _, c := range st.calls {
		if c.status != "requested" {
			l.Emit(events.ToolLifecycle{ToolName: c.name, ToolCallID: c.id, Status: "started", Args: c.args})
		}
	}
	for _, c := range st.calls {
		output := "ok of " + c.id
		end := events.ToolLifecycle{ToolName: c.name, ToolCallID: c.id, Status: c.status, Result: output}
		switch c.status {
		case "failed":
			output = "it broke"
			end.Result, end.Error = output, events.ErrorInfo{Message: output}
		case "completed":
		default:
			continue
		}
		l.Emit(end)
		l.Raw("message", fmt.Sprintf(`{"role":"tool","content":%q,"metadata":{"tool_call_id":%q,"tool_name":%q,"is_error":%v}}`,
			output, c.id, c.name, c.status == "failed"))
	}
}

// told is what both families must agree on: all but sequence numbers.
func told(t rapid.TB, a *fold.Agent) string {
	s := a.Resume(resume.ReadOptions{})
	var sb strings.Builder
	for _, list := range [][]resume.Message{s.History, s.Model, s.LoopState.Messages} {
		for _, m := range list {
			fmt.Fprintf(&sb, "%s %s %s %s %v\n", m.RunID, m.Role, m.Content, canonical(t, m.Metadata), m.Recovered)
		}
	}
	for _, c := range s.ToolCalls {
		fmt.Fprintf(&sb, "%s %s %s %d %s %s %s %v %v\n", c.RunID, c.ToolCallID, c.ToolName, c.Step, c.Class, canonical(t, c.Args), c.Result, c.Error, c.ReplayAllowed)
	}
	fmt.Fprintf(&sb, "%s %v %s %s %d %d %d %+v", s.RunID, s.Open, s.Checkpoint, s.Terminal, s.LoopState.TurnCount, s.LoopState.Step, s.NextTurnID, s.ToolCounts)
	return sb.String()
}

func canonical(t rapid.TB, raw []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(out)
}

// TestFamiliesAgree: the live family and the five facts of the same story give
// the same resume state, and the same memory.
func TestFamiliesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genStory().Draw(t, "story")
		live, facts := s.live(t).Fold(), s.facts(t).Fold()
		if got, want := told(t, live), told(t, facts); got != want {
			t.Fatalf("live:\n%s\nfacts:\n%s", got, want)
		}
		a, b := live.Memory(), facts.Memory()
		for _, pair := range [][2][]memory.Item{{a.CompletedWork, b.CompletedWork}, {a.Failed, b.Failed}, {a.Todos, b.Todos}, {a.Verification, b.Verification}} {
			if got, want := texts(pair[0]), texts(pair[1]); got != want {
				t.Fatalf("memory, live:\n%s\nfacts:\n%s", got, want)
			}
		}
	})
}

// TestEveryPrefixAndSplit: continuing from an encoded state, at any place,
// gives what folding from the start gives, byte for byte.
func TestEveryPrefixAndSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genStory().Draw(t, "story")
		l := s.live(t)
		if rapid.Bool().Draw(t, "facts") {
			l = s.facts(t)
		}
		checkSplits(t, l.Data)
	})
}

func checkSplits(t rapid.TB, data [][]byte) {
	whole := fold.New(facttest.Session, facttest.Agent)
	part := fold.New(facttest.Session, facttest.Agent)
	for i := range data {
		facttest.Continue(whole, data[i:i+1])
		facttest.Continue(part, data[i:i+1])
		want := whole.Encode()
		var err error
		if part, err = fold.Decode(facttest.Session, facttest.Agent, part.Encode()); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		got := part.Encode()
		if !bytes.Equal(got.Resume, want.Resume) || !bytes.Equal(got.Memory, want.Memory) {
			t.Fatalf("behind event %d the states differ", i)
		}
	}
	a, b := whole.Resume(resume.ReadOptions{}).AppendJSON(nil), part.Resume(resume.ReadOptions{}).AppendJSON(nil)
	if !bytes.Equal(a, b) || !reflect.DeepEqual(whole.Memory(), part.Memory()) {
		t.Fatalf("continued:\n%s\nfrom the start:\n%s", b, a)
	}
	checkJSON(t, a)
	if n := whole.Resume(resume.ReadOptions{}).LeftOut; n > 0 {
		t.Fatalf("%d events made the fold panic", n)
	}
}

// checkJSON: what is served decodes and encodes to itself.
func checkJSON(t rapid.TB, data []byte) {
	var s resume.State
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if again := s.AppendJSON(nil); !bytes.Equal(again, data) {
		t.Fatalf("state\n%s\ncomes back as\n%s", data, again)
	}
}

// TestModelValid: behind each assistant message stand exactly one tool message
// for each of its calls, and tool messages stand nowhere else.
func TestModelValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genStory().Draw(t, "story")
		l := s.live(t)
		if rapid.Bool().Draw(t, "facts") {
			l = s.facts(t)
		}
		l.Data = l.Data[:rapid.IntRange(0, len(l.Data)).Draw(t, "prefix")]
		st := l.Fold().Resume(resume.ReadOptions{})
		checkValid(t, st.History)
		checkValid(t, st.Model)
	})
}

func checkValid(t rapid.TB, list []resume.Message) {
	open := map[string]bool{}
	for i, m := range list {
		var meta struct {
			ID    string `json:"tool_call_id"`
			Calls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(m.Metadata, &meta); err != nil {
			t.Fatalf("metadata %s: %v", m.Metadata, err)
		}
		if m.Role == "tool" {
			if !open[meta.ID] {
				t.Fatalf("message %d answers %q, which is not asked: %s", i, meta.ID, shape(list))
			}
			delete(open, meta.ID)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("at message %d calls are not answered: %v: %s", i, open, shape(list))
		}
		for _, c := range meta.Calls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		t.Fatalf("at the end calls are not answered: %v: %s", open, shape(list))
	}
}

// TestDirtyLog: what conforming publishers and a lossy stream make of a story
// gives the resume state and memory of the clean log.
func TestDirtyLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genStory().Draw(t, "story")
		l := s.live(t)
		if rapid.Bool().Draw(t, "facts") {
			l = s.facts(t)
		}
		var story pubmodel.Story
		last := ""
		for _, data := range l.Data {
			var ev events.Event
			if err := events.Decode(bytes.Clone(data), &ev); err != nil {
				t.Fatal(err)
			}
			if ev.RunID != last || len(story.Runs) == 0 {
				story.Runs = append(story.Runs, nil)
			}
			last = ev.RunID
			story.Runs[len(story.Runs)-1] = append(story.Runs[len(story.Runs)-1], ev)
		}
		p := pubmodel.Play(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }, story)
		dirty, clean := foldMessages(p.Dirty), foldMessages(p.Clean)
		a, b := dirty.Resume(resume.ReadOptions{}), clean.Resume(resume.ReadOptions{})
		a.LastSeq = b.LastSeq
		if got, want := a.AppendJSON(nil), b.AppendJSON(nil); !bytes.Equal(got, want) {
			t.Fatalf("dirty:\n%s\nclean:\n%s", got, want)
		}
		if got, want := dirty.Memory(), clean.Memory(); !reflect.DeepEqual(got, want) {
			t.Fatalf("dirty:\n%+v\nclean:\n%+v", got, want)
		}
	})
}

func foldMessages(list []pubmodel.Message) *fold.Agent {
	a := fold.New(facttest.Session, facttest.Agent)
	for _, m := range list {
		a.Step(fold.Record{Seq: m.Seq, StreamSeq: m.Seq, Data: bytes.Clone(m.Data)})
	}
	return a
}

// TestJoinedDeltas: how a publisher cuts its text does not matter.
func TestJoinedDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genStory().Draw(t, "story")
		cut := s.live(t)
		joined := facttest.New(t)
		var text string
		flush := func() {
			if text != "" {
				joined.Emit(events.AssistantDelta{Delta: text})
			}
			text = ""
		}
		for _, data := range cut.Data {
			var ev events.Event
			if err := events.Decode(bytes.Clone(data), &ev); err != nil {
				t.Fatal(err)
			}
			if ev.Type == events.TypeAssistantDelta {
				raw, _ := scan.Get(ev.Payload, "delta")
				part, _ := scan.Unquote(raw)
				text += part
				continue
			}
			flush()
			joined.Run(ev.RunID).Raw(ev.Type, string(ev.Payload))
		}
		flush()
		if got, want := told(t, joined.Fold()), told(t, cut.Fold()); got != want {
			t.Fatalf("joined:\n%s\ncut:\n%s", got, want)
		}
	})
}

// TestBoundedIsWhole: as long as nothing is beyond the bounds, a fold that
// keeps everything says the same.
func TestBoundedIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genStory().Draw(t, "story").live(t)
		if got, want := told(t, l.Fold()), told(t, l.Fold(fold.WholeHistory())); got != want {
			t.Fatalf("bounded:\n%s\nwhole:\n%s", got, want)
		}
	})
}
