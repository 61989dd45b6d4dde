package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/fold"
)

// BenchmarkDerived asks cold for the resume state and memory of a session of a
// million events whose state was saved 1,000 events before its end, with a
// history above its bound.
func BenchmarkDerived(b *testing.B) {
	log, state := memlog.New(1), memstate.New()
	g := New(Config{Log: log, State: state, TopologyID: topology})
	agent := fold.New("s", "main")
	n := uint64(0)
	publish := func(typ, payload string) {
		n++
		event := fmt.Appendf(nil, `{"event_type":%q,"payload":%s}`, typ, payload)
		ack, err := log.Append(b.Context(), "s", "main", event, "")
		if err != nil {
			b.Fatal(err)
		}
		if n <= 999_000 {
			agent.Step(fold.Record{Seq: n, StreamSeq: ack.StreamSeq, Data: event})
		}
	}
	prompt := `{"prompt":"` + strings.Repeat("p", 500) + `"}`
	for n < 1_000_000 {
		publish("turn.started", prompt)
		publish("tool.call.started", fmt.Sprintf(`{"toolCallId":"c%d","name":"Bash","args":{}}`, n))
		publish("tool.result", fmt.Sprintf(`{"toolCallId":"c%d","output":"ok"}`, n-1))
		for range 96 {
			publish("assistant.delta", `{"delta":"some words of a model "}`)
		}
		publish("turn.ended", `{"reason":"completed"}`)
	}
	saved := agent.Encode()
	c := statestore.Commit{ID: "saved"}
	for prefix, doc := range map[string][]byte{
		statestore.PrefixHead: saved.Head, statestore.PrefixMemory: saved.Memory, statestore.PrefixResume: saved.Resume,
	} {
		c.Writes = append(c.Writes, statestore.Write{Key: statestore.AgentKey(prefix, 0, "s", "main"), Value: doc})
	}
	if _, err := state.Apply(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	b.Run("resume", func(b *testing.B) {
		size := 0
		for b.Loop() {
			data, err := g.Queries().Resume(b.Context(), "s", "main", "", false)
			if err != nil {
				b.Fatal(err)
			}
			size = len(data)
		}
		b.ReportMetric(float64(size)/1024, "KiB")
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			if _, err := g.Queries().Memory(b.Context(), "s", "main"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("resume of a run", func(b *testing.B) {
		for b.Loop() {
			if _, err := g.Queries().Resume(b.Context(), "s", "main", "r", false); err != nil {
				b.Fatal(err)
			}
		}
	})
}
