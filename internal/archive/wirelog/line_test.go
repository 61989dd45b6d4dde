package wirelog

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

const (
	testSession = events.SessionID("s-1")
	testAgent   = events.AgentID("main")
)

func lineOf(m Message, seq uint64, prev Hash) []byte {
	return appendMessage(nil, testSession, testAgent, m,
		events.Position{Seq: seq, StreamSeq: m.StreamSeq, StoredAt: m.StoredAt}, prev)
}

// decodeLine is what Reader does with one line.
func decodeLine(line []byte) (archive.Line, bool) {
	var d decoder
	var out archive.Line
	p := parse(line)
	if p.class == bad || p.class == metadata || p.class == chain {
		return out, false
	}
	return out, d.decode(line, &p, &out) == nil
}

func TestLineKeepsPublishedBytes(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	tests := []struct {
		name, data string
		kind       archive.Kind
		inline     bool
	}{
		{"plain", `{"event_type":"turn.started","payload":{"prompt":"hi"}}`, archive.Event, true},
		{"unknown field", `{"event_type":"x","payload":{},"extra":[1,{"seq":3}]}`, archive.Event, true},
		{"seq of its own", `{"event_type":"x","payload":{},"seq":7}`, archive.Event, true},
		{"seq of its own in escapes", `{"event_type":"x","payload":{},"\u0073eq":7}`, archive.Event, true},
		{"h first", `{"h":"0","event_type":"x","payload":{}}`, archive.Event, true},
		{"stored_at and stream_seq", `{"stored_at":0,"stream_seq":9,"event_type":"x","payload":{}}`, archive.Event, true},
		{"begins with type", `{"type":"lost","seq":1,"seq_to":9,"event_type":"x","payload":{}}`, archive.Event, true},
		{"ends like a whole line", `{"event_type":"x","payload":{},"seq":1,"stream_seq":2,"stored_at":"2023-11-14T22:13:20.000Z","h":"` + strings.Repeat("0", 64) + `"}`, archive.Event, true},
		{"is a chain line but for its type", `{"type":"chain","reason":"repaired","event_type":"x","payload":{},"h":"` + strings.Repeat("0", 64) + `","next_h":"` + strings.Repeat("0", 64) + `"}`, archive.Event, true},
		{"type further on", `{"event_type":"x","payload":{},"type":"metadata"}`, archive.Event, true},
		{"line breaks", "{\n  \"event_type\": \"x\",\r\n  \"payload\": {}\n}\n", archive.Event, false},
		{"outer space", ` {"event_type":"x","payload":{}} `, archive.Event, false},
		{"inner space", `{ "event_type" : "x" , "payload" : { } }`, archive.Event, true},
		{"looks like a whole line", `{"event_type":"x","payload":{},"s":",\"seq\":1,\"stream_seq\":1"}`, archive.Event, true},
		{"other session", `{"event_type":"x","payload":{},"session_id":"s-2"}`, archive.Invalid, false},
		{"no type", `{"payload":{}}`, archive.Invalid, false},
		{"no JSON", "\x00\xff not json \n\r", archive.Invalid, false},
		{"empty", "", archive.Invalid, false},
		{"too deep", `{"event_type":"x","payload":{"a":` + deep + `}}`, archive.Invalid, false},
		{"cut inside a character", `{"event_type":"x","payload":{"t":"` + "\xf0\x9f\x98", archive.Invalid, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := []byte(tt.data)
			line := lineOf(Message{StreamSeq: 12, StoredAt: 1700000000123, Data: given}, 3, Hash{1, 2, 3})
			if string(given) != tt.data {
				t.Fatal("the message was changed")
			}
			if bytes.ContainsAny(line, "\n\r") || !scan.Valid(line) {
				t.Fatalf("not one line of JSON: %q", line)
			}
			if got := bytes.HasPrefix(line, given[:max(len(given), 1)-1]) && tt.data != ""; got != tt.inline {
				t.Errorf("inline = %v, want %v: %s", got, tt.inline, line)
			}
			p := parse(line)
			if p.prev != (Hash{1, 2, 3}) {
				t.Errorf("h = %v", p.prev)
			}
			got, ok := decodeLine(line)
			want := archive.Line{Kind: tt.kind, Seq: 3, SeqTo: 3, StreamSeq: 12, StoredAt: 1700000000123}
			if !ok || string(got.Data) != tt.data {
				t.Fatalf("got %q (%v), want %q", got.Data, ok, tt.data)
			}
			if (got.Reason != "") != (tt.kind == archive.Invalid) {
				t.Errorf("reason %q", got.Reason)
			}
			got.Data, got.Reason = nil, ""
			if got.Kind != want.Kind || got.Seq != want.Seq || got.SeqTo != want.SeqTo || got.StreamSeq != want.StreamSeq || got.StoredAt != want.StoredAt {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// The core's parser and this package's must read the same lines alike.
func TestLineAgreesWithCore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t, rapid.Uint64Range(1, 1<<53).Draw(t, "stream_seq"))
		seq := rapid.Uint64Range(1, 1<<53).Draw(t, "seq")
		line := lineOf(m, seq, Hash{9})
		p := parse(line)
		if p.class == bad {
			t.Fatalf("not parsed: %s", line)
		}
		if p.class == wrapped {
			return // the core does not know this form
		}
		core, err := events.ParseLine(bytes.Clone(line))
		if err != nil {
			t.Fatalf("core: %v: %s", err, line)
		}
		got, ok := decodeLine(line)
		if !ok || core.Seq != got.Seq || core.SeqTo != got.SeqTo || core.Prev != p.prev || string(core.Data) != string(got.Data) {
			t.Fatalf("core %+v, here %+v", core, got)
		}
	})
}

// drawMessage draws what publishers send, valid or not.
func drawMessage(t *rapid.T, streamSeq uint64) Message {
	m := Message{StreamSeq: streamSeq, StoredAt: rapid.Int64Range(0, 4e12).Draw(t, "stored")}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		m.Data = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
	case 1:
		m.Lost = true
	case 2:
		m.Data = []byte("{\"event_type\":\"x\",\n\"payload\":{}}")
	case 3:
		m.Data = []byte(`{"event_type":"x","payload":{},"seq":1}`)
	default:
		m.Data = scan.AppendQuote([]byte(`{"event_type":"assistant.delta","payload":{"delta":`), rapid.String().Draw(t, "text"))
		m.Data = append(m.Data, "}}"...)
	}
	return m
}

func TestLostAndChainLines(t *testing.T) {
	t.Parallel()
	lostLine := appendLost(nil, 9, events.Position{Seq: 4, StreamSeq: 33}, Hash{5}, "gone")
	got, ok := decodeLine(bytes.Clone(lostLine))
	if !ok || got.Kind != archive.Lost || got.Seq != 4 || got.SeqTo != 9 || got.StreamSeq != 33 || got.Reason != "gone" {
		t.Errorf("got %+v, %v", got, ok)
	}
	p := parseLinked(appendChain(nil, Hash{1}, Hash{2}))
	if p.class != chain || p.prev != (Hash{1}) || p.link != (Hash{2}) {
		t.Errorf("got %+v", p)
	}
}

func FuzzLine(f *testing.F) {
	f.Add(lineOf(Message{StreamSeq: 1, Data: []byte(`{"event_type":"x","payload":{}}`)}, 1, Hash{}))
	f.Add(lineOf(Message{StreamSeq: 1, Data: []byte(`x`)}, 1, Hash{}))
	f.Add(lineOf(Message{StreamSeq: 1, Data: []byte("{\"event_type\":\"x\",\n\"payload\":{}}")}, 1, Hash{}))
	f.Add(appendLost(nil, 9, events.Position{Seq: 4, StreamSeq: 33}, Hash{5}, "gone"))
	f.Add(appendChain(nil, Hash{1}, Hash{2}))
	f.Add([]byte(`{"type":"lost","seq":1,"seq_to":0,"stream_seq":0,"stored_at":"2023-11-14T22:13:20.000Z","h":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p := parseLinked(line)
		before := bytes.Clone(line)
		out, ok := decodeLine(line)
		if !ok {
			return
		}
		if p.Seq == 0 || p.seqTo < p.Seq {
			t.Fatalf("seq %d to %d from %q", p.Seq, p.seqTo, before)
		}
		if p.class != event || out.Kind != archive.Event {
			return
		}
		again := events.AppendEventLine(nil, out.Data, p.Position, p.prev)
		if scan.Valid(out.Data) && out.Data[len(out.Data)-1] == '}' && len(out.Data) > 2 && !bytes.ContainsAny(before, "\n\r") &&
			out.Data[0] == '{' && !bytes.Equal(again, before) {
			t.Fatalf("written again as %q, was %q", again, before)
		}
	})
}
