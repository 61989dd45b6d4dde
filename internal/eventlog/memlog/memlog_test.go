package memlog_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/logtest"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/pkg/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	logtest.Run(t, logtest.Harness{
		New:        func(*testing.T) eventlog.Log { return memlog.New(16) },
		NewLimited: func(*testing.T) eventlog.Log { return memlog.New(16, memlog.WithByteLimit(1<<20)) },
		Put:        func(_ *testing.T, l eventlog.Log, r eventlog.Record) { l.(*memlog.Log).Put(r) },
	})
}

func TestAppendFaults(t *testing.T) {
	l := memlog.New(16)
	ctx := t.Context()
	for fault, want := range map[memlog.Fault]struct {
		err    error
		stored int
	}{
		memlog.LoseAck:     {eventlog.ErrAmbiguous, 1},
		memlog.LoseMessage: {eventlog.ErrAmbiguous, 0},
		memlog.Full:        {eventlog.ErrFull, 0},
	} {
		l.Purge("s", "main")
		l.SetFaults(memlog.Faults{Append: func(events.SessionID, events.AgentID, []byte) memlog.Fault { return fault }})
		if _, err := l.Append(ctx, "s", "main", []byte("x"), ""); !errors.Is(err, want.err) {
			t.Errorf("fault %d: %v, want %v", fault, err, want.err)
		}
		recs, err := l.Range(ctx, "s", "main", 0, 10)
		if err != nil || len(recs) != want.stored {
			t.Errorf("fault %d: %d stored, want %d (%v)", fault, len(recs), want.stored, err)
		}
	}
}

func TestLiveFaultShowsInPrev(t *testing.T) {
	l := memlog.New(16)
	live, err := l.Live(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	l.SetFaults(memlog.Faults{Live: func(r eventlog.Record) bool { return r.StreamSeq == 2 }})
	for range 3 {
		if _, err := l.Append(t.Context(), "s", "main", []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
	}
	recs, err := live.Next(t.Context(), nil, 10)
	if err != nil || len(recs) != 2 || recs[1].StreamSeq != 3 || recs[1].Prev != 2 {
		t.Errorf("live %+v %v", recs, err)
	}
}

func TestOfflineHoldLagTrimReplace(t *testing.T) {
	l := memlog.New(16)
	ctx := t.Context()
	put := func() {
		if _, err := l.Append(ctx, "s", "main", []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
	}
	put()
	put()
	put()
	tail, err := l.Tail(ctx, events.SessionID("s").Slot(16), 0)
	if err != nil {
		t.Fatal(err)
	}
	l.Hold(1)
	if recs, err := tail.Next(ctx, nil, 10); err != nil || len(recs) != 1 {
		t.Fatalf("held tail: %d %v", len(recs), err)
	}
	l.Release()
	l.SetOffline(true)
	if _, err := l.Last(ctx, "s", "main"); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Errorf("offline read: %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if recs, err := tail.Next(short, nil, 10); !errors.Is(err, context.Canceled) || len(recs) != 0 {
		t.Errorf("offline tail: %d %v", len(recs), err)
	}
	l.SetOffline(false)
	if recs, err := tail.Next(ctx, nil, 10); err != nil || len(recs) != 2 {
		t.Errorf("tail back online: %d %v", len(recs), err)
	}
	l.SetRangeLag(2)
	if recs, err := l.Range(ctx, "s", "main", 0, 10); err != nil || len(recs) != 2 {
		t.Errorf("lagging range: %d %v", len(recs), err)
	}
	l.Trim(2)
	if b, err := l.Bounds(ctx, 0); err != nil || b.First != 3 || b.Last != 3 {
		t.Errorf("trimmed: %+v %v", b, err)
	}
	l.Replace()
	if _, err := tail.Next(ctx, nil, 10); !errors.Is(err, eventlog.ErrReplaced) {
		t.Errorf("replaced: %v", err)
	}
}
