package protocol

import (
	"testing"
)

// FuzzControl: frames and every payload, as a gateway reads them.
func FuzzControl(f *testing.F) {
	for _, s := range []string{
		`{"type":"client_hello","id":"1","payload":{"client_id":"c","subscriptions":["s"],"cursors":{"s":{"seq":1,"epoch":"e"}},"capabilities":["prev_seq"]}}`,
		`{"type":"subscribe_v2","id":2,"payload":{"session_id":"s","transcript":{"*":"turn"},"transcript_since":{"main":3},"epoch":"e","window_turns":0}}`,
		`{"type":"unsubscribe_v2","payload":{"session_id":"s","agent_ids":["a"]}}`,
		`{"type":"ack","id":"1","code":-1,"msg":"m","payload":{"accepted":["s"],"not_found":[],"resync_required":[],"cursors":{}}}`,
		`{"type":"server_hello","payload":{"ws_connection_id":"c","heartbeat_ms":1,"capabilities":{"prev_seq":true}}}`,
		`{"type":"resync_required","payload":{"session_id":"s","reason":"epoch_changed","current_seq":1,"epoch":"e"}}`,
		`{"type":"pong","payload":{"nonce":"n"}}`, `{"type":1}`, `[]`, `{"type":"x","payload":{"a":{"a":{"a":1}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeControl(data)
		if err != nil {
			return
		}
		if c.Type != TypeAck {
			c.Code, c.Msg = 0, ""
		}
		text := c.AppendJSON(nil)
		again, err := DecodeControl(text)
		if err != nil || string(again.AppendJSON(nil)) != string(text) {
			t.Fatalf("%v: %s became %s", err, text, again.AppendJSON(nil))
		}
		if c.Payload == nil {
			return
		}
		same(t, c.Payload, DecodeServerHello)
		same(t, c.Payload, DecodeClientHello)
		same(t, c.Payload, DecodeSubscribe)
		same(t, c.Payload, DecodeUnsubscribe)
		same(t, c.Payload, DecodeSubscribeSessions)
		same(t, c.Payload, DecodeSubscribed)
		same(t, c.Payload, DecodeResync)
		same(t, c.Payload, DecodeHeartbeat)
	})
}

// same checks that what is read and written again stays.
func same[T any, P interface {
	*T
	AppendJSON([]byte) []byte
}](t *testing.T, payload []byte, read func([]byte) (T, error)) {
	t.Helper()
	v, err := read(payload)
	if err != nil {
		return
	}
	text := P(&v).AppendJSON(nil)
	again, err := read(text)
	if err != nil {
		t.Fatalf("%v in what was written: %s", err, text)
	}
	if got := P(&again).AppendJSON(nil); string(got) != string(text) {
		t.Fatalf("%s\nbecame %s", text, got)
	}
}

// FuzzData: data frames, pages and catch-up answers, as a client reads them.
func FuzzData(f *testing.F) {
	for _, s := range []string{
		`{"type":"transcript.ops","seq":2,"epoch":"e","volatile":true,"session_id":"s","timestamp":"t","payload":{"type":"transcript.ops","agent_id":"a","ops":[{"op":"items.remove","ids":["x"]}],"seq":2,"prev_seq":1,"epoch":"e"}}`,
		`{"type":"transcript.reset","payload":{"agent_id":"a","snapshot":{"items":[]},"has_more_older":true,"seq":2,"epoch":"e"}}`,
		`{"type":"agents.update","payload":{"session_id":"s","agents":[{"agentId":"a","type":"sub","live":true}]}}`,
		`{"agent_id":"a","batches":[{"seq":1,"prev_seq":0,"ops":[]}],"latest_seq":1,"complete":true,"has_more":false,"epoch":"e"}`,
		`{"agent_id":"a","items":[],"has_more":true,"agents":[],"seq":3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data, DecodePage)
		same(t, data, DecodeCatchUp)
		d, err := DecodeData(data)
		if err != nil {
			return
		}
		same(t, data, DecodeData)
		same(t, d.Payload, DecodeReset)
		same(t, d.Payload, DecodeOpsFrame)
		same(t, d.Payload, DecodeAgentsUpdate)
		r := NewReplica("main")
		for range 2 {
			if m, err := DecodeReset(d.Payload); err == nil {
				r.Reset(&m)
			}
			if m, err := DecodeOpsFrame(d.Payload); err == nil {
				r.BeginFetch()
				r.Ops(&m)
				r.EndFetch(nil, false)
				Merge([]Batch{m.Batch, m.Batch})
			}
		}
	})
}

// FuzzCursor: ids that come back from event streams.
func FuzzCursor(f *testing.F) {
	f.Add("e.1:main=7,sub=3")
	f.Add("e:")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCursor(s)
		if err != nil {
			return
		}
		again, err := ParseCursor(c.String())
		if err != nil || again.String() != c.String() {
			t.Fatalf("%q became %q, %v", c.String(), again.String(), err)
		}
	})
}
