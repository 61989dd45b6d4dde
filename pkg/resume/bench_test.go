package resume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/resume"
)

// session is a long one: turns of 20 deltas, a call and its result.
func session(b *testing.B, turns int) [][]byte {
	b.Helper()
	l := facttest.New(b)
	for i := range turns {
		l.Emit(events.TurnStarted{Prompt: new("go on")}, events.StepStarted{})
		for range 20 {
			l.Emit(events.AssistantDelta{Delta: "a few words of it "})
		}
		id := fmt.Sprint("c", i)
		l.Emit(started(id, "Read"), events.ToolResult{ToolCallID: id, Output: strings.Repeat("x", 200)},
			events.StepCompleted{}, events.TurnEnded{Reason: "completed"})
	}
	return l.Data
}

// BenchmarkFold compares the tree alone with the tree, resume state and memory.
func BenchmarkFold(b *testing.B) {
	data := session(b, 400)
	for _, mode := range []struct {
		name string
		opts []fold.Option
	}{{"tree", []fold.Option{fold.TreeOnly()}}, {"all", nil}} {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				facttest.Continue(fold.New(facttest.Session, facttest.Agent, mode.opts...), data)
				n += len(data)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
}

// BenchmarkState reads the resume state of a full history.
func BenchmarkState(b *testing.B) {
	a := fold.New(facttest.Session, facttest.Agent)
	facttest.Continue(a, session(b, 4000))
	b.Run("state", func(b *testing.B) {
		for b.Loop() {
			_ = a.Resume(resume.ReadOptions{})
		}
	})
	s := a.Resume(resume.ReadOptions{})
	b.Run("json", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf = s.AppendJSON(buf[:0])
		}
		b.SetBytes(int64(len(buf)))
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_ = a.Encode()
		}
	})
	encoded := a.Encode()
	b.ReportMetric(float64(len(encoded.Resume)), "bytes")
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := fold.Decode(facttest.Session, facttest.Agent, encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			_ = a.Memory().AppendJSON(nil)
		}
	})
}
