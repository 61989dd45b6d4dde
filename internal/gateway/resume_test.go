package gateway

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
)

func fill(r *rig, s, a string, n int) {
	w := &writer{r: r, rnd: rand.New(rand.NewPCG(7, 7)), s: s, a: a}
	for range n {
		w.next()
	}
	w.end()
}

// A client that comes back with its cursor, to a gateway that has been started
// anew, is told what it missed and gets no reset.
func TestCursorOutlivesTheGateway(t *testing.T) {
	for _, g := range []grade.Grade{grade.Turn, grade.Block, grade.Delta} {
		t.Run(g.String(), func(t *testing.T) {
			r := newRig(t, nil)
			fill(r, "s", "main", 200)
			c := r.dial(protocol.CapabilityAppendInput)
			c.grade = g
			c.watch("s", grade.Spec{"main": g}, nil, "")
			end := r.folded("s", "main").Seq()
			c.reaches("main", end)
			rep := c.replicas["main"]

			r.stop()
			c.until("closed with 1001", func() bool { return websocket.CloseStatus(c.err) == websocket.StatusGoingAway })
			fill(r, "s", "main", 100)
			r.start()

			c = r.dial(protocol.CapabilityAppendInput)
			c.grade = g
			c.replicas["main"] = rep
			c.watch("s", grade.Spec{"main": g}, map[string]uint64{"main": rep.Seq()}, rep.Epoch())
			want := r.folded("s", "main")
			c.reaches("main", want.Seq())
			if c.resets["main"] != 0 {
				t.Errorf("%d resets for a client with a cursor", c.resets["main"])
			}
			if got, want := c.state("main"), wantState(want, g); got != want {
				t.Errorf("holds\n%s\nthe fold\n%s", got, want)
			}
		})
	}
}

func TestCursors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		since  uint64
		epoch  string // "" is the session's
		resets int
	}{
		{"at the end", 42, "", 0},
		{"in the middle", 20, "", 0},
		{"at the beginning", 0, "", 0},
		{"ahead of the log", 4000, "", 1},
		{"of another epoch", 20, "aaaaaaaaaaaaaaaa.1", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			for range 42 {
				r.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
			}
			var page struct{ Epoch string }
			r.getJSON("/v1/sessions/s/transcript", &page)
			if tc.epoch == "" {
				tc.epoch = page.Epoch
			}
			c := r.dial()
			rep := protocol.NewReplica("main")
			had := r.foldedTo("s", "main", tc.since)
			rep.Reset(&protocol.Reset{AgentID: "main", Snapshot: had.Snapshot(-1), Seq: had.Seq(), Epoch: page.Epoch})
			c.replicas["main"] = rep
			c.watch("s", grade.Spec{"main": grade.Delta}, map[string]uint64{"main": tc.since}, tc.epoch)
			r.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			c.reaches("main", 43)
			if c.resets["main"] != tc.resets {
				t.Errorf("%d resets, want %d", c.resets["main"], tc.resets)
			}
			if want := int(43 - min(tc.since, 42)); tc.resets == 0 && c.batches["main"] != want {
				t.Errorf("%d batches, want %d", c.batches["main"], want)
			}
		})
	}
}

// Event streams resume with Last-Event-ID.
func TestStreamResumes(t *testing.T) {
	r := newRig(t, nil)
	for range 10 {
		r.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
	}
	first := r.sse("/v1/sessions/s/stream", "", 2)
	if first[0].event != protocol.TypeAgentsUpdate || first[1].event != protocol.TypeReset {
		t.Fatalf("a stream begins with %s, %s", first[0].event, first[1].event)
	}
	for range 3 {
		r.publish("s", "main", "assistant.delta", `{"delta":"y"}`)
	}
	again := r.sse("/v1/sessions/s/stream", first[1].id, 4)
	for i, e := range again[1:] {
		m, err := protocol.DecodeOpsFrame([]byte(e.data))
		if e.event != protocol.TypeOps || err != nil || m.Seq != uint64(11+i) || m.PrevSeq != uint64(10+i) {
			t.Errorf("event %d is %s %s (%v)", i, e.event, e.data, err)
		}
	}
}

type sseEvent struct{ event, id, data string }

func (r *rig) sse(path, last string, n int) []sseEvent {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.addr+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		r.t.Fatalf("content type %s", ct)
	}
	var out []sseEvent
	var e sseEvent
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for len(out) < n && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			e.event = value
		case "id":
			e.id = value
		case "data":
			e.data += value
		case "":
			if e.event != "" {
				out = append(out, e)
			}
			e = sseEvent{}
		}
	}
	if len(out) < n {
		r.t.Fatalf("the stream ended after %d events: %v", len(out), lines.Err())
	}
	return out
}

// A session that nobody has written to yet can be watched.
func TestSessionThatDoesNotExistYet(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	c.watch("later", grade.Spec{"*": grade.Delta}, nil, "")
	var answer struct {
		NotFound []string `json:"not_found"`
	}
	if err := json.Unmarshal(c.acks[0].Payload, &answer); err != nil || len(answer.NotFound) != 1 {
		t.Errorf("ack %s (%v)", c.acks[0].Payload, err)
	}
	fill(r, "later", "main", 20)
	c.reaches("main", r.folded("later", "main").Seq())
}
