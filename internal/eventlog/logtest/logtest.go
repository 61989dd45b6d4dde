// Package logtest is the conformance suite of the event log. Every adapter
// runs it.
package logtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Harness makes logs for the suite. Each call of New gives an empty one of 16
// slots.
type Harness struct {
	New func(t *testing.T) eventlog.Log
	// NewLimited gives a log that is full after about 1 MiB of data.
	NewLimited func(t *testing.T) eventlog.Log
	// Put stores a record as a restore does: at its StoredAt, as a placeholder
	// when Lost.
	Put func(t *testing.T, l eventlog.Log, r eventlog.Record)
}

const timeout = 20 * time.Second

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"AppendNumbersUpwards":       testAppend,
		"AppendDeduplicates":         testDuplicate,
		"AppendRefusesTooLarge":      testTooLarge,
		"AppendRefusesWhenFull":      testFull,
		"AppendFromManySides":        testConcurrent,
		"TailReadsAllInOrder":        testTail,
		"TailStartsBehind":           testTailAfter,
		"TailHonoursMax":             testTailMax,
		"LargeRecords":               testLarge,
		"TailEndsWithContextOrClose": testTailEnds,
		"TailReportsPending":         testPending,
		"LiveChainsBySubject":        testLive,
		"LiveEndsWithContextOrClose": testLiveEnds,
		"RangePages":                 testRange,
		"LastAndAgents":              testLastAgents,
		"Bounds":                     testBounds,
		"RestoredRecords":            testRestored,
		"CallersOwnTheirBytes":       testOwnership,
		"BadSlots":                   testBadSlots,
	} {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func add(t *testing.T, l eventlog.Log, s events.SessionID, a events.AgentID, data string) uint64 {
	t.Helper()
	ack, err := l.Append(deadline(t), s, a, []byte(data), "")
	if err != nil {
		t.Fatal(err)
	}
	return ack.StreamSeq
}

func open(t *testing.T, l eventlog.Log, slot int, after uint64) eventlog.Tail {
	t.Helper()
	tail, err := l.Tail(deadline(t), slot, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
	})
	return tail
}

// collect reads until it has n records.
func collect(t *testing.T, tail eventlog.Tail, n int) []eventlog.Record {
	t.Helper()
	var recs []eventlog.Record
	var err error
	for ctx := deadline(t); len(recs) < n; {
		if recs, err = tail.Next(ctx, recs, 100); err != nil {
			t.Fatalf("after %d of %d records: %v", len(recs), n, err)
		}
	}
	if len(recs) > n {
		t.Fatalf("%d records, want %d", len(recs), n)
	}
	return recs
}

func testAppend(t *testing.T, h Harness) {
	l := h.New(t)
	var last uint64
	for i := range 5 {
		seq := add(t, l, "s", "main", fmt.Sprint(i))
		if seq <= last {
			t.Fatalf("sequence %d after %d", seq, last)
		}
		last = seq
	}
}

func testDuplicate(t *testing.T, h Harness) {
	l := h.New(t)
	ctx := deadline(t)
	first, err := l.Append(ctx, "s", "main", []byte("a"), "id-1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.Append(ctx, "s", "main", []byte("a"), "id-1")
	if err != nil {
		t.Fatal(err)
	}
	if first.Duplicate || !again.Duplicate || again.StreamSeq != first.StreamSeq {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if other, err := l.Append(ctx, "s", "main", []byte("a"), "id-2"); err != nil || other.Duplicate {
		t.Errorf("another id: %+v %v", other, err)
	}
}

func testTooLarge(t *testing.T, h Harness) {
	l := h.New(t)
	for _, size := range []int{1<<20 + 64<<10 + 1, 3 << 20} {
		if _, err := l.Append(deadline(t), "s", "main", make([]byte, size), ""); !errors.Is(err, eventlog.ErrTooLarge) {
			t.Errorf("%d bytes: %v, want ErrTooLarge", size, err)
		}
	}
	if _, err := l.Append(deadline(t), "s", "main", make([]byte, 1<<20), ""); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
}

func testFull(t *testing.T, h Harness) {
	l := h.NewLimited(t)
	data := []byte(strings.Repeat("x", 100<<10))
	for range 20 {
		_, err := l.Append(deadline(t), "s", "main", data, "")
		if err == nil {
			continue
		}
		if !errors.Is(err, eventlog.ErrFull) {
			t.Errorf("%v, want ErrFull", err)
		}
		if _, err := l.Last(deadline(t), "s", "main"); err != nil {
			t.Errorf("a full log cannot be read: %v", err)
		}
		return
	}
	t.Error("a log limited to 1 MiB took 2 MB")
}

func testConcurrent(t *testing.T, h Harness) {
	l := h.New(t)
	tail := open(t, l, events.SessionID("s").Slot(16), 0)
	var wg sync.WaitGroup
	for a := range 4 {
		wg.Go(func() {
			for i := range 50 {
				add(t, l, "s", events.AgentID(fmt.Sprintf("a%d", a)), fmt.Sprint(i))
			}
		})
	}
	recs := collect(t, tail, 200)
	wg.Wait()
	next := make(map[events.AgentID]int)
	var last uint64
	for _, r := range recs {
		if string(r.Data) != fmt.Sprint(next[r.Agent]) || r.StreamSeq <= last {
			t.Fatalf("record %d of %s: %q, want %d", r.StreamSeq, r.Agent, r.Data, next[r.Agent])
		}
		next[r.Agent]++
		last = r.StreamSeq
	}
}

// Two sessions of one slot and one of another, with ids that need escaping.
func testTail(t *testing.T, h Harness) {
	l := h.New(t)
	slot := events.SessionID("a.b").Slot(16)
	same, other := sessionsIn(slot), sessionsIn((slot+1)%16)
	tail := open(t, l, slot, 0)
	want := []string{"1", "2", "3", "4"}
	add(t, l, "a.b", "main", "1")
	add(t, l, other, "main", "x")
	add(t, l, same, "sub.1", "2")
	first := collect(t, tail, 2)
	add(t, l, "a.b", "-_.A9", "3")
	add(t, l, "a.b", "main", "4")
	recs := append(first, collect(t, tail, 2)...)
	var got []string
	for _, r := range recs {
		got = append(got, string(r.Data))
		if r.Slot != slot || r.StoredAt.IsZero() || r.StoredAt.Location() != time.UTC || r.Prev != 0 || r.Lost {
			t.Errorf("record %+v", r)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if r := recs[2]; r.Session != "a.b" || r.Agent != "-_.A9" {
		t.Errorf("ids %q %q", r.Session, r.Agent)
	}
}

// sessionsIn finds a session id of a slot.
func sessionsIn(slot int) events.SessionID {
	for i := 0; ; i++ {
		if s := events.SessionID(fmt.Sprintf("s%d", i)); s.Slot(16) == slot {
			return s
		}
	}
}

func testTailAfter(t *testing.T, h Harness) {
	l := h.New(t)
	var seqs []uint64
	for i := range 6 {
		seqs = append(seqs, add(t, l, "s", "main", fmt.Sprint(i)))
	}
	slot := events.SessionID("s").Slot(16)
	if got := collect(t, open(t, l, slot, seqs[2]), 3); string(got[0].Data) != "3" || got[0].StreamSeq != seqs[3] {
		t.Errorf("starts with %q", got[0].Data)
	}
	// Behind the end: only what comes.
	tail := open(t, l, slot, seqs[5])
	add(t, l, "s", "main", "new")
	if got := collect(t, tail, 1); string(got[0].Data) != "new" {
		t.Errorf("read %q", got[0].Data)
	}
}

func testTailMax(t *testing.T, h Harness) {
	l := h.New(t)
	for i := range 10 {
		add(t, l, "s", "main", fmt.Sprint(i))
	}
	tail := open(t, l, events.SessionID("s").Slot(16), 0)
	kept := eventlog.Record{Data: []byte("kept")}
	var n int
	for n < 10 {
		recs, err := tail.Next(deadline(t), []eventlog.Record{kept}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(recs) < 2 || len(recs) > 4 || string(recs[0].Data) != "kept" {
			t.Fatalf("%d records with max 3", len(recs)-1)
		}
		for _, r := range recs[1:] {
			if string(r.Data) != fmt.Sprint(n) {
				t.Fatalf("record %q, want %d", r.Data, n)
			}
			n++
		}
	}
}

// More large records than a reader's buffers hold, with small ones between.
func testLarge(t *testing.T, h Harness) {
	l := h.New(t)
	large := strings.Repeat("x", 900<<10)
	const n = 40
	for i := range n {
		data := fmt.Sprint(i)
		if i%2 == 0 {
			data += large
		}
		add(t, l, "s", "main", data)
	}
	ranged, err := l.Range(deadline(t), "s", "main", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for how, recs := range map[string][]eventlog.Record{
		"tail": collect(t, open(t, l, events.SessionID("s").Slot(16), 0), n), "range": ranged,
	} {
		if len(recs) != n {
			t.Fatalf("%s: %d records, want %d", how, len(recs), n)
		}
		for i, r := range recs {
			want := len(fmt.Sprint(i))
			if i%2 == 0 {
				want += len(large)
			}
			if len(r.Data) != want || !strings.HasPrefix(string(r.Data), fmt.Sprint(i)) {
				t.Fatalf("%s: record %d has %d bytes", how, i, len(r.Data))
			}
		}
	}
}

func testTailEnds(t *testing.T, h Harness) {
	l := h.New(t)
	ends(t, open(t, l, 3, 0))
}

func testLiveEnds(t *testing.T, h Harness) {
	l := h.New(t)
	live, err := l.Live(deadline(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	ends(t, live)
}

// ends checks that a waiting Next returns when its context ends, and when the
// tail is closed, and that Close may be repeated.
func ends(t *testing.T, tail eventlog.Tail) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	wait := func(ctx context.Context) {
		_, err := tail.Next(ctx, nil, 1)
		result <- err
	}
	go wait(ctx)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	go wait(t.Context())
	for range 2 {
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-result; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := tail.Next(t.Context(), nil, 1); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func testPending(t *testing.T, h Harness) {
	l := h.New(t)
	for range 10 {
		add(t, l, "s", "main", "x")
	}
	tail := open(t, l, events.SessionID("s").Slot(16), 0)
	if _, err := tail.Next(deadline(t), nil, 1); err != nil {
		t.Fatal(err)
	}
	if n := tail.Pending(); n != 9 {
		t.Errorf("pending %d after 1 of 10", n)
	}
}

func testLive(t *testing.T, h Harness) {
	l := h.New(t)
	before := add(t, l, "s", "main", "before")
	live, err := l.Live(deadline(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	one := add(t, l, "s", "main", "1")
	add(t, l, "other", "main", "x")
	two := add(t, l, "s", "sub", "2")
	three := add(t, l, "s", "main", "3")
	recs := collect(t, live, 3)
	for i, want := range []eventlog.Record{
		{Agent: "main", StreamSeq: one, Prev: before},
		{Agent: "sub", StreamSeq: two, Prev: 0},
		{Agent: "main", StreamSeq: three, Prev: one},
	} {
		r := recs[i]
		if r.Session != "s" || r.Agent != want.Agent || r.StreamSeq != want.StreamSeq || r.Prev != want.Prev ||
			string(r.Data) != fmt.Sprint(i+1) || r.Slot != r.Session.Slot(16) || r.StoredAt.IsZero() {
			t.Errorf("record %d: %+v, want %+v", i, r, want)
		}
	}
	if live.Pending() != 0 {
		t.Error("a live reader has no pending count")
	}
}
