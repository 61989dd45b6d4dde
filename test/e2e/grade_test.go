package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestGrades: a subscriber never gets finer operations than its grade, live
// and in its baseline, and a coarser one still gets what its grade holds.
func TestGrades(t *testing.T) {
	s := startUp(t, "recorder,projector,gateway")
	const session = "graded"
	// A part before anybody watches, so that there is a baseline.
	if code, _, errs := call(t, deltas(0, 5), "steno", "publish", "--nats-url", s.natsURL(), session); code != 0 {
		t.Fatal(errs)
	}
	watchers := map[string]*subscriber{}
	for _, grade := range []string{"turn", "block", "delta"} {
		watchers[grade] = subscribe(t, s, session, grade)
	}
	if code, _, errs := call(t, deltas(1, 50), "steno", "publish", "--nats-url", s.natsURL(), session); code != 0 {
		t.Fatal(errs)
	}
	end := uint64(len(s.messages(session, "main")))
	allowed := map[string][]string{
		"turn": {
			"turn.upsert", "marker.upsert", "taskref.upsert", "task.upsert", "interaction.upsert", "attachment.upsert",
			"todo.upsert", "prompt.upsert", "meta.merge", "items.remove", "reset",
		},
	}
	allowed["block"] = append([]string{"step.upsert", "frame.upsert"}, allowed["turn"]...)
	allowed["delta"] = append([]string{"append"}, allowed["block"]...)
	for _, grade := range []string{"turn", "block", "delta"} {
		kinds, steps := watchers[grade].until(end)
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			if !slices.Contains(allowed[grade], kind) {
				t.Errorf("grade %s got %s %d times", grade, kind, kinds[kind])
			}
		}
		if kinds["turn.upsert"] == 0 {
			t.Errorf("grade %s got no turn: %v", grade, kinds)
		}
		if fine := map[string]string{"block": "frame.upsert", "delta": "append"}[grade]; fine != "" && kinds[fine] == 0 {
			t.Errorf("grade %s got no %s: %v", grade, fine, kinds)
		}
		if (steps > 0) != (grade != "turn") {
			t.Errorf("grade %s has %d steps in its baseline", grade, steps)
		}
	}
}

// deltas is a turn of streamed text.
func deltas(turn, n int) string {
	out := fmt.Sprintf(`{"event_type":"turn.started","payload":{"turnId":%d,"prompt":"go"}}`+"\n", turn)
	for i := range n {
		out += fmt.Sprintf(`{"event_type":"assistant.delta","payload":{"delta":"word %d "}}`+"\n", i)
	}
	out += `{"event_type":"tool.call.started","payload":{"toolCallId":"c","name":"Bash","args":{"command":"ls"}}}` + "\n"
	out += `{"event_type":"tool.result","payload":{"toolCallId":"c","output":"done"}}` + "\n"
	out += `{"event_type":"compaction.completed","payload":{}}` + "\n"
	return out + `{"event_type":"turn.ended","payload":{"reason":"completed"}}` + "\n"
}

// subscriber is a bare WebSocket client.
type subscriber struct {
	t    *testing.T
	conn *websocket.Conn
}

func subscribe(t *testing.T, s *system, session, grade string) *subscriber {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+s.gateway+"/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(16 << 20)
	sub := &subscriber{t: t, conn: conn}
	sub.send(`{"type":"client_hello","id":"1","payload":{"client_id":"e2e","capabilities":["prev_seq"]}}`)
	sub.send(fmt.Sprintf(`{"type":"subscribe_v2","id":"2","payload":{"session_id":%q,"transcript":{"*":%q}}}`, session, grade))
	for {
		var f frame
		if sub.read(&f); f.Type == "ack" && f.ID == "2" {
			if f.Code != 0 {
				t.Fatalf("subscribe: %s", f.Msg)
			}
			return sub
		}
	}
}

type frame struct {
	Type, ID, Msg string
	Code          int
	Payload       struct {
		Agent    string `json:"agent_id"`
		Seq      uint64
		Ops      []struct{ Op, Kind, Type string }
		Snapshot struct {
			Items []struct {
				Steps []json.RawMessage
			}
		}
	}
}

func (s *subscriber) send(text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *subscriber) read(f *frame) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	_, data, err := s.conn.Read(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(data, f); err != nil {
		s.t.Fatalf("%v in %.300s", err, data)
	}
}

// until reads up to a watermark: the kinds of operations, and the steps of
// baselines. Below delta the watermark comes with the next beat, so the last
// turn's end serves too.
func (s *subscriber) until(seq uint64) (kinds map[string]int, steps int) {
	s.t.Helper()
	kinds = make(map[string]int)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		var f frame
		s.read(&f)
		for _, item := range f.Payload.Snapshot.Items {
			steps += len(item.Steps)
		}
		for _, op := range f.Payload.Ops {
			kinds[op.Op+op.Kind+op.Type]++
		}
		if f.Payload.Agent == "main" && f.Payload.Seq >= seq {
			return kinds, steps
		}
	}
	s.t.Fatalf("no watermark %d", seq)
	return nil, 0
}
