package gateway

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// BenchmarkFanOut delivers deltas of one agent to many WebSocket clients on
// this machine, everything in one process: message by message (the publisher
// waits until all have it) and saturated (it does not wait, up to a window that
// keeps everybody within the ring).
func BenchmarkFanOut(b *testing.B) {
	for _, clients := range []int{100, 1000} {
		for _, window := range []int{1, 256} {
			b.Run(fmt.Sprintf("clients=%d/window=%d", clients, window), func(b *testing.B) { fanOut(b, clients, window) })
		}
	}
}

func fanOut(b *testing.B, clients, window int) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	log := memlog.New(1)
	g := New(Config{Log: log, State: memstate.New(), TopologyID: topology, Listener: ln})
	ctx := b.Context()
	stopped := make(chan error, 1)
	go func() { stopped <- g.Run(ctx) }()
	for g.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	publish := func() {
		event := []byte(`{"event_type":"assistant.delta","payload":{"delta":"some words of a model "}}`)
		if _, err := log.Append(ctx, "s", "main", event, ""); err != nil {
			b.Fatal(err)
		}
	}
	publish()
	var delivered atomic.Int64
	var readers sync.WaitGroup
	conns := make([]net.Conn, clients)
	for i := range conns {
		if conns[i], err = rawClient(ln.Addr().String()); err != nil {
			b.Fatal(err)
		}
		in := bufio.NewReader(conns[i])
		for range 4 { // hello, ack, agents.update, reset
			if err := skipFrame(in); err != nil {
				b.Fatal(err)
			}
		}
		readers.Go(func() {
			for skipFrame(in) == nil {
				delivered.Add(1)
			}
		})
	}
	b.ResetTimer()
	sent := int64(0)
	for range b.N {
		publish()
		sent += int64(clients)
		for delivered.Load() < sent-int64(clients*(window-1)) {
			time.Sleep(20 * time.Microsecond)
		}
	}
	for delivered.Load() < sent {
		time.Sleep(20 * time.Microsecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "deliveries/s")
	for _, c := range conns {
		c.Close()
	}
	readers.Wait()
}

func rawClient(addr string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "GET /v1/ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", addr)
	var head strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
		if _, err := c.Read(one); err != nil {
			return nil, err
		}
		head.Write(one)
	}
	sub := protocol.Subscribe{SessionID: "s", Transcript: grade.Spec{"main": grade.Delta}}
	f := protocol.Control{Type: protocol.TypeSubscribe, Payload: sub.AppendJSON(nil)}
	body := f.AppendJSON(nil)
	frame := []byte{0x81, 0x80 | byte(len(body)), 0, 0, 0, 0} // masked by zeros
	if len(body) > 125 {
		frame = []byte{0x81, 0x80 | 126, byte(len(body) >> 8), byte(len(body)), 0, 0, 0, 0}
	}
	_, err = c.Write(append(frame, body...))
	return c, err
}

func skipFrame(in *bufio.Reader) error {
	var head [10]byte
	if _, err := io.ReadFull(in, head[:2]); err != nil {
		return err
	}
	n := int(head[1])
	switch n {
	case 126:
		if _, err := io.ReadFull(in, head[2:4]); err != nil {
			return err
		}
		n = int(binary.BigEndian.Uint16(head[2:4]))
	case 127:
		if _, err := io.ReadFull(in, head[2:10]); err != nil {
			return err
		}
		n = int(binary.BigEndian.Uint64(head[2:10]))
	}
	_, err := in.Discard(n)
	return err
}

// BenchmarkRing is the feed's part of a delivery: fold, ring, one encoding,
// and n connections that collect it.
func BenchmarkRing(b *testing.B) {
	for _, readers := range []int{1, 100} {
		b.Run(fmt.Sprint(readers), func(b *testing.B) {
			agent := fold.New("s", "main", fold.TreeOnly())
			r := ring{max: 2 << 20}
			enc := newEncoder("s", "main", "e.1")
			event := []byte(`{"event_type":"assistant.delta","payload":{"delta":"some words of a model "}}`)
			b.ReportAllocs()
			seq := uint64(0)
			for b.Loop() {
				seq++
				data := append([]byte(nil), event...)
				batch := agent.Step(fold.Record{Seq: seq, SeqTo: seq, StreamSeq: seq, Data: data})
				r.push(batch, nil)
				for range readers {
					entries, _ := r.after(seq - 1)
					_ = r.message(entries[0], varInput, enc)
				}
			}
		})
	}
}

// BenchmarkAnswers are REST answers of a watched session: catch-up of 2,000
// batches from the ring, the newest page, and an old page of a log of 30,000
// events whose history is kept.
func BenchmarkAnswers(b *testing.B) {
	log := memlog.New(1)
	g := New(Config{Log: log, State: memstate.New(), TopologyID: topology})
	ctx, cancel := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- g.Run(ctx) }()
	for g.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	end := 0
	publish := func(typ, payload string) {
		end++
		event := fmt.Appendf(nil, `{"event_type":%q,"payload":%s}`, typ, payload)
		if _, err := log.Append(ctx, "s", "main", event, ""); err != nil {
			b.Fatal(err)
		}
	}
	for range 300 {
		publish("turn.started", `{"prompt":"p"}`)
		for range 98 {
			publish("assistant.delta", `{"delta":"some words of a model "}`)
		}
		publish("turn.ended", `{"reason":"completed"}`)
	}
	for _, path := range []string{
		fmt.Sprintf("/v1/sessions/s/transcript/ops?since_seq=%d", end-2000),
		"/v1/sessions/s/transcript", "/v1/sessions/s/transcript?before_turn=t100",
	} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				g.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
				if w.Code != 200 {
					b.Fatal(w.Body.String())
				}
			}
		})
	}
	cancel()
	<-stopped
}
