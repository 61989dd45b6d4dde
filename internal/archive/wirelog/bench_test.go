package wirelog_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/pkg/events"
)

// BenchmarkCommit writes durable lines to a number of sessions from 16
// goroutines, as the slots of a recorder do.
func BenchmarkCommit(b *testing.B) {
	for _, sessions := range []int{100, 1000} {
		for _, batch := range []int{100, 2000} {
			b.Run(fmt.Sprintf("sessions=%d/batch=%d", sessions, batch), func(b *testing.B) {
				d := openDir(b, b.TempDir(), wirelog.Options{})
				const slots = 16
				agents := make([][]*wirelog.Agent, slots)
				for i := range sessions {
					ag := openAgent(b, d, events.SessionID(fmt.Sprintf("s-%d", i)), main0)
					agents[i%slots] = append(agents[i%slots], ag)
				}
				data := message(1).Data
				b.ResetTimer()
				var wg sync.WaitGroup
				for slot := range slots {
					wg.Go(func() {
						mine := agents[slot]
						for done := 0; done < b.N/slots; done += batch {
							for i := range batch {
								ag := mine[i%len(mine)]
								if _, err := ag.Add(wirelog.Message{StreamSeq: ag.StreamSeq() + 1, StoredAt: 1700000000000, Data: data}); err != nil {
									b.Error(err)
								}
							}
							if err := d.Commit(b.Context(), mine); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	d := openDir(b, b.TempDir(), wirelog.Options{})
	ag := openAgent(b, d, session, main0)
	data := message(1).Data
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ag.Add(wirelog.Message{StreamSeq: ag.StreamSeq() + 1, StoredAt: 1700000000000, Data: data}); err != nil {
			b.Fatal(err)
		}
		if ag.Buffered() > 1<<20 {
			if err := d.Commit(b.Context(), []*wirelog.Agent{ag}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	d := openDir(b, root, wirelog.Options{PartSize: 1 << 40})
	ag := openAgent(b, d, session, main0)
	const n = 200_000
	for i := range n {
		add(b, ag, message(i+1))
		if i%10_000 == 0 || i == n-1 {
			if err := d.Commit(b.Context(), []*wirelog.Agent{ag}); err != nil {
				b.Fatal(err)
			}
		}
	}
	r := wirelog.NewReader(root)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := 0
	b.ResetTimer()
	for b.Loop() {
		for _, err := range r.Read(b.Context(), session, main0, 0) {
			if err != nil {
				b.Fatal(err)
			}
			lines++
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(lines), "B/line")
}

// BenchmarkReadFrom measures the start of a reading that begins near the end.
func BenchmarkReadFrom(b *testing.B) {
	root := b.TempDir()
	d := openDir(b, root, wirelog.Options{PartSize: 1 << 40})
	ag := openAgent(b, d, session, main0)
	const n = 200_000
	for i := range n {
		add(b, ag, message(i+1))
	}
	if err := d.Commit(b.Context(), []*wirelog.Agent{ag}); err != nil {
		b.Fatal(err)
	}
	r := wirelog.NewReader(root)
	for b.Loop() {
		for _, err := range r.Read(b.Context(), session, main0, n-10) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkOpenNew measures what the first message of an agent costs beyond
// those that follow: directories and file, durable with those of 16 others.
func BenchmarkOpenNew(b *testing.B) {
	d := openDir(b, b.TempDir(), wirelog.Options{})
	for i := 0; i < b.N; i += 16 {
		var wg sync.WaitGroup
		for j := range 16 {
			wg.Go(func() {
				ag, _, err := d.Open(b.Context(), wirelog.OpenRequest{
					Session: events.SessionID(fmt.Sprintf("s-%d-%d", i, j)), Agent: main0, Epoch: epoch, Stream: stream,
				})
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := ag.Add(message(1)); err != nil {
					b.Error(err)
				}
				if err := d.Commit(b.Context(), []*wirelog.Agent{ag}); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
