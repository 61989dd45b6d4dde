package fold_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// deltaRecord is a delta event of about 300 bytes, as the SDK publishes it.
func deltaRecord(n int, text string) []byte {
	return fmt.Appendf(nil, `{"event_type":"assistant.delta","payload":{"turnId":7,"step":1,"delta":%q},"event_id":"0197b2f0-1c2d-7e3f-8a4b-%012x","timestamp":"2026-01-01T00:00:%02d.%03dZ","run_id":"0197b2f0-0000-7000-8000-000000000001","n":%d,"schema_version":1}`,
		text, n, n/1000%60, n%1000, n)
}

// openTurn returns an agent in the middle of a turn, with so many turns before
// it, and the number of its next event.
func openTurn(b *testing.B, turns int) (*fold.Agent, int) {
	b.Helper()
	a := fold.New("s-1", "main")
	n := 0
	add := func(typ, payload string) {
		n++
		a.Step(fold.Record{Seq: uint64(n), StoredAt: epoch, Data: []byte(ev(typ, payload,
			`"run_id":"0197b2f0-0000-7000-8000-000000000001"`, `"n":`+strconv.Itoa(n)))})
	}
	for range turns {
		add("turn.started", `{"prompt":"hello there"}`)
		add("assistant.message", `{"text":"an answer of some words"}`)
		add("turn.ended", `{"reason":"completed"}`)
	}
	add("turn.started", `{"turnId":7000000,"prompt":"go"}`)
	return a, n
}

// BenchmarkDelta is from bytes to operations; target ≥ 1 M events/s a core,
// whatever came before.
func BenchmarkDelta(b *testing.B) {
	for _, c := range []struct{ turns, text int }{{0, 12}, {100_000, 12}, {0, 150}} {
		b.Run(fmt.Sprintf("turns=%d/text=%d", c.turns, c.text), func(b *testing.B) {
			a, n := openTurn(b, c.turns)
			text := ""
			for len(text) < c.text {
				text += "some words. "
			}
			const pool = 4096
			records := make([][]byte, pool)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if i%pool == 0 {
					b.StopTimer()
					for j := range records {
						records[j] = deltaRecord(n+1+j, text[:c.text])
						records[j] = []byte(replaceTurn(records[j]))
					}
					b.StartTimer()
				}
				n++
				batch := a.Step(fold.Record{Seq: uint64(n), StoredAt: epoch, Data: records[i%pool]})
				if len(batch.Ops) == 0 {
					b.Fatalf("no operation at %d", i)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(1e6, "target_events/s")
		})
	}
}

func replaceTurn(data []byte) []byte {
	const from, to = `"turnId":7,`, `"turnId":7000000,`
	i := indexOf(data, from)
	return append(append(append([]byte(nil), data[:i]...), to...), data[i+len(from):]...)
}

func indexOf(data []byte, s string) int {
	for i := range data {
		if string(data[i:min(len(data), i+len(s))]) == s {
			return i
		}
	}
	return -1
}

// BenchmarkDeltaApply adds the reader's Apply.
func BenchmarkDeltaApply(b *testing.B) {
	a, n := openTurn(b, 10)
	reader := reducer.NewTranscript("main")
	reader.Apply([]reducer.Op{{Kind: reducer.OpReset, AgentID: "main", Snapshot: a.Snapshot(-1)}})
	const pool = 4096
	records := make([][]byte, pool)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%pool == 0 {
			b.StopTimer()
			for j := range records {
				records[j] = replaceTurn(deltaRecord(n+1+j, "some words. "))
			}
			b.StartTimer()
		}
		n++
		batch := a.Step(fold.Record{Seq: uint64(n), StoredAt: epoch, Data: records[i%pool]})
		if reader.Apply(batch.Ops).Gap != nil {
			b.Fatal("gap")
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
