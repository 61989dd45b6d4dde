package resume_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

// TestWrongTypes puts every kind of value into every field of every payload,
// in the middle of a story, and checks that nothing panics, that messages stay
// valid and that what is derived keeps its bounds.
func TestWrongTypes(t *testing.T) {
	golden, err := os.ReadFile("../events/testdata/payloads.golden")
	if err != nil {
		t.Fatal(err)
	}
	wrong := []string{`null`, `true`, `-1`, `1e400`, `12345678901234567890`, `""`, `"x"`, `[]`, `[{}]`, `[1,"x",null]`, `{}`, `{"a":1}`}
	n := 0
	for line := range strings.Lines(string(golden)) {
		typ, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, variant := range variants([]byte(payload), wrong) {
			n++
			l := facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")}, started("x", "Bash"), approval("x", "x"))
			l.Raw(typ, string(variant)).Emit(events.AssistantDelta{Delta: "on"}).Raw(typ, string(variant)).
				Run("run-2").Message("user", "again", "")
			checkHostile(t, l, typ+" "+string(variant))
		}
	}
	if n < 1000 {
		t.Errorf("only %d variants", n)
	}
}

func checkHostile(t *testing.T, l *facttest.Log, what string) {
	t.Helper()
	a := l.Fold()
	s := a.Resume(resume.ReadOptions{})
	if s.LeftOut > 0 {
		t.Fatalf("%s makes the fold panic", what)
	}
	checkValid(t, s.Model)
	data := s.AppendJSON(nil)
	checkJSON(t, data)
	if !json.Valid(data) || len(a.Memory().AppendJSON(nil)) > memory.MaxJSON {
		t.Fatalf("%s breaks what is derived", what)
	}
	again, err := fold.Decode(facttest.Session, facttest.Agent, a.Encode())
	if err != nil || !bytes.Equal(again.Encode().Resume, a.Encode().Resume) {
		t.Fatalf("%s: state does not come back: %v", what, err)
	}
}

// variants returns the payload with each of its values replaced, one at a
// time, and with each of its members twice.
func variants(payload []byte, wrong []string) [][]byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		panic(err)
	}
	var out [][]byte
	emit := func() {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		out = append(out, data)
	}
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		for _, w := range wrong {
			set(json.RawMessage(w))
			emit()
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for key, child := range v {
				walk(child, func(x any) { v[key] = x })
			}
		case []any:
			for i, child := range v {
				walk(child, func(x any) { v[i] = x })
			}
		}
	}
	top := value.(map[string]any)
	for key, child := range top {
		walk(child, func(x any) { top[key] = x })
	}
	for _, w := range wrong {
		twice := append(bytes.TrimSuffix(bytes.Clone(payload), []byte("}")), `,"toolCallId":`+w+`,"reason":`+w+`}`...)
		if len(top) > 0 {
			out = append(out, twice)
		}
	}
	return out
}

// TestLargeOpenStep: a step with 10,000 calls, or of 10 MB of text, keeps the
// state small, and what follows is whole.
func TestLargeOpenStep(t *testing.T) {
	l := facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")})
	for range 50 {
		l.Emit(events.AssistantDelta{Delta: strings.Repeat("x", 200_000)})
	}
	if n := len(l.Fold().Encode().Resume); n > 2*resume.MaxHistory {
		t.Errorf("the state of an open step has %d bytes", n)
	}
	l.Emit(events.TurnEnded{Reason: "completed"}, events.TurnStarted{Prompt: new("next")})
	want(t, "history", shape(state(l).History), "user:next")

	l = facttest.New(t).Emit(events.TurnStarted{Prompt: new("go")})
	for i := range 10_000 {
		l.Emit(events.ToolCallStarted{ToolCallID: fmt.Sprint("c", i), Name: "Bash", Args: strings.Repeat("y", 300)})
	}
	a := l.Fold()
	if n := len(a.Encode().Resume); n > 6*resume.MaxHistory {
		t.Errorf("the state of 10,000 calls has %d bytes", n)
	}
	checkValid(t, a.Resume(resume.ReadOptions{}).Model)
}
