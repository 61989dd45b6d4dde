package fold_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
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
	a := fold.New("s-1", "main", fold.TreeOnly())
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
						records[j] = replaceTurn(records[j])
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

// millionEvents is the log of a long session: turns of three steps with
// streamed thinking and text, and a tool call each.
func millionEvents() [][]byte {
	log := make([][]byte, 0, 1_000_000)
	add := func(typ, payload string) {
		log = append(log, []byte(ev(typ, payload, `"run_id":"r"`, `"n":`+strconv.Itoa(len(log)+1), `"timestamp":"2026-01-01T00:00:00.000Z"`)))
	}
	for len(log) < cap(log)-150 {
		add("turn.started", `{"prompt":"look into it"}`)
		for range 3 {
			add("turn.step.started", `{}`)
			for range 12 {
				add("thinking.delta", `{"delta":"some thoughts "}`)
			}
			for range 24 {
				add("assistant.delta", `{"delta":"some words of it "}`)
			}
			add("tool.call.started", `{"toolCallId":"c`+strconv.Itoa(len(log))+`","name":"Bash","args":{"command":"ls -la /tmp"}}`)
			add("tool.result", `{"toolCallId":"c`+strconv.Itoa(len(log)-1)+`","output":"total 0\n-rw-r--r-- 1 a a 0 file"}`)
			add("turn.step.completed", `{"usage":{"inputOther":100,"output":20,"inputCacheRead":30,"inputCacheCreation":4},"model":"m"}`)
		}
		add("turn.ended", `{"reason":"completed"}`)
	}
	return log
}

// BenchmarkRefold folds a session of 1,000,000 events from bytes in memory;
// target ≤ 1 s, one operation here.
func BenchmarkRefold(b *testing.B) {
	log := millionEvents()
	size := 0
	for _, line := range log {
		size += len(line)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		a := fold.New("s-1", "main", fold.TreeOnly(), fold.ReuseOps())
		for i, data := range log {
			a.Step(fold.Record{Seq: uint64(i + 1), StoredAt: epoch, Data: data})
		}
	}
	b.ReportMetric(float64(len(log)*b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(1e6, "target_events/s")
}

// BenchmarkNewestPage is the newest page of that session from its head; target
// ≤ 10 ms.
func BenchmarkNewestPage(b *testing.B) {
	a := fold.New("s-1", "main", fold.TreeOnly(), fold.ReuseOps())
	for i, data := range millionEvents() {
		a.Step(fold.Record{Seq: uint64(i + 1), StoredAt: epoch, Data: data})
	}
	s := a.Encode()
	b.SetBytes(int64(len(s.Head)))
	for b.Loop() {
		again, err := fold.Decode("s-1", "main", s, fold.TreeOnly())
		if err != nil {
			b.Fatal(err)
		}
		if page := again.Snapshot(20).AppendJSON(nil); len(page) < 20_000 {
			b.Fatalf("a page of %d bytes", len(page))
		}
	}
}

// BenchmarkState encodes and decodes the state of a session that keeps as much
// as a fold keeps: the largest head there is.
func BenchmarkState(b *testing.B) {
	a := fold.New("s-1", "main", fold.TreeOnly())
	for i := range 2000 {
		n := uint64(i + 1)
		line := ev("tool.call.started", `{"toolCallId":"c`+strconv.Itoa(i)+`","name":"Bash","args":{"command":"ls"}}`)
		switch i % 4 {
		case 0:
			line = ev("turn.started", `{"prompt":"go"}`)
		case 2:
			line = ev("tool.result", `{"toolCallId":"c`+strconv.Itoa(i-1)+`","output":"`+strings.Repeat("some output ", 15_000)+`"}`)
		case 3:
			line = ev("turn.ended", `{"reason":"completed"}`)
		}
		a.Step(fold.Record{Seq: n, StoredAt: epoch, Data: []byte(line)})
	}
	s := a.Encode()
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(s.Head)))
		for b.Loop() {
			a.Encode()
		}
	})
	b.Run("decode+page", func(b *testing.B) {
		b.SetBytes(int64(len(s.Head)))
		for b.Loop() {
			again, err := fold.Decode("s-1", "main", s, fold.TreeOnly())
			if err != nil {
				b.Fatal(err)
			}
			again.Snapshot(20).AppendJSON(nil)
		}
	})
}

func replaceTurn(data []byte) []byte {
	return bytes.Replace(data, []byte(`"turnId":7,`), []byte(`"turnId":7000000,`), 1)
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

// BenchmarkSnapshot is what a subscriber's baseline costs: after a record, and
// again before the next one, with nothing and with 100,000 turns behind.
func BenchmarkSnapshot(b *testing.B) {
	for _, turns := range []int{20, 100_000} {
		a, n := openTurn(b, turns)
		b.Run(fmt.Sprintf("turns=%d/after-a-record", turns), func(b *testing.B) {
			for b.Loop() {
				n++
				a.Step(fold.Record{Seq: uint64(n), StoredAt: epoch, Data: replaceTurn(deltaRecord(n, "word"))})
				a.Snapshot(20)
			}
		})
		b.Run(fmt.Sprintf("turns=%d/again", turns), func(b *testing.B) {
			for b.Loop() {
				a.Snapshot(20)
			}
		})
	}
}
