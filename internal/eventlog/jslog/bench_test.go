package jslog_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/events"
)

// filled stores n events of 300 bytes of 10 sessions.
func filled(b *testing.B, n int) *natstest.Node {
	b.Helper()
	node := natstest.StartNode(b, natstest.NoListen())
	data := make([]byte, 300)
	for i := range n {
		msg := &nats.Msg{Subject: fmt.Sprintf("steno.events.s%d.main", i%10), Data: data}
		if _, err := node.JS().PublishMsgAsync(msg); err != nil {
			b.Fatal(err)
		}
		if i%2000 == 1999 {
			<-node.JS().PublishAsyncComplete()
		}
	}
	<-node.JS().PublishAsyncComplete()
	return node
}

// BenchmarkTail reads one slot of a filled stream.
func BenchmarkTail(b *testing.B) {
	const n = 100_000
	node := filled(b, n)
	l := newLog(b, node, node.JS())
	slot := events.SessionID("s0").Slot(16)
	want := 0
	for i := range 10 {
		if events.SessionID(fmt.Sprintf("s%d", i)).Slot(16) == slot {
			want += n / 10
		}
	}
	buf := make([]eventlog.Record, 0, 1024)
	read := 0
	for b.Loop() {
		tail, err := l.Tail(b.Context(), slot, 0)
		if err != nil {
			b.Fatal(err)
		}
		for got := 0; got < want; got += len(buf) {
			if buf, err = tail.Next(b.Context(), buf[:0], 1024); err != nil {
				b.Fatal(err)
			}
			read += len(buf)
		}
		_ = tail.Close()
	}
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkRange reads one agent's records among those of nine others.
func BenchmarkRange(b *testing.B) {
	node := filled(b, 100_000)
	l := newLog(b, node, node.JS())
	read := 0
	for b.Loop() {
		recs, err := l.Range(b.Context(), "s3", "main", 0, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		read += len(recs)
	}
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkAppend stores one by one.
func BenchmarkAppend(b *testing.B) {
	node := natstest.StartNode(b, natstest.NoListen())
	l := newLog(b, node, node.JS())
	data := make([]byte, 300)
	for b.Loop() {
		if _, err := l.Append(b.Context(), "s", "main", data, ""); err != nil {
			b.Fatal(err)
		}
	}
}
