package logtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Range over more records than any page holds, among those of another agent.
func testRange(t *testing.T, h Harness) {
	l := h.New(t)
	const n = 2300
	seqs := fill(t, l, n)
	ctx := deadline(t)
	for _, c := range []struct {
		after       uint64
		limit, want int
		first       int
	}{
		{0, n + 10, n, 0},
		{0, n, n, 0},
		{0, 10, 10, 0},
		{0, 1000, 1000, 0},
		{0, 1001, 1001, 0},
		{seqs[9], 5, 5, 10},
		{seqs[n-3], 10, 2, n - 2},
		{seqs[n-1], 10, 0, 0},
		{seqs[n-1] + 1000, 10, 0, 0},
	} {
		recs, err := l.Range(ctx, "s", "main", c.after, c.limit)
		if err != nil || len(recs) != c.want {
			t.Fatalf("after %d limit %d: %d records, %v, want %d", c.after, c.limit, len(recs), err, c.want)
		}
		for i, r := range recs {
			if r.StreamSeq != seqs[c.first+i] || string(r.Data) != fmt.Sprint(c.first+i) || r.Session != "s" || r.Agent != "main" {
				t.Fatalf("after %d limit %d: record %d is %+v", c.after, c.limit, i, r)
			}
		}
	}
	if recs, err := l.Range(ctx, "nobody", "main", 0, 10); err != nil || len(recs) != 0 {
		t.Errorf("an agent without records: %d, %v", len(recs), err)
	}
}

// fill stores n records of s/main, and one of s/sub after every tenth.
func fill(t *testing.T, l eventlog.Log, n int) []uint64 {
	t.Helper()
	seqs := make([]uint64, n)
	ctx := deadline(t)
	for i := range n {
		ack, err := l.Append(ctx, "s", "main", []byte(fmt.Sprint(i)), "")
		if err != nil {
			t.Fatal(err)
		}
		seqs[i] = ack.StreamSeq
		if i%10 == 9 {
			add(t, l, "s", "sub", "x")
		}
	}
	return seqs
}

func testLastAgents(t *testing.T, h Harness) {
	l := h.New(t)
	ctx := deadline(t)
	if _, err := l.Last(ctx, "s.1", "main"); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("last of nothing: %v", err)
	}
	if agents, err := l.Agents(ctx, "s.1"); err != nil || len(agents) != 0 {
		t.Errorf("agents of nothing: %v %v", agents, err)
	}
	add(t, l, "s.1", "main", "1")
	seq := add(t, l, "s.1", "main", "2")
	add(t, l, "s.1", "sub.x", "3")
	add(t, l, "s", "stranger", "4")
	r, err := l.Last(ctx, "s.1", "main")
	if err != nil {
		t.Fatal(err)
	}
	if r.StreamSeq != seq || string(r.Data) != "2" || r.Session != "s.1" || r.Agent != "main" || r.Slot != r.Session.Slot(16) || r.StoredAt.IsZero() {
		t.Errorf("last %+v", r)
	}
	agents, err := l.Agents(ctx, "s.1")
	slices.Sort(agents)
	if err != nil || !slices.Equal(agents, []events.AgentID{"main", "sub.x"}) {
		t.Errorf("agents %v, %v", agents, err)
	}
}

func testBounds(t *testing.T, h Harness) {
	l := h.New(t)
	b, err := l.Bounds(deadline(t), 0)
	if err != nil || b.First != 1 || b.Last != 0 || b.Stream.Name == "" || b.Stream.Created.IsZero() {
		t.Fatalf("empty: %+v %v", b, err)
	}
	first := add(t, l, "s", "main", "1")
	last := add(t, l, "s", "main", "2")
	after, err := l.Bounds(deadline(t), 0)
	if err != nil || after.First != first || after.Last != last || after.Stream != b.Stream {
		t.Errorf("two records: %+v %v", after, err)
	}
}

func testRestored(t *testing.T, h Harness) {
	l := h.New(t)
	at := time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.UTC)
	live, err := l.Live(deadline(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	h.Put(t, l, eventlog.Record{Session: "s", Agent: "main", StoredAt: at, Data: []byte("old")})
	h.Put(t, l, eventlog.Record{Session: "s", Agent: "main", StoredAt: at, Lost: true})
	ranged, err := l.Range(deadline(t), "s", "main", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	last, err := l.Last(deadline(t), "s", "main")
	if err != nil {
		t.Fatal(err)
	}
	for how, recs := range map[string][]eventlog.Record{
		"tail":  collect(t, open(t, l, events.SessionID("s").Slot(16), 0), 2),
		"live":  collect(t, live, 2),
		"range": ranged,
		"last":  {ranged[0], last},
	} {
		if r := recs[0]; string(r.Data) != "old" || !r.StoredAt.Equal(at) || r.Lost {
			t.Errorf("%s: restored record %+v", how, r)
		}
		if r := recs[1]; len(r.Data) != 0 || !r.Lost || !r.StoredAt.Equal(at) {
			t.Errorf("%s: placeholder %+v", how, r)
		}
	}
}

func testOwnership(t *testing.T, h Harness) {
	l := h.New(t)
	data := []byte("mine")
	if _, err := l.Append(deadline(t), "s", "main", data, ""); err != nil {
		t.Fatal(err)
	}
	copy(data, "****")
	add(t, l, "s", "main", "next")
	recs := collect(t, open(t, l, events.SessionID("s").Slot(16), 0), 2)
	if string(recs[0].Data) != "mine" || string(recs[1].Data) != "next" {
		t.Errorf("records %q %q", recs[0].Data, recs[1].Data)
	}
}

func testBadSlots(t *testing.T, h Harness) {
	l := h.New(t)
	if l.Slots() != 16 {
		t.Fatalf("%d slots", l.Slots())
	}
	for _, slot := range []int{-1, 16} {
		if tail, err := l.Tail(deadline(t), slot, 0); err == nil {
			_ = tail.Close()
			t.Errorf("tail of slot %d", slot)
		}
		if _, err := l.Bounds(deadline(t), slot); err == nil {
			t.Errorf("bounds of slot %d", slot)
		}
	}
}
