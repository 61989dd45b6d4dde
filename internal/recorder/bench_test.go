package recorder_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/recorder"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/kvstate"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
)

func benchEvent(i int) []byte {
	return fmt.Appendf(nil, `{"event_type":"assistant.delta","event_id":"0190f7a0-0000-7000-8000-%012d","timestamp":"2026-01-02T03:04:05.678Z","run_id":"0190f7a0-0000-7000-8000-000000000000","n":%d,"step":3,"payload":{"turnId":"turn-1","stepId":"turn-1.3","delta":"some words of a model"}}`, i, i)
}

// counting tells when a number of records is durable.
type counting struct {
	mu   sync.Mutex
	left int
	done chan struct{}
}

func (c *counting) durable(n int, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left -= n; c.left == 0 {
		close(c.done)
	}
}

// recordAll runs a recorder until n records are durable.
func recordAll(b *testing.B, log eventlog.Log, store statestore.Store, members statestore.Members, n int) {
	b.Helper()
	c := &counting{left: n, done: make(chan struct{})}
	svc := recorder.New(recorder.Deps{Log: log, Store: store, Members: members},
		recorder.Config{Dir: b.TempDir(), TopologyID: "bench", OnDurable: c.durable})
	ctx, cancel := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	b.ResetTimer()
	go func() { stopped <- svc.Run(ctx) }()
	<-c.done
	b.StopTimer()
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	cancel()
	if err := <-stopped; err != nil {
		b.Error(err)
	}
}

// BenchmarkFromMemory records 100 sessions from an event log in memory, from
// the start of the recorder: opening slots and files included.
func BenchmarkFromMemory(b *testing.B) {
	log := memlog.New(16)
	for i := range b.N {
		s := events.SessionID(fmt.Sprintf("s-%d", i%100))
		if _, err := log.Append(b.Context(), s, events.MainAgent, benchEvent(i), ""); err != nil {
			b.Fatal(err)
		}
	}
	recordAll(b, log, memstate.New(), memstate.NewMembers(), b.N)
}

// BenchmarkFromStream records 100 sessions from a filled stream of a node in
// the same process.
func BenchmarkFromStream(b *testing.B) {
	node := natstest.StartNode(b, natstest.NoListen())
	log, err := jslog.New(node.JS(), jslog.Config{Slots: node.Topology().Slots, Streams: node.Topology().Streams})
	if err != nil {
		b.Fatal(err)
	}
	store, err := kvstate.New(node.Conn())
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		s := events.SessionID(fmt.Sprintf("s-%d", i%100))
		if _, err := node.JS().PublishAsync(events.PublishSubject(s, events.MainAgent), benchEvent(i)); err != nil {
			b.Fatal(err)
		}
	}
	<-node.JS().PublishAsyncComplete()
	recordAll(b, log, store, kvstate.NewMembers(node.Conn()), b.N)
}

// BenchmarkDelay publishes 5,000 events a second over 1,000 sessions, which
// all appear at the start, and reports how long they take to be durable: each
// batch counts with its oldest record.
func BenchmarkDelay(b *testing.B) {
	log := memlog.New(16)
	var mu sync.Mutex
	var delays []time.Duration
	svc := recorder.New(recorder.Deps{Log: log, Store: memstate.New(), Members: memstate.NewMembers()},
		recorder.Config{Dir: b.TempDir(), TopologyID: "bench", OnDurable: func(n int, oldest time.Time) {
			d := time.Since(oldest)
			mu.Lock()
			defer mu.Unlock()
			for range n {
				delays = append(delays, d)
			}
		}})
	ctx, cancel := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- svc.Run(ctx) }()
	for svc.Ready() != nil {
		time.Sleep(10 * time.Millisecond)
	}
	b.ResetTimer()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := 0; i < b.N; {
		<-tick.C
		for range 5 {
			s := events.SessionID(fmt.Sprintf("s-%d", i%1000))
			if _, err := log.Append(b.Context(), s, events.MainAgent, benchEvent(i), ""); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
	b.StopTimer()
	cancel()
	if err := <-stopped; err != nil {
		b.Error(err)
	}
	slices.Sort(delays)
	if n := len(delays); n > 0 {
		b.ReportMetric(float64(delays[n/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(delays[n*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(delays[n-1].Microseconds())/1000, "max-ms")
	}
}
