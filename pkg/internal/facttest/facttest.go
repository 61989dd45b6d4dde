// Package facttest builds small logs for the tests of resume state and session
// memory, and folds them.
package facttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

// The session and agent of every log.
const (
	Session = events.SessionID("s-1")
	Agent   = events.MainAgent
)

// TB is what the helpers need of a test.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Log is a log under construction. Events get ids e1, e2, … and the run and
// step that were set last.
type Log struct {
	t    TB
	run  string
	step int
	n    int
	Data [][]byte
}

// New begins an empty log in run-1.
func New(t TB) *Log { return &Log{t: t, run: "run-1", step: -1} }

// Run sets the run of the events that follow.
func (l *Log) Run(run string) *Log {
	l.run = run
	return l
}

// Step sets the envelope's step of the events that follow; -1 is none.
func (l *Log) Step(step int) *Log {
	l.step = step
	return l
}

// Emit appends typed payloads.
func (l *Log) Emit(list ...events.Payload) *Log {
	l.t.Helper()
	for _, p := range list {
		payload, err := events.AppendPayload(nil, p)
		if err != nil {
			l.t.Fatalf("payload: %v", err)
		}
		l.add(p.EventType(), payload)
	}
	return l
}

// Raw appends an event with a payload in JSON.
func (l *Log) Raw(typ, payload string) *Log {
	l.add(typ, []byte(payload))
	return l
}

func (l *Log) add(typ string, payload []byte) {
	l.n++
	ev := events.Event{
		Type: typ, Payload: payload, ID: fmt.Sprintf("e%d", l.n), RunID: l.run,
		Timestamp: events.FormatTime(1_796_000_000_000 + int64(l.n)*1000),
	}
	if l.step >= 0 {
		ev.Step, ev.HasStep = l.step, true
	}
	l.Data = append(l.Data, events.AppendEvent(nil, &ev))
}

// Message appends a message fact; metadata is JSON, empty for none.
func (l *Log) Message(role, content, metadata string) *Log {
	if metadata == "" {
		metadata = "{}"
	}
	text, err := json.Marshal(content)
	if err != nil {
		l.t.Fatalf("content: %v", err)
	}
	return l.Raw("message", fmt.Sprintf(`{"role":%q,"content":%s,"metadata":%s}`, role, text, metadata))
}

// Calls appends an assistant message that asks for calls, each "id name".
func (l *Log) Calls(calls ...string) *Log {
	var list []string
	for _, c := range calls {
		id, name, _ := strings.Cut(c, " ")
		list = append(list, fmt.Sprintf(`{"id":%q,"name":%q,"arguments":"{}"}`, id, name))
	}
	return l.Message("assistant", "", `{"action_type":"tool_call","tool_calls":[`+strings.Join(list, ",")+`]}`)
}

// Tool appends lifecycle facts of a call, "id name", one for each status;
// completed has the result "ok of <id>".
func (l *Log) Tool(call string, statuses ...string) *Log {
	id, name, _ := strings.Cut(call, " ")
	for _, status := range statuses {
		extra := ""
		switch status {
		case "completed":
			extra = fmt.Sprintf(`,"result":"ok of %s"`, id)
		case "failed":
			extra = `,"error":{"code":"E_BAD","message":"it broke"}`
		}
		l.Raw("tool_lifecycle", fmt.Sprintf(`{"tool_name":%q,"tool_call_id":%q,"status":%q,"args":{"a":1}%s}`, name, id, status, extra))
	}
	return l
}

// Fold folds the log from its start.
func (l *Log) Fold(opts ...fold.Option) *fold.Agent {
	a := fold.New(Session, Agent, opts...)
	Continue(a, l.Data)
	return a
}

// Continue steps an agent over further messages.
func Continue(a *fold.Agent, data [][]byte) {
	for _, d := range data {
		seq := a.Seq() + 1
		a.Step(fold.Record{Seq: seq, StreamSeq: seq, StoredAt: 1_796_000_000_000, Data: bytes.Clone(d)})
	}
}
