package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
)

var token = events.AssistantDelta{Delta: strings.Repeat("a", 40)}

// BenchmarkEmit is the caller's cost, with no server at all.
func BenchmarkEmit(b *testing.B) {
	p, err := agent.Connect(b.Context(), "nats://127.0.0.1:1", agent.Session("s"), quiet, agent.FirstContact(0), agent.OutboxBytes(4<<30))
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Emit(ctx, token); err != nil {
			b.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	_ = p.Close(ended) // nothing is stored
}

// BenchmarkEmitConnected is the caller's cost while the events go out, with the
// highest of each thousand.
func BenchmarkEmitConnected(b *testing.B) {
	n := natstest.StartNode(b)
	p := connect(b, n, agent.OutboxBytes(4<<30))
	ctx := b.Context()
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := p.Emit(ctx, token); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
	b.ReportMetric(float64(took[len(took)*999/1000]), "p99.9-ns")
	if err := p.Close(limited(b, time.Minute)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPublish compares the SDK, from Emit to stored, with the raw
// client's asynchronous publish of the same bytes.
func BenchmarkPublish(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		n := natstest.StartNode(b)
		p := connect(b, n)
		ctx := b.Context()
		for b.Loop() {
			if err := p.Emit(ctx, token); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.Flush(limited(b, time.Minute)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		_ = p.Close(ctx)
	})
	b.Run("raw", func(b *testing.B) {
		n := natstest.StartNode(b)
		nc, err := nats.Connect(n.URL())
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(2048))
		if err != nil {
			b.Fatal(err)
		}
		data := make([]byte, 330)
		for b.Loop() {
			if _, err := js.PublishMsgAsync(&nats.Msg{Subject: "steno.events.s.main", Data: data}); err != nil {
				b.Fatal(err)
			}
		}
		<-js.PublishAsyncComplete()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}
