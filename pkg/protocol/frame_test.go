package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/opgen"
	"github.com/stenohq/steno/internal/schematest"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

func TestEpoch(t *testing.T) {
	want := "ikqe3wptpgoi6p5r.1"
	if got := Epoch("topology", "session", 0, 1); len(got) != 18 || !strings.HasSuffix(got, ".1") || got != want {
		t.Errorf("%s, want %s", got, want)
	}
	seen := map[string]bool{}
	for _, e := range []string{
		Epoch("t", "s", 0, 1), Epoch("t", "s", 1, 1), Epoch("t", "s", 0, 2), Epoch("ts", "", 0, 1),
		Epoch("t", "s1", 0, 1), Epoch("t", "s", 10, 1), Epoch("t", "s1", 1, 1),
	} {
		if seen[e] {
			t.Errorf("%s twice", e)
		}
		seen[e] = true
	}
}

func TestCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cursor{Epoch: "e.1", Seqs: map[string]uint64{}}
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			c.Seqs[rapid.StringMatching(`[A-Za-z0-9._-]{1,128}`).Draw(t, "agent")] = rapid.Uint64().Draw(t, "seq")
		}
		got, err := ParseCursor(c.String())
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%v %v, want %v", got, err, c)
		}
	})
	many := Cursor{Epoch: "e.1", Seqs: map[string]uint64{}}
	for i := range 1000 {
		many.Seqs[fmt.Sprintf("%s-%d", strings.Repeat("a", 100), i)] = uint64(i)
	}
	if s := many.String(); len(s) > 4<<10 || !strings.Contains(s, "-999=999") || strings.Contains(s, "-1=1,") {
		t.Errorf("%d bytes", len(s))
	}
	for _, bad := range []string{"", "x", ":a=1", "e:a", "e:=1", "e:a=-1", "e:a=1,", "e:a=99999999999999999999", "e:" + strings.Repeat("a", 5000)} {
		if c, err := ParseCursor(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v %v", bad, c, err)
		}
	}
}

// TestControl reads back every payload.
func TestControl(t *testing.T) {
	hello := ServerHello{ConnectionID: "c", HeartbeatMs: 10_000, MaxEventBufferSize: 5, EventBatching: true, PrevSeq: true}
	client := ClientHello{ClientID: "x", Subscriptions: []string{"s"}, Cursors: map[string]SessionCursor{"s": {7, "e"}}, AgentFilter: []byte(`{"a":1}`), Capabilities: []string{CapabilityPrevSeq}}
	subscribe := Subscribe{SessionID: "s", Transcript: grade.Spec{"*": grade.Turn, "main": grade.Delta}, Since: map[string]uint64{"main": 4}, Epoch: "e", WindowTurns: reducer.Some(0)}
	unsubscribe := Unsubscribe{SessionID: "s", AgentIDs: []string{"a"}, HasAgents: true}
	sessions := SubscribeSessions{State: "running", Query: `"q"`}
	subscribed := Subscribed{Accepted: []string{"s"}, NotFound: []string{"t"}, ResyncRequired: []string{"u"}, Cursors: map[string]SessionCursor{"s": {1, "e"}}}
	greeted := Subscribed{Hello: true, Accepted: []string{"s"}, Cursors: map[string]SessionCursor{}}
	resync := Resync{SessionID: "s", Reason: ReasonEpochChanged, CurrentSeq: 3, Epoch: "e"}
	beat := Heartbeat{Nonce: "n"}
	for _, c := range []struct {
		typ     string
		payload []byte
		read    func([]byte) (any, error)
		want    any
	}{
		{TypeServerHello, hello.AppendJSON(nil), readAny(DecodeServerHello), hello},
		{TypeClientHello, client.AppendJSON(nil), readAny(DecodeClientHello), client},
		{TypeSubscribe, subscribe.AppendJSON(nil), readAny(DecodeSubscribe), subscribe},
		{TypeUnsubscribe, unsubscribe.AppendJSON(nil), readAny(DecodeUnsubscribe), unsubscribe},
		{TypeSubscribeSessions, sessions.AppendJSON(nil), readAny(DecodeSubscribeSessions), sessions},
		{TypeAck, subscribed.AppendJSON(nil), readAny(DecodeSubscribed), subscribed},
		{TypeAck, greeted.AppendJSON(nil), readAny(DecodeSubscribed), greeted},
		{TypeResyncRequired, resync.AppendJSON(nil), readAny(DecodeResync), resync},
		{TypePing, beat.AppendJSON(nil), readAny(DecodeHeartbeat), beat},
	} {
		frame := Control{Type: c.typ, ID: `"7"`, Payload: c.payload}
		if c.typ == TypeAck {
			frame.Code, frame.Msg = -3, "no"
		}
		back, err := DecodeControl(frame.AppendJSON(nil))
		if err != nil || !reflect.DeepEqual(back, frame) {
			t.Errorf("%s: %+v %v, want %+v", c.typ, back, err, frame)
			continue
		}
		if got, err := c.read(back.Payload); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v %v, want %+v", c.typ, got, err, c.want)
		}
	}
}

func readAny[T any](read func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return read(b) }
}

func TestControlRefuses(t *testing.T) {
	for name, err := range map[string]error{
		"no object":            second(DecodeControl([]byte(`[]`))),
		"no type":              second(DecodeControl([]byte(`{"id":"1"}`))),
		"id an object":         second(DecodeControl([]byte(`{"type":"x","id":{}}`))),
		"payload a number":     second(DecodeControl([]byte(`{"type":"x","payload":1}`))),
		"W9 no session":        second(DecodeSubscribe([]byte(`{"transcript":{}}`))),
		"W9 no grades":         second(DecodeSubscribe([]byte(`{"session_id":"s"}`))),
		"W9 unknown grade":     second(DecodeSubscribe([]byte(`{"session_id":"s","transcript":{"main":"stream"}}`))),
		"negative since":       second(DecodeSubscribe([]byte(`{"session_id":"s","transcript":{},"transcript_since":{"main":-1}}`))),
		"W16 no session":       second(DecodeUnsubscribe([]byte(`{}`))),
		"agent ids no strings": second(DecodeUnsubscribe([]byte(`{"session_id":"s","agent_ids":[1]}`))),
		"endless id":           second(DecodeUnsubscribe([]byte(`{"session_id":"` + strings.Repeat("x", 5000) + `"}`))),
		"cut off":              second(DecodeSubscribe([]byte(`{"session_id":"s","transcript":{"a":`))),
	} {
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestData: data frames, pages and catch-up answers are as the schema has them
// and are read back.
func TestData(t *testing.T) {
	frame, page, catchUp := schematest.Load(t, "dataFrame"), schematest.Load(t, "page"), schematest.Load(t, "catchUp")
	rapid.Check(t, func(t *rapid.T) {
		ops := opgen.Log(draws{t}, 15, opgen.Options{Clean: true})
		tr := reducer.NewTranscript("main")
		tr.Apply(ops)
		snap := tr.Snapshot(-1)
		agents := []reducer.AgentDescriptor{{AgentID: "main", Type: "main", Live: reducer.Some(true)}}
		reset := Reset{AgentID: "main", Snapshot: snap, Seq: 5, Epoch: "e"}
		live := Ops{AgentID: "main", Batch: Batch{Seq: 5, PrevSeq: 3, Ops: ops}, Epoch: "e"}
		update := AgentsUpdate{SessionID: "s", Agents: agents}
		for typ, payload := range map[string][]byte{
			TypeReset: reset.AppendJSON(nil), TypeOps: live.AppendJSON(nil), TypeAgentsUpdate: update.AppendJSON(nil),
		} {
			d := Data{Type: typ, Seq: 5, Epoch: "e", SessionID: "s", Timestamp: "2026-01-01T00:00:00.000Z", Payload: payload}
			text := d.AppendJSON(nil)
			if err := frame.Validate(text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			back, err := DecodeData(text)
			if err != nil || !reflect.DeepEqual(back, d) {
				t.Fatalf("%+v %v", back, err)
			}
		}
		if m, err := DecodeReset(reset.AppendJSON(nil)); err != nil || string(m.AppendJSON(nil)) != string(reset.AppendJSON(nil)) || m.Snapshot.AgentID() != "main" {
			t.Fatal(err)
		}
		if m, err := DecodeOpsFrame(live.AppendJSON(nil)); err != nil || string(m.AppendJSON(nil)) != string(live.AppendJSON(nil)) {
			t.Fatal(err)
		}
		if m, err := DecodeAgentsUpdate(update.AppendJSON(nil)); err != nil || !reflect.DeepEqual(m, update) {
			t.Fatal(err)
		}
		p := Page{AgentID: "main", Snapshot: snap.Window(reducer.WindowOptions{Turns: 2}), HasMore: true, Agents: agents, Seq: 5, Epoch: "e"}
		text := p.AppendJSON(nil)
		if err := page.Validate(text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if m, err := DecodePage(text); err != nil || string(m.AppendJSON(nil)) != string(text) || !m.Snapshot.HasMoreOlder() {
			t.Fatal(err)
		}
		c := CatchUp{AgentID: "main", Batches: []Batch{live.Batch}, LatestSeq: 9, Complete: true, HasMore: true, Epoch: "e"}
		text = c.AppendJSON(nil)
		if err := catchUp.Validate(text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if m, err := DecodeCatchUp(text); err != nil || string(m.AppendJSON(nil)) != string(text) {
			t.Fatal(err)
		}
	})
}

// A server that does not know prev_seq numbers without holes.
func TestOlderServer(t *testing.T) {
	t.Run("L20 answers of older servers", func(t *testing.T) {
		m, err := DecodeOpsFrame([]byte(`{"type":"transcript.ops","agent_id":"main","ops":[],"seq":4}`))
		if err != nil || m.PrevSeq != 3 {
			t.Fatal(m, err)
		}
		p, err := DecodePage([]byte(`{"agent_id":"main","items":[],"has_more":false,"tasks":[],"interactions":[],"attachments":[],"todos":[],"meta":{},"agents":[],"pending_interactions":[]}`))
		if err != nil || p.Snapshot == nil {
			t.Fatal(p, err)
		}
	})
}

// TestDepth: an opaque value as deep as an event may have it passes every
// shell, one level more is refused.
func TestDepth(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	frame := func(n int) string {
		return `{"op":"frame.upsert","turnId":"t1","stepId":"t1.1","frame":{"kind":"tool","frameId":"f","toolCallId":"c","name":"n","state":"done","input":` + deep(n) + `}}`
	}
	tr := reducer.NewTranscript("main")
	ops := opsOf(t, frame(scan.MaxDepth))
	tr.Apply(ops)
	live := Ops{AgentID: "main", Batch: Batch{Seq: 1, Ops: ops}}
	reset := Reset{AgentID: "main", Snapshot: tr.Snapshot(-1)}
	page := Page{AgentID: "main", Snapshot: tr.Snapshot(-1)}
	catchUp := CatchUp{AgentID: "main", Batches: []Batch{live.Batch}}
	for name, err := range map[string]error{
		"ops":      second(DecodeOpsFrame(live.AppendJSON(nil))),
		"reset":    second(DecodeReset(reset.AppendJSON(nil))),
		"page":     second(DecodePage(page.AppendJSON(nil))),
		"catch-up": second(DecodeCatchUp(catchUp.AppendJSON(nil))),
		"frame":    second(DecodeData((&Data{Type: TypeReset, Payload: reset.AppendJSON(nil)}).AppendJSON(nil))),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reducer.DecodeOps([]byte("[" + frame(scan.MaxDepth+1) + "]")); err == nil {
		t.Error("too deep a value accepted")
	}
	if _, err := reducer.DecodeOps([]byte(`[{"op":"items.remove","ids":[],"x":` + deep(100_000) + `}]`)); err == nil {
		t.Error("too deep an unknown member accepted")
	}
}
