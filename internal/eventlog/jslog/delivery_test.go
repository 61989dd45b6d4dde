package jslog

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/events"
)

// Each row is something a consumer may say that shows a loss. The tail must
// then read on behind its last record, without loss or repetition.
func TestTailNoticesLostDeliveries(t *testing.T) {
	status := func(code string, more ...string) *nats.Msg {
		h := nats.Header{"Status": {code}}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = []string{more[i+1]}
		}
		return &nats.Msg{Header: h}
	}
	for name, said := range map[string]*nats.Msg{
		"a delivery is missing":     {Sub: &nats.Subscription{}, Subject: "steno.ev.2.s.main", Reply: "$JS.ACK.STENO_EVENTS_0.c.1.9.5.0.0", Data: []byte("9")},
		"a heartbeat counts more":   status("100", "Nats-Last-Consumer", "7"),
		"the consumer was deleted":  status("409", "Description", "Consumer Deleted"),
		"nobody takes requests":     status("503"),
		"a reply without positions": {Sub: &nats.Subscription{}, Subject: "steno.ev.2.s.main", Reply: "x", Data: []byte("9")},
	} {
		t.Run(name, func(t *testing.T) {
			n := natstest.StartNode(t, natstest.NoListen())
			l, err := New(n.JS(), Config{Slots: 16, Streams: n.Topology().Streams, Heartbeat: 25 * time.Second, Watchdog: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			opened, err := l.Tail(t.Context(), events.SessionID("s").Slot(16), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = opened.Close() }()
			tl := opened.(*tail)
			put := func(i int) {
				if _, err := l.Append(t.Context(), "s", "main", fmt.Append(nil, i), ""); err != nil {
					t.Fatal(err)
				}
			}
			next := func(want int) {
				recs, err := tl.Next(t.Context(), nil, 1)
				if err != nil || len(recs) != 1 || string(recs[0].Data) != fmt.Sprint(want) {
					t.Fatalf("read %+v %v, want %d", recs, err, want)
				}
			}
			put(0)
			next(0)
			before := tl.cons
			before.msgs <- said
			put(1)
			next(1)
			if tl.cons == before {
				t.Error("the tail trusts its consumer still")
			}
		})
	}
}

func pageMsg(seq, before string) *nats.Msg {
	return &nats.Msg{Data: []byte("x"), Header: nats.Header{
		"Nats-Sequence": {seq}, "Nats-Last-Sequence": {before}, "Nats-Time-Stamp": {"2026-01-01T00:00:00Z"},
	}}
}

func TestPagesWithHolesAreRefused(t *testing.T) {
	for name, row := range map[string]struct {
		msgs []*nats.Msg
		last string
		want error
	}{
		"whole":              {[]*nats.Msg{pageMsg("3", "0"), pageMsg("7", "3")}, "7", nil},
		"empty":              {nil, "0", nil},
		"first is missing":   {[]*nats.Msg{pageMsg("7", "3")}, "7", errGap},
		"one is missing":     {[]*nats.Msg{pageMsg("3", "0"), pageMsg("9", "7")}, "9", errGap},
		"the end is missing": {[]*nats.Msg{pageMsg("3", "0")}, "7", errGap},
	} {
		t.Run(name, func(t *testing.T) {
			p := page{session: "s", agent: "main"}
			var err error
			for i, m := range row.msgs {
				if err = p.add(m, i == 0); err != nil {
					break
				}
			}
			if err == nil {
				_, err = p.end(&nats.Msg{Header: nats.Header{"Nats-Last-Sequence": {row.last}, "Nats-Num-Pending": {"0"}}}, "204")
			}
			if !errors.Is(err, row.want) || row.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		code int
		text string
		want error
	}{
		{codeTooLarge, "message size exceeds maximum allowed", eventlog.ErrTooLarge},
		{codeStoreFailed, "maximum bytes exceeded", eventlog.ErrFull},
		{codeStoreFailed, "message too large", eventlog.ErrTooLarge},
		{codeStoreFailed, "something else", eventlog.ErrAmbiguous},
		{codeStorage, "insufficient storage resources available", eventlog.ErrFull},
		{codeResources, "insufficient resources", eventlog.ErrFull},
		{10008, "JetStream system temporarily unavailable", eventlog.ErrAmbiguous},
	} {
		if err := refusal(&jetstream.APIError{ErrorCode: jetstream.ErrorCode(row.code), Description: row.text}); !errors.Is(err, row.want) {
			t.Errorf("%d %q: %v, want %v", row.code, row.text, err, row.want)
		}
	}
}
