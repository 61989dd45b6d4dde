package resume_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// The conformance list of the five facts, resume and session memory: each line
// is a case here, by its id, or is said not to be this package's, and whose it
// is. M lines are in pkg/memory.

var conformanceIDs = strings.Fields(`
	T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16 T17 T18 T19 T20 T21 T22 T23 T24 T25
	M1 M2 M3 M4 M5 M6 M7 M8 M9
	E1 E2 E3 E4 E5 E6
	X1 X2 X3 X4 X5 X6 X7 X8 X9
	5.corruption-in-the-middle 5.bad-line-with-newline 5.tail-cut-inside-utf8 5.two-writers 5.concurrent-memory-updates
	5.power-loss-between-started-and-effect 5.million-events 5.writing-after-resume 5.resume-latest-with-subagents
	5.batches-of-different-sizes 5.unknown-schema-version 5.unknown-event-type 5.missing-field 5.delivered-twice 5.disk-full`)

var elsewhere = map[string]string{
	"T2":  "session ids are made by the runtime (pkg/agent)",
	"T4":  "torn tails are repaired by the recorder (internal/archive/wirelog)",
	"T5":  "torn tails are repaired by the recorder (internal/archive/wirelog)",
	"T6":  "ids of a foreign file are read by its importer (internal/importer/mycodeagent)",
	"T17": "sessions are listed and found by gateway and CLI",
	"T19": "cancelling is the runtime's; the core sees the terminal it publishes (T18)",
	"T20": "cancelling is the runtime's; the core sees the terminal it publishes (T18)",
	"T21": "cancelling is the runtime's; the core sees the terminal it publishes (T18)",
	"T24": "there is no trace beside the log",
	"M1":  "pkg/memory", "M2": "pkg/memory", "M3": "pkg/memory", "M5": "pkg/memory",
	"M6": "pkg/memory", "M7": "pkg/memory", "M8": "pkg/memory", "M9": "pkg/memory",
	"M4": "memory has no refiner that could fail: it is a pure fold",
	"E1": "sinks are composed in pkg/agent",
	"E2": "sinks are composed in pkg/agent",
	"E3": "sinks are composed in pkg/agent",
	"E6": "run counters are the runtime's",
	"X1": "legacy snapshots are not imported; the importers read logs",
	"X2": "loading into a host is the runtime's",
	"X3": "legacy snapshots are not imported; the importers read logs",
	"X7": "command line (cmd/steno)",
	"X8": "command line (cmd/steno)",
	"X9": "there is no trace beside the log",

	"5.corruption-in-the-middle":  "files are repaired by the recorder (internal/archive/wirelog)",
	"5.bad-line-with-newline":     "files are repaired by the recorder (internal/archive/wirelog)",
	"5.tail-cut-inside-utf8":      "files are repaired by the recorder (internal/archive/wirelog)",
	"5.concurrent-memory-updates": "a fold has one owner; projectors are fenced (internal/slots)",
	"5.resume-latest-with-subagents": "sessions are chosen by the command line and pkg/agent; parent and child know each other " +
		"by children here and the roster",
	"5.disk-full": "the runtime's spool and the recorder (pkg/agent, internal/recorder)",
}

var conformance = map[string]func(*testing.T){
	"T1": t1, "T3": t3, "T7": t7, "T8": t8, "T9": t9, "T10": t10, "T11": t11, "T12": t12, "T13": t13, "T14": t14,
	"T15": t15, "T16": t16, "T18": t18, "T22": t22, "T23": t23, "T25": t25,
	"E4": e4, "E5": e5, "X4": x4, "X5": x5, "X6": x6,
	"5.two-writers": twoWriters, "5.power-loss-between-started-and-effect": powerLoss, "5.million-events": millionEvents,
	"5.writing-after-resume": writingAfterResume, "5.batches-of-different-sizes": batchSizes,
	"5.unknown-schema-version": unknownSchema, "5.unknown-event-type": unknownType, "5.missing-field": missingField,
	"5.delivered-twice": deliveredTwice,
}

func TestConformance(t *testing.T) {
	for _, id := range conformanceIDs {
		if test := conformance[id]; test != nil {
			t.Run(id, test)
		}
	}
}

// TestConformanceList fails when a line is neither tested nor declared.
func TestConformanceList(t *testing.T) {
	for _, id := range conformanceIDs {
		tested, declared := conformance[id] != nil, elsewhere[id] != ""
		if tested == declared {
			t.Errorf("%s: tested %v, declared to be elsewhere %v; want one of them", id, tested, declared)
		}
	}
	for id := range conformance {
		if !slices.Contains(conformanceIDs, id) {
			t.Errorf("%s is tested, but not in the list", id)
		}
	}
	for id := range elsewhere {
		if !slices.Contains(conformanceIDs, id) {
			t.Errorf("%s is declared, but not in the list", id)
		}
	}
}

func t1(t *testing.T) {
	ev := events.Event{
		Type: events.TypeMessage, Payload: []byte(`{"role":"user","content":"x"}`), ID: "e", Timestamp: "2026-01-01T00:00:00Z",
		Session: "s", RunID: "r", Step: 3, HasStep: true, ReferenceID: "ref", SchemaVersion: 2,
	}
	var dict map[string]json.RawMessage
	if err := json.Unmarshal(events.AppendEvent(nil, &ev), &dict); err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields("event_id timestamp session_id run_id step event_type payload schema_version reference_id")
	for _, k := range keys {
		if dict[k] == nil {
			t.Errorf("%s is missing", k)
		}
	}
	if len(dict) != len(keys) || string(dict["event_type"]) != `"message"` {
		t.Errorf("got %d keys, type %s", len(dict), dict["event_type"])
	}
}

func t3(t *testing.T) {
	l := facttest.New(t).Message("user", "hi", `{"k":1}`).Emit(events.StateTransition{ToState: "running", Reason: "user_input"})
	var prev events.LineHash
	var kept []string
	for i, data := range l.Data {
		line := events.AppendEventLine(nil, data, events.Position{Seq: uint64(i + 1)}, prev)
		prev = events.HashLine(line)
		parsed, err := events.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, string(parsed.Data))
	}
	if !strings.Contains(kept[0], `"metadata":{"k":1}`) || !strings.Contains(kept[1], `"to_state":"running"`) {
		t.Errorf("lines are %q", kept)
	}
}

func t7(t *testing.T) {
	s := state(facttest.New(t).Message("user", "a", "").
		Emit(events.StateTransition{ToState: "x", Reason: "user_input"}).
		Message("assistant", "b", "").Emit(events.Checkpoint{CheckpointID: "c-1"}))
	want(t, "history", shape(s.History), "user:a | assistant:b")
	want(t, "transition", s.LoopState.Transition.Reason, "user_input")
	want(t, "checkpoint", string(s.Checkpoint), `{"checkpoint_id":"c-1"}`)
}

func t8(t *testing.T) {
	l := facttest.New(t).Tool("call-1 Read", "requested", "started", "completed")
	a := l.Fold()
	s := a.Resume(resume.ReadOptions{})
	want(t, "calls", calls(s), "run-1/call-1 Read completed")
	want(t, "result", string(s.ToolCalls[0].Result), `"ok of call-1"`)
	want(t, "work", texts(a.Memory().CompletedWork), "Completed tool Read (call-1).")
}

func t9(t *testing.T) {
	a := facttest.New(t).Tool("call-2 Edit", "requested", "started").Fold()
	s := a.Resume(resume.ReadOptions{})
	want(t, "calls", calls(s), "run-1/call-2 Edit uncertain")
	if s.ToolCalls[0].ReplayAllowed {
		t.Error("an Edit may be replayed")
	}
	m := a.Memory()
	want(t, "work", texts(m.CompletedWork), "")
	want(t, "todos", texts(m.Todos), "Resolve uncertain action for Edit (call-2) before claiming completion.")
}

func t10(t *testing.T) {
	s := state(facttest.New(t).Tool("c Read", "requested"))
	want(t, "calls", calls(s), "run-1/c Read pending")
	if len(s.Uncertain()) != 0 {
		t.Error("a pending call is uncertain")
	}
}

func t11(t *testing.T) {
	l := facttest.New(t).Message("user", "one", "").Run("run-2").Message("user", "two", "")
	want(t, "run-2", shape(state(l, fold.ForRun("run-2")).History), "user:two")
}

func t12(t *testing.T) {
	l := facttest.New(t).Message("user", "a", "").Message("assistant", "b", "").
		Run("run-2").Message("user", "c", "").Message("assistant", "d", "")
	s := state(l)
	want(t, "session", shape(s.History), "user:a | assistant:b | user:c | assistant:d")
	want(t, "run", s.RunID, "run-2")
	one := state(l, fold.ForRun("run-2"))
	want(t, "run-2", one.RunID+" "+shape(one.History), "run-2 user:c | assistant:d")
}

func t13(t *testing.T) {
	s := state(facttest.New(t).Calls("c Edit").Tool("c Edit", "requested", "started").Emit(events.Terminal{Reason: "interrupted"}))
	want(t, "model", shape(s.Model), "assistant: | tool c:INTERRUPTED_UNCERTAIN")
	want(t, "calls", calls(s), "run-1/c Edit uncertain")
	want(t, "content", string(s.Model[1].Content), `"{\"status\":\"error\",\"error\":{\"code\":\"INTERRUPTED_UNCERTAIN\",`+
		`\"message\":\"Tool execution was interrupted; inspect before retrying.\"},\"data\":{\"recovered\":true}}"`)
	if !s.Model[1].Recovered {
		t.Error("the synthetic message is not marked")
	}
}

func t14(t *testing.T) {
	s := state(facttest.New(t).Calls("one Read", "two Edit").
		Tool("one Read", "requested", "started", "completed").Tool("two Edit", "requested", "started"))
	want(t, "model", shape(s.Model), "assistant: | tool one:ok of one | tool two:INTERRUPTED_UNCERTAIN")
	if u := s.Uncertain(); len(u) != 1 || u[0].ToolCallID != "two" {
		t.Errorf("uncertain: %+v", u)
	}
}

func t15(t *testing.T) {
	s := state(facttest.New(t).Calls("one Read", "two Edit").Tool("one Read", "requested", "started", "completed").
		Message("tool", "stored", `{"tool_call_id":"one"}`).Tool("two Edit", "requested", "started"))
	want(t, "model", shape(s.Model), "assistant: | tool one:stored | tool two:INTERRUPTED_UNCERTAIN")
	if u := s.Uncertain(); len(u) != 1 || u[0].ToolCallID != "two" {
		t.Errorf("uncertain: %+v", u)
	}
}

func t16(t *testing.T) {
	s := state(facttest.New(t).Calls("c Read").Tool("c Read", "requested", "started", "completed").
		Message("tool", "stored", `{"tool_call_id":"c"}`).
		Run("run-2").Calls("c Edit").Tool("c Edit", "requested", "started"))
	want(t, "model", shape(s.Model), "assistant: | tool c:stored | assistant: | tool c:INTERRUPTED_UNCERTAIN")
	want(t, "calls", calls(s), "run-1/c Read completed, run-2/c Edit uncertain")
}

func t18(t *testing.T) {
	l := facttest.New(t).Run("run-2").Tool("c Edit", "requested", "started").
		Emit(events.Terminal{Reason: "interrupted", Details: map[string]bool{"cancelled": true}})
	s := state(l)
	want(t, "calls", calls(s), "run-2/c Edit uncertain")
	want(t, "terminal", string(s.Terminal), `{"reason":"interrupted","details":{"cancelled":true}}`)
	if s.LastSeq != 3 || s.Open {
		t.Errorf("last seq %d, open %v", s.LastSeq, s.Open)
	}
}

func t22(t *testing.T) {
	l := facttest.New(t).Message("user", "a", "").Emit(events.Terminal{Reason: "completed"}).
		Run("run-2").Message("user", "b", "")
	want(t, "run-1", shape(state(l, fold.ForRun("run-1")).History), "user:a")
	s := state(l)
	want(t, "all", shape(s.History), "user:a | user:b")
	if !s.Open {
		t.Error("the terminal of an earlier run ends a later one")
	}
}

func t23(t *testing.T) {
	s := state(facttest.New(t).Message("user", "a", "").Emit(events.Terminal{Reason: "completed"}))
	want(t, "terminal", string(s.Terminal), `{"reason":"completed"}`)
	if s.Open {
		t.Error("the run has ended, but is open")
	}
}

func t25(t *testing.T) {
	a := facttest.New(t).Message("user", "a", "").Tool("c Write", "requested", "started").Fold()
	if u := a.Resume(resume.ReadOptions{}).Uncertain(); len(u) != 1 || u[0].ReplayAllowed {
		t.Errorf("an unknown tool may be replayed: %+v", u)
	}
	if seed := a.Resume(resume.ReadOptions{Policy: resume.SeedCompatible}); !seed.ToolCalls[0].ReplayAllowed {
		t.Error("the deny list refuses Write")
	}
	if !reflect.DeepEqual(a.Memory(), a.Memory()) {
		t.Error("memory differs when read twice")
	}
}

func e4(t *testing.T) {
	s := state(facttest.New(t).Step(4).Message("assistant", "hello", `{"action_type":"final"}`))
	m := s.History[0]
	want(t, "message", fmt.Sprint(m.Role, m.RunID, string(m.Content), string(m.Metadata), s.LoopState.Step),
		`assistantrun-1"hello"{"action_type":"final"}4`)
}

// e5: a message without content is not refused when it is stored already; it
// has none.
func e5(t *testing.T) {
	s := state(facttest.New(t).Raw("message", `{"role":"user"}`).Message("user", "b", ""))
	if len(s.History) != 2 || string(s.History[0].Content) != "null" {
		t.Errorf("history %+v", s.History)
	}
}

func x4(t *testing.T) {
	a := facttest.New(t).Message("user", strings.Repeat("long goal ", 100), "").Tool("c Read", "requested", "started", "completed").Fold()
	text := memory.Render(a.Memory(), 80)
	if n := len([]rune(text)); n > 80 || !strings.HasSuffix(text, "[truncated]") {
		t.Errorf("%d code points: %q", n, text)
	}
	if full := memory.Render(a.Memory(), 10_000); !strings.Contains(full, "Source: transcript events e1..e4") {
		t.Errorf("the source is not named: %q", full)
	}
}

func x5(t *testing.T) {
	l := facttest.New(t).Message("user", "go", "").Calls("c Read").Tool("c Read", "requested", "started", "completed").
		Message("tool", "seen", `{"tool_call_id":"c"}`).Message("assistant", "done", `{"action_type":"final"}`).
		Emit(events.Terminal{Reason: "completed"})
	s := state(l)
	want(t, "history", shape(s.History), "user:go | assistant: | tool c:seen | assistant:done")
	want(t, "terminal", string(s.Terminal), `{"reason":"completed"}`)
	if len(s.Model) != 4 || s.LoopState.TurnCount != 1 {
		t.Errorf("model has %d messages, %d turns", len(s.Model), s.LoopState.TurnCount)
	}
}

func x6(t *testing.T) {
	l := facttest.New(t).Message("user", "go", "").Calls("c Edit").Tool("c Edit", "requested", "started", "completed")
	a := l.Fold()
	c := a.Resume(resume.ReadOptions{}).ToolCalls[0]
	if c.Class != resume.ClassCompleted || string(c.Result) != `"ok of c"` {
		t.Errorf("a completed Edit is %+v", c)
	}
	l.Run("run-2").Message("user", "again", "")
	if again := state(l).ToolCalls[0]; !reflect.DeepEqual(again, c) {
		t.Errorf("after a resume it is %+v", again)
	}
}

// twoWriters: two processes share a run; what the log has first counts.
func twoWriters(t *testing.T) {
	one, two := facttest.New(t).Message("user", "a", ""), facttest.New(t).Message("user", "b", "")
	number := func(data []byte, id string) []byte {
		var ev events.Event
		if err := events.Decode(bytes.Clone(data), &ev); err != nil {
			t.Fatal(err)
		}
		ev.N, ev.ID = 1, id
		return events.AppendEvent(nil, &ev)
	}
	a := fold.New(facttest.Session, facttest.Agent)
	facttest.Continue(a, [][]byte{number(one.Data[0], "x"), number(two.Data[0], "y")})
	want(t, "history", shape(a.Resume(resume.ReadOptions{}).History), "user:a")
}

func powerLoss(t *testing.T) {
	s := state(facttest.New(t).Emit(
		events.TurnStarted{Prompt: new("go")},
		events.ToolCallStarted{ToolCallID: "c", Name: "Bash", Args: json.RawMessage(`{"command":"rm"}`)},
	))
	want(t, "calls", calls(s), "run-1/c Bash uncertain")
	want(t, "history", shape(s.History), "user:go | assistant: | tool c:INTERRUPTED_UNCERTAIN")
}

// millionEvents stands for a session of a million events: what is kept does
// not grow, and nothing that is open is lost.
func millionEvents(t *testing.T) {
	l := facttest.New(t).Tool("early Edit", "requested", "started")
	for i := range 5_000 {
		id := fmt.Sprintf("c%d Read", i)
		l.Message("user", strings.Repeat("x", 300), "").Calls(id).Tool(id, "requested", "started", "completed")
	}
	a := l.Fold()
	s := a.Resume(resume.ReadOptions{})
	if n := len(s.AppendJSON(nil)); n > 4*resume.MaxHistory {
		t.Errorf("the state has %d bytes", n)
	}
	if n := len(a.Encode().Resume); n > 3*resume.MaxHistory {
		t.Errorf("the fold has %d bytes", n)
	}
	if u := s.Uncertain(); len(u) != 1 || u[0].ToolCallID != "early" {
		t.Errorf("uncertain: %+v", u)
	}
	if s.ToolCounts.Completed != 5_000 || s.LoopState.TurnCount != 5_000 || s.HistoryDropped == 0 {
		t.Errorf("counts %+v, turns %d, dropped %d", s.ToolCounts, s.LoopState.TurnCount, s.HistoryDropped)
	}
	whole := l.Fold(fold.WholeHistory()).Resume(resume.ReadOptions{All: true})
	if len(whole.History) != 15_000 || len(whole.ToolCalls) != 5_001 {
		t.Errorf("the whole history has %d messages, %d calls", len(whole.History), len(whole.ToolCalls))
	}
	if got, last := shape(s.History), shape(whole.History); !strings.HasSuffix(last, got) {
		t.Error("the bounded history is not the end of the whole one")
	}
}

// writingAfterResume: resume, publish the synthetic messages, work, resume
// again: the same log shows all of it, and the class is not settled.
func writingAfterResume(t *testing.T) {
	l := facttest.New(t).Message("user", "go", "").Calls("c Edit").Tool("c Edit", "requested", "started")
	s := state(l)
	synthetic := s.History[2]
	l.Run("run-2").Raw("message", fmt.Sprintf(`{"role":"tool","content":%s,"metadata":%s}`, synthetic.Content, synthetic.Metadata)).
		Message("user", "on", "").Message("assistant", "fine", "")
	s = state(l)
	want(t, "history", shape(s.History), "user:go | assistant: | tool c:INTERRUPTED_UNCERTAIN | user:on | assistant:fine")
	want(t, "calls", calls(s), "run-1/c Edit uncertain")
	if s.History[2].Seq == 0 || !s.History[2].Recovered {
		t.Errorf("the recorded message is %+v", s.History[2])
	}
	l.Raw("action.decided", `{"run_id":"run-1","toolCallId":"c","decision":"done","by":"ann"}`)
	s = state(l)
	want(t, "decided", calls(s)+" by "+s.ToolCalls[0].SettledBy, "run-1/c Edit completed by ann")
}

func batchSizes(t *testing.T) {
	l := facttest.New(t)
	for i := range 40 {
		id := fmt.Sprintf("c%d Read", i)
		l.Message("user", "x", "").Calls(id).Tool(id, "requested", "started", "completed")
	}
	whole := l.Fold().Memory()
	for _, size := range []int{1, 3, 7, 100} {
		a := fold.New(facttest.Session, facttest.Agent)
		for rest := l.Data; len(rest) > 0; {
			n := min(size, len(rest))
			facttest.Continue(a, rest[:n])
			rest = rest[n:]
			again, err := fold.Decode(facttest.Session, facttest.Agent, a.Encode())
			if err != nil {
				t.Fatal(err)
			}
			a = again
		}
		if !reflect.DeepEqual(a.Memory(), whole) {
			t.Errorf("in batches of %d the memory differs", size)
		}
	}
}

func unknownSchema(t *testing.T) {
	l := facttest.New(t).Message("user", "a", "")
	l.Data[0] = bytes.Replace(l.Data[0], []byte(`"payload"`), []byte(`"schema_version":99,"payload"`), 1)
	want(t, "history", shape(state(l).History), "user:a")
}

func unknownType(t *testing.T) {
	s := state(facttest.New(t).Message("user", "a", "").Raw("foreign.x", `{"y":1}`).Message("user", "b", ""))
	want(t, "history", shape(s.History), "user:a | user:b")
	if s.LastSeq != 3 {
		t.Errorf("last seq is %d", s.LastSeq)
	}
}

func missingField(t *testing.T) {
	l := facttest.New(t).Message("user", "a", "")
	l.Data = append(l.Data, []byte(`{"event_type":"message"}`), []byte(`{"payload":{}}`), []byte(`{`))
	l.Message("user", "b", "")
	s := state(l)
	want(t, "history", shape(s.History), "user:a | user:b")
	if s.LastSeq != 5 {
		t.Errorf("last seq is %d", s.LastSeq)
	}
}

func deliveredTwice(t *testing.T) {
	l := facttest.New(t).Message("user", "a", "").Calls("c Read").Tool("c Read", "requested", "started", "completed")
	once := l.Fold()
	l.Data = append(l.Data, slices.Clone(l.Data)...)
	twice := l.Fold()
	a, b := once.Resume(resume.ReadOptions{}), twice.Resume(resume.ReadOptions{})
	b.LastSeq = a.LastSeq
	if !bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil)) {
		t.Errorf("delivered twice:\n%s\nonce:\n%s", b.AppendJSON(nil), a.AppendJSON(nil))
	}
	if !reflect.DeepEqual(once.Memory(), twice.Memory()) {
		t.Error("memory differs")
	}
}

func TestDecodeRefuses(t *testing.T) {
	data := facttest.New(t).Message("user", "a", "").Fold().Encode().Resume
	newer := bytes.Clone(data)
	newer[0]++
	opt := resume.Options{Session: facttest.Session, Agent: facttest.Agent}
	if _, err := resume.Decode(opt, newer); !errors.Is(err, resume.ErrVersion) {
		t.Errorf("newer format: %v", err)
	}
	for i := 1; i < len(data); i++ {
		if _, err := resume.Decode(opt, data[:i]); !errors.Is(err, resume.ErrCorrupt) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}
