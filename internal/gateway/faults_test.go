package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

// saveHead does what a projector does with an agent's fold.
func (r *rig) saveHead(s, a string, value []byte) {
	r.t.Helper()
	id := events.SessionID(s)
	key := statestore.AgentKey(statestore.PrefixHead, id.Slot(r.log.Slots()), id.Token(), events.AgentID(a).Token())
	e, _ := r.state.Get(r.t.Context(), key)
	if _, err := r.state.Put(r.t.Context(), statestore.Write{Key: key, Value: value, Expect: e.Rev}); err != nil {
		r.t.Fatal(err)
	}
}

// A gateway that begins at a head, at any point of the log, serves what one
// that folds everything serves; with the log behind the head trimmed too.
func TestBeginsAtTheHead(t *testing.T) {
	for _, trimmed := range []bool{false, true} {
		for _, at := range []uint64{1, 40, 90, 0} {
			t.Run(fmt.Sprintf("head %d trimmed %t", at, trimmed), func(t *testing.T) {
				r := newRig(t, nil)
				fill(r, "s", "main", 120)
				want := r.folded("s", "main")
				head := r.foldedTo("s", "main", at)
				if at == 0 {
					head = want
				}
				r.saveHead("s", "main", head.Encode().Head)
				if trimmed {
					r.log.Trim(head.StreamSeq())
				}
				for _, g := range []grade.Grade{grade.Turn, grade.Block, grade.Delta} {
					c := r.dial(protocol.CapabilityAppendInput)
					c.grade = g
					c.watch("s", grade.Spec{"*": g}, nil, "")
					c.reaches("main", want.Seq())
					if got, want := c.state("main"), wantState(want, g); got != want {
						t.Errorf("at %s holds\n%s\nthe fold\n%s", g, got, want)
					}
				}
				_, data := r.get("/v1/sessions/s/transcript/ops?since_seq=0")
				c, err := protocol.DecodeCatchUp(data)
				if err != nil || c.Complete == trimmed || c.LatestSeq != want.Seq() {
					t.Errorf("catch-up from 0: complete %t latest %d (%v)", c.Complete, c.LatestSeq, err)
				}
				_, data = r.get(fmt.Sprintf("/v1/sessions/s/transcript/ops?since_seq=%d", head.Seq()))
				if c, err = protocol.DecodeCatchUp(data); err != nil || !c.Complete || len(c.Batches) != int(want.Seq()-head.Seq()) {
					t.Errorf("catch-up from the head: complete %t, %d batches (%v)", c.Complete, len(c.Batches), err)
				}
			})
		}
	}
}

// A head that this build cannot continue is no obstacle: the log has it all.
func TestHeadOfAnotherFold(t *testing.T) {
	r := newRig(t, nil)
	fill(r, "s", "main", 60)
	r.saveHead("s", "main", []byte(`{"position":{"seq":30,"stream_seq":30}}`))
	c := r.dial(protocol.CapabilityAppendInput)
	c.watch("s", grade.Spec{"*": grade.Delta}, nil, "")
	want := r.folded("s", "main")
	c.reaches("main", want.Seq())
	if got, want := c.state("main"), wantState(want, grade.Delta); got != want {
		t.Errorf("holds\n%s\nthe fold\n%s", got, want)
	}
}

// While the log cannot be reached nobody is told anything wrong; afterwards
// watchers go on where they were.
func TestLogOutage(t *testing.T) {
	r := newRig(t, func(r *rig) { r.limits.CatchUp = 300 * time.Millisecond })
	w := &writer{r: r, rnd: rand.New(rand.NewPCG(3, 3)), s: "s", a: "main"}
	for range 30 {
		w.next()
	}
	c := r.dial(protocol.CapabilityAppendInput)
	c.watch("s", grade.Spec{"*": grade.Delta}, nil, "")
	c.reaches("main", r.folded("s", "main").Seq())
	for range 3 {
		r.log.SetOffline(true)
		if resp, data := r.get("/v1/sessions/other"); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("an unknown session without a log: %s %s", resp.Status, data)
		}
		r.log.SetOffline(false)
		for range 20 {
			w.next()
		}
	}
	w.end()
	want := r.folded("s", "main")
	c.reaches("main", want.Seq())
	if got, want := c.state("main"), wantState(want, grade.Delta); got != want {
		t.Errorf("holds\n%s\nthe fold\n%s", got, want)
	}
	if c.resets["main"] != 1 {
		t.Errorf("%d resets", c.resets["main"])
	}
}

// A replica that lags delays, it never makes a gap or an early end.
func TestLaggingReplica(t *testing.T) {
	r := newRig(t, nil)
	fill(r, "s", "main", 50)
	r.log.SetRangeLag(20)
	r.log.SetFaults(memlog.Faults{Live: func(eventlog.Record) bool { return true }})
	c := r.dial(protocol.CapabilityAppendInput)
	sub := protocol.Subscribe{SessionID: "s", Transcript: grade.Spec{"*": grade.Delta}}
	c.send(protocol.TypeSubscribe, sub.AppendJSON(nil))
	fill(r, "s", "main", 50)
	r.log.SetRangeLag(math.MaxUint64)
	want := r.folded("s", "main")
	c.reaches("main", want.Seq())
	if got, want := c.state("main"), wantState(want, grade.Delta); got != want {
		t.Errorf("holds\n%s\nthe fold\n%s", got, want)
	}
}

// The wire route gives every stored message once, in order, as it was
// published, invalid and lost ones too.
func TestWire(t *testing.T) {
	r := newRig(t, nil)
	fill(r, "s", "main", 20)
	if _, err := r.log.Append(t.Context(), "s", "main", []byte(`not JSON`), ""); err != nil {
		t.Fatal(err)
	}
	r.log.Put(eventlog.Record{Session: "s", Agent: "main", Lost: true})
	fill(r, "s", "main", 20)
	recs, err := r.log.Range(t.Context(), "s", "main", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, since := range []int{0, 7, len(recs) - 1, len(recs)} {
		_, body := r.get(fmt.Sprintf("/v1/sessions/s/wire?since_seq=%d", since))
		lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
		if len(body) == 0 {
			lines = nil
		}
		if len(lines) != len(recs)-since {
			t.Fatalf("since %d: %d lines of %d records", since, len(lines), len(recs))
		}
		for i, line := range lines {
			rec := recs[since+i]
			var pos struct {
				Type      string
				Seq       uint64 `json:"seq"`
				StreamSeq uint64 `json:"stream_seq"`
				Raw       []byte
			}
			if err := json.Unmarshal(line, &pos); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if pos.Seq != uint64(since+i+1) || pos.Type != "lost" && pos.StreamSeq != rec.StreamSeq {
				t.Errorf("record %d: %s", since+i+1, line)
			}
			if pos.Type == "" && !bytes.HasPrefix(line, rec.Data[:len(rec.Data)-1]) {
				t.Errorf("%s\nis not\n%s", line, rec.Data)
			}
			if pos.Type == "invalid" && string(pos.Raw) != "not JSON" {
				t.Errorf("invalid: %s", line)
			}
		}
	}
}
