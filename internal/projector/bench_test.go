package projector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore/kvstate"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
)

// waitFor polls until the slots have folded up to seq.
func waitFor(p *process, slots map[int]uint64) {
	for left := len(slots); left > 0; {
		time.Sleep(time.Millisecond)
		left = len(slots)
		for _, s := range p.Status() {
			if s.Folded >= slots[s.Slot] {
				left--
			}
		}
	}
}

// BenchmarkCatchUp is how fast a projector works through a filled log in
// memory: tail, fold, commits, a save of everything at the end.
func BenchmarkCatchUp(b *testing.B) {
	const sessions, each = 100, 2000
	w := newWorld(b, 4)
	last := map[int]uint64{}
	for i := range each {
		for s := range sessions {
			id := fmt.Sprint("s", s)
			typ, payload := "assistant.delta", `{"delta":"some words of text that were streamed"}`
			switch i % 100 {
			case 0:
				typ, payload = "turn.started", `{"prompt":"do this"}`
			case 99:
				typ, payload = "turn.ended", `{"reason":"completed"}`
			}
			last[events.SessionID(id).Slot(4)] = w.publish(id, "main", typ, payload)
		}
	}
	b.ResetTimer()
	for i := range b.N {
		w.store, w.members = memstate.New(), memstate.NewMembers()
		p := w.start(fmt.Sprint("p", i), projector.Limits{})
		waitFor(p, last)
		p.end(b)
	}
	b.ReportMetric(float64(sessions*each*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkReady is how long a projector takes to own and tail 16 slots on an
// empty server that syncs every write.
func BenchmarkReady(b *testing.B) {
	n := natstest.StartNode(b, natstest.NoListen(), natstest.Durable())
	log, err := jslog.New(n.JS(), jslog.Config{Slots: 16, Streams: n.Topology().Streams})
	if err != nil {
		b.Fatal(err)
	}
	store, err := kvstate.New(n.Conn())
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
		p := projector.New(projector.Deps{Log: log, Store: store, Members: kvstate.NewMembers(n.Conn())}, projector.Config{Name: "p"})
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		for p.Ready() != nil {
			time.Sleep(100 * time.Microsecond)
		}
		b.StopTimer()
		stop()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkNATS is the same on a real server with 1,000 sessions.
func BenchmarkNATS(b *testing.B) {
	const sessions, each = 1000, 50
	n := natstest.StartNode(b, natstest.NoListen())
	log, err := jslog.New(n.JS(), jslog.Config{Slots: 16, Streams: n.Topology().Streams})
	if err != nil {
		b.Fatal(err)
	}
	store, err := kvstate.New(n.Conn())
	if err != nil {
		b.Fatal(err)
	}
	last := map[int]uint64{}
	for i := range each {
		for s := range sessions {
			id := events.SessionID(fmt.Sprint("s", s))
			typ, payload := "assistant.delta", `{"delta":"some words of text that were streamed"}`
			if i == 0 {
				typ, payload = "turn.started", `{"prompt":"do this"}`
			}
			data := fmt.Sprintf(`{"event_type":%q,"payload":%s,"run_id":"r","n":%d}`, typ, payload, i+1)
			ack, err := log.Append(b.Context(), id, "main", []byte(data), "")
			if err != nil {
				b.Fatal(err)
			}
			last[id.Slot(16)] = ack.StreamSeq
		}
	}
	b.ResetTimer()
	for i := range b.N {
		if i > 0 {
			b.Fatal("run it with -benchtime 1x: the second run has nothing to do")
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
		p := &process{stop: stop, done: make(chan error, 1)}
		p.Service = projector.New(projector.Deps{Log: log, Store: store, Members: kvstate.NewMembers(n.Conn())}, projector.Config{Name: "p"})
		go func() { p.done <- p.Run(ctx) }()
		waitFor(p, last)
		b.ReportMetric(sessions*each/b.Elapsed().Seconds(), "events/s")
		p.end(b)
		b.ReportMetric(sessions*each/b.Elapsed().Seconds(), "saved-events/s")
	}
}
