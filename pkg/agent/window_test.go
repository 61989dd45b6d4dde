package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
)

// wire is a network and a server between a window and its log: messages and
// acknowledgements are lost, late and out of order as the test draws.
type wire struct {
	t        *rapid.T
	w        *window
	now      time.Time
	onWay    []flight // to the server
	acks     []flight // back, with seq
	seq      uint64
	stored   int // messages
	admit    admit.State
	admitted []string // "run/n" in order
}

type flight struct {
	pass, index, seq uint64
	data             string // "run n"
}

func (x *wire) send() {
	for {
		i, ok := x.w.take(x.now)
		if !ok {
			return
		}
		x.onWay = append(x.onWay, flight{pass: x.w.pass, index: i, data: string(x.w.at(i).data)})
	}
}

// deliver stores one of the messages on their way; 0 is the oldest.
func (x *wire) deliver(i int, loseAck bool) {
	f := x.onWay[i]
	x.onWay = slices.Delete(x.onWay, i, i+1)
	x.seq++
	x.stored++
	var ev events.Event
	if _, err := fmt.Sscanf(f.data, "%s %d", &ev.RunID, &ev.N); err != nil {
		x.t.Fatal(err)
	}
	if d := x.admit.Admit(uint64(x.stored), &ev); d.Outcome == admit.Admitted {
		if d.Late {
			x.t.Fatalf("%s was admitted after its run had ended", f.data)
		}
		if len(d.Notices) > 0 {
			x.t.Fatalf("%s led to the notices %v", f.data, d.Notices)
		}
		x.admitted = append(x.admitted, f.data)
	}
	if !loseAck {
		f.seq = x.seq
		x.acks = append(x.acks, f)
	}
}

func (x *wire) acknowledge(i int) {
	f := x.acks[i]
	x.acks = slices.Delete(x.acks, i, i+1)
	if !x.w.ack(x.now, f.pass, f.index, f.seq) {
		x.w.fail(x.now)
	}
}

// check holds the promise: what counts as stored has been admitted.
func (x *wire) check() {
	if uint64(len(x.admitted)) < x.w.low {
		x.t.Fatalf("%d events count as stored, %d are admitted", x.w.low, len(x.admitted))
	}
	if x.w.next-x.w.low > windowEvents {
		x.t.Fatalf("%d events on their way", x.w.next-x.w.low)
	}
	flying, all := 0, 0
	for i := x.w.low; i < x.w.end(); i++ {
		all += x.w.at(i).size()
		if i < x.w.next {
			flying += x.w.at(i).size()
		}
	}
	if flying != x.w.flying || all != x.w.bytes {
		x.t.Fatalf("counts %d and %d bytes, they are %d and %d", x.w.flying, x.w.bytes, flying, all)
	}
}

// Whatever the network does, every event is admitted once and in order, and an
// event counts as stored only when it and all before it are admitted.
func TestWindowKeepsOrderOverABadNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &wire{t: t, w: newWindow(), now: time.Unix(1_800_000_000, 0)}
		var want []string
		run, n := 0, 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				if rapid.IntRange(0, 15).Draw(t, "new run") == 0 {
					run, n = run+1, 0
				}
				n++
				name := fmt.Sprintf("r%03d", run)
				data := fmt.Sprintf("%s %d", name, n)
				want = append(want, data)
				x.w.push(entry{data: []byte(data), run: name, counted: true})
			case 3, 4:
				if len(x.onWay) > 0 {
					x.deliver(pick(t, len(x.onWay)), rapid.IntRange(0, 4).Draw(t, "lose ack") == 0)
				}
			case 5:
				if len(x.onWay) > 0 && rapid.IntRange(0, 2).Draw(t, "lose message") == 0 {
					i := pick(t, len(x.onWay))
					x.onWay = slices.Delete(x.onWay, i, i+1)
				}
			case 6, 7:
				if len(x.acks) > 0 {
					x.acknowledge(pick(t, len(x.acks)))
				}
			case 8:
				x.now = x.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
				if x.w.expired(x.now) {
					x.w.fail(x.now)
				}
			case 9:
				if rapid.IntRange(0, 3).Draw(t, "connection lost") == 0 && x.w.next > x.w.low {
					x.w.fail(x.now)
				}
			}
			x.send()
			x.check()
		}
		x.settle(len(want))
		if !slices.Equal(x.admitted, want) {
			t.Fatalf("admitted %v\nwant %v", x.admitted, want)
		}
	})
}

// pick prefers the oldest: disorder is the exception.
func pick(t *rapid.T, n int) int {
	if rapid.IntRange(0, 3).Draw(t, "in order") > 0 {
		return 0
	}
	return rapid.IntRange(0, n-1).Draw(t, "which")
}

// settle lets a good network finish the work.
func (x *wire) settle(n int) {
	for round := 0; x.w.low < uint64(n); round++ {
		if round > 100*n+1000 {
			x.t.Fatalf("stuck at %d of %d", x.w.low, n)
		}
		x.send()
		switch {
		case len(x.onWay) > 0:
			x.deliver(0, false)
		case len(x.acks) > 0:
			x.acknowledge(0)
		default:
			x.now = x.now.Add(ackTimeout)
			if x.w.expired(x.now) {
				x.w.fail(x.now)
			}
		}
		x.check()
	}
}

func fill(w *window, n, size int) {
	for range n {
		w.push(entry{data: make([]byte, size), run: "r", counted: true})
	}
}

func takeAll(w *window, now time.Time) (n int) {
	for {
		if _, ok := w.take(now); !ok {
			return n
		}
		n++
	}
}

func TestWindowBounds(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, row := range map[string]struct{ n, size, want int }{
		"events":        {3000, 10, windowEvents},
		"bytes":         {3000, 100 << 10, windowBytes / (100<<10 + 128)},
		"one too large": {2, windowBytes + 1, 1},
	} {
		w := newWindow()
		fill(w, row.n, row.size)
		if got := takeAll(w, now); got != row.want {
			t.Errorf("%s: %d on their way, want %d", name, got, row.want)
		}
	}
}

func TestWindowAfterAFailure(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	w := newWindow()
	fill(w, 10, 10)
	if takeAll(w, now) != 10 {
		t.Fatal("not all sent")
	}
	w.ack(now, 0, 0, 1)
	w.ack(now, 0, 3, 4) // 1 and 2 are missing
	w.fail(now)
	if w.low != 1 || takeAll(w, w.retry.Add(-1)) != 0 {
		t.Fatal("sent during the pause")
	}
	if takeAll(w, w.retry) != 1 || w.next != 2 {
		t.Fatal("not the lowest alone")
	}
	w.ack(now, 1, 1, 5)
	if w.low != 2 || takeAll(w, now) != 8 {
		t.Fatalf("low %d: what was acknowledged before has to be sent again", w.low)
	}
	for i := uint64(2); i < 10; i++ { // the former acknowledgement of 3 is forgotten
		if !w.ack(now, 1, i, i+4) || w.low != i+1 {
			t.Fatalf("ack of %d: low %d", i, w.low)
		}
	}
}

// A lower sequence than that of the event before means disorder in a window,
// but another stream when the event went alone.
func TestWindowSequencesMustRise(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	w := newWindow()
	fill(w, 3, 10)
	takeAll(w, now)
	w.ack(now, 0, 1, 7)
	if w.ack(now, 0, 0, 8) {
		t.Fatal("stored out of order and counted")
	}
	w.fail(now)
	if w.low != 1 || takeAll(w, w.retry) != 1 {
		t.Fatal("the second is not sent alone")
	}
	if !w.ack(now, 1, 1, 2) || w.low != 2 {
		t.Fatal("stuck on a stream that was made anew")
	}
}

// A slow server may take longer than the timeout for a window, but not for an
// event.
func TestWindowTimeout(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	w := newWindow()
	fill(w, 20, 10)
	takeAll(w, now)
	for i := range uint64(20) {
		now = now.Add(ackTimeout - 1)
		if w.expired(now) || w.wake() != now.Add(1) {
			t.Fatalf("event %d: expired %v, wakes in %s", i, w.expired(now), w.wake().Sub(now))
		}
		w.ack(now, 0, i, i+1)
		if w.low != i+1 {
			t.Fatalf("low %d", w.low)
		}
	}
	fill(w, 2, 10)
	takeAll(w, now)
	w.ack(now.Add(ackTimeout-1), 0, 21, 22) // not the lowest
	if !w.expired(now.Add(ackTimeout)) {
		t.Error("a lost acknowledgement does not expire")
	}
}

// A late acknowledgement of a former pass counts for the lowest event.
func TestWindowTakesLateAcks(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	w := newWindow()
	fill(w, 3, 10)
	takeAll(w, now)
	w.fail(now)
	w.ack(now, 0, 1, 11) // not the lowest: sent again anyway
	w.ack(now, 0, 0, 10)
	if w.low != 1 || w.next != 1 || w.alone {
		t.Fatalf("low %d next %d alone %v", w.low, w.next, w.alone)
	}
}

func TestQuickAck(t *testing.T) {
	for text, want := range map[string]uint64{
		`{"stream":"STENO_EVENTS_0","seq":42}`:                     42,
		`{"stream":"S", "seq":42}`:                                 0, // left to the parser
		`{"stream":"S","seq":42,"duplicate":true}`:                 42,
		`{"stream":"S","seq":}`:                                    0,
		`{"stream":"S","seq":42`:                                   0,
		`{"stream":"S\"","seq":42}`:                                0,
		`{"error":{"code":503},"stream":"S","seq":0}`:              0,
		`{"stream":"S","seq":99999999999999999999999999999999999}`: 0,
	} {
		if got, ok := quickAck([]byte(text)); got != want || ok != (want > 0) {
			t.Errorf("%s: %d %v", text, got, ok)
		}
	}
}
