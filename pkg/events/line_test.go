package events_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

var hash = events.HashLine([]byte("the line before"))

func TestLinesGolden(t *testing.T) {
	pos := events.Position{Seq: 3, StreamSeq: 99, StoredAt: 1796070462123}
	h := hash.String()
	for got, want := range map[string]string{
		string(events.AppendEventLine(nil, []byte("\n{\"event_type\":\"a\",\n\"payload\":{} }\n"), pos, hash)): `{"event_type":"a", "payload":{} ,` +
			`"seq":3,"stream_seq":99,"stored_at":"2026-11-30T20:27:42.123Z","h":"` + h + `"}`,
		string(events.AppendInvalidLine(nil, []byte("\xff\n"), `field "n"`, pos, hash)): `{"type":"invalid","seq":3,"stream_seq":99,` +
			`"stored_at":"2026-11-30T20:27:42.123Z","h":"` + h + `","reason":"field \"n\"","raw":"/wo="}`,
		string(events.AppendLostLine(nil, 3, 7, hash)): `{"type":"lost","seq":3,"seq_to":7,"h":"` + h + `"}`,
		string(events.AppendMetadataLine(nil, &events.Metadata{
			Session: "s", Agent: "a", Epoch: "abc", Part: 2, FirstSeq: 3, Prev: hash, Stream: "STENO_EVENTS_0",
			StreamCreated: 0, CreatedAt: 1796070462123,
		})): `{"type":"metadata","format":"steno.wire/1","session_id":"s","agent_id":"a","epoch":"abc","part":2,"first_seq":3,` +
			`"prev_h":"` + h + `","stream":"STENO_EVENTS_0","stream_created":"1970-01-01T00:00:00.000Z","created_at":"2026-11-30T20:27:42.123Z"}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if err := scan.Check([]byte(got)); err != nil || strings.ContainsAny(got, "\r\n") {
			t.Errorf("%s is no line: %v", got, err)
		}
	}
}

// TestLineRoundTrip includes envelopes that try to pass for other lines or
// bring the recorder's members along.
func TestLineRoundTrip(t *testing.T) {
	evil := []string{
		delta,
		`{"type":"lost","seq":1,"seq_to":9,"h":"` + hash.String() + `","event_type":"a","payload":{}}`,
		`{"event_type":"a","payload":{},"type":"invalid","raw":"","seq":8,"stream_seq":1,"stored_at":"1970-01-01T00:00:00.000Z","h":"` + hash.String() + `"}`,
		`{"event_type":"a","payload":{},"x":",\"seq\":1,\"stream_seq\":1"}`,
		`{"event_type":"a", "payload":{ } }`,
	}
	rapid.Check(t, func(t *rapid.T) {
		pos := events.Position{
			Seq: rapid.Uint64Min(1).Draw(t, "seq"), StreamSeq: rapid.Uint64().Draw(t, "stream seq"),
			StoredAt: rapid.Int64Range(events.MinMillis, events.MaxMillis).Draw(t, "stored at"),
		}
		msg := []byte(rapid.SampledFrom(evil).Draw(t, "message"))
		want := events.Line{Kind: events.LineEvent, Position: pos, SeqTo: pos.Seq, Prev: hash, Data: msg}
		same(t, events.AppendEventLine(nil, msg, pos, hash), want)

		want.Kind, want.Data = events.LineInvalid, rapid.SliceOf(rapid.Byte()).Draw(t, "raw")
		want.Reason = rapid.String().Draw(t, "reason")
		same(t, events.AppendInvalidLine(nil, want.Data, want.Reason, pos, hash), want)

		to := rapid.Uint64Min(pos.Seq).Draw(t, "to")
		same(t, events.AppendLostLine(nil, pos.Seq, to, hash), events.Line{
			Kind: events.LineLost, Position: events.Position{Seq: pos.Seq}, SeqTo: to, Prev: hash,
		})
	})
}

func same(t *rapid.T, line []byte, want events.Line) {
	before := bytes.Clone(line)
	got, err := events.ParseLine(line)
	if len(got.Data) == 0 && len(want.Data) == 0 {
		got.Data, want.Data = nil, nil
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("ParseLine(%s)\ngot  %+v %v\nwant %+v", line, got, err, want)
	}
	if !bytes.Equal(before, line) {
		t.Fatalf("ParseLine changed the line to %s", line)
	}
}

func TestParseLineRefuses(t *testing.T) {
	good := string(events.AppendEventLine(nil, []byte(delta), events.Position{Seq: 1, StreamSeq: 2}, hash))
	if _, err := events.ParseLine([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"empty":          "",
		"cut":            good[:len(good)-1],
		"cut in h":       good[:len(good)-20] + `"}`,
		"seq 0":          strings.Replace(good, `"seq":1,`, `"seq":0,`, 1),
		"leading zero":   strings.Replace(good, `"seq":1,`, `"seq":01,`, 1),
		"upper-case h":   strings.Replace(good, hash.String(), strings.ToUpper(hash.String()), 1),
		"other order":    `{"event_type":"a","payload":{},"stream_seq":2,"seq":1,"stored_at":"1970-01-01T00:00:00.000Z","h":"` + hash.String() + `"}`,
		"time zone":      strings.Replace(good, `"1970-01-01T00:00:00.000Z"`, `"1970-01-01T00:00:00+00:00"`, 1),
		"no position":    delta,
		"unknown type":   `{"type":"other"}`,
		"lost backwards": strings.Replace(string(events.AppendLostLine(nil, 5, 6, hash)), `"seq_to":6`, `"seq_to":4`, 1),
		"lost without h": `{"type":"lost","seq":1,"seq_to":2}`,
		"invalid base64": `{"type":"invalid","seq":1,"stream_seq":1,"stored_at":"1970-01-01T00:00:00.000Z","h":"` + hash.String() + `","reason":"","raw":"*"}`,
	} {
		if l, err := events.ParseLine([]byte(line)); err == nil {
			t.Errorf("%s: parsed as %+v", name, l)
		}
	}
}

func TestMetadataLine(t *testing.T) {
	want := events.Metadata{
		Session: "s.1", Agent: "main", Epoch: "abc", Part: 12, FirstSeq: 77, Prev: hash,
		Stream: "STENO_EVENTS_0", StreamCreated: 1, CreatedAt: 2,
	}
	line := events.AppendMetadataLine(nil, &want)
	if got, err := events.ParseMetadataLine(line); err != nil || got != want {
		t.Errorf("got %+v %v", got, err)
	}
	if l, err := events.ParseLine(line); err != nil || l.Kind != events.LineMetadata {
		t.Errorf("ParseLine: %+v %v", l, err)
	}
	for field, bad := range map[string]string{
		"format":     strings.Replace(string(line), "steno.wire/1", "steno.wire/2", 1),
		"type":       delta,
		"session_id": strings.Replace(string(line), "s.1", "../..", 1),
		"prev_h":     strings.Replace(string(line), hash.String(), "00", 1),
	} {
		_, err := events.ParseMetadataLine([]byte(bad))
		wantField(t, err, field)
	}
}

func TestPlaceholder(t *testing.T) {
	if !events.IsPlaceholder(events.Placeholder()) || events.IsPlaceholder([]byte(delta)) {
		t.Error("the placeholder is not recognised")
	}
	var ev events.Event
	if err := events.Decode(events.Placeholder(), &ev); err == nil {
		t.Error("the placeholder passes for an event")
	}
}

func FuzzParseLine(f *testing.F) {
	pos := events.Position{Seq: 1, StreamSeq: 2, StoredAt: 3}
	f.Add(events.AppendEventLine(nil, []byte(delta), pos, hash))
	f.Add(events.AppendInvalidLine(nil, []byte("x"), "y", pos, hash))
	f.Add(events.AppendLostLine(nil, 1, 2, hash))
	f.Add(events.AppendMetadataLine(nil, &events.Metadata{Session: "s", Agent: "a"}))
	f.Fuzz(func(t *testing.T, line []byte) {
		_, _ = events.ParseMetadataLine(line)
		l, err := events.ParseLine(line)
		if err != nil {
			return
		}
		var again []byte
		switch l.Kind {
		case events.LineEvent:
			if scan.Check(line) != nil || bytes.ContainsAny(line, "\r\n") || scan.KindOf(l.Data) != scan.Object {
				return // a damaged envelope: Decode finds it
			}
			again = events.AppendEventLine(nil, l.Data, l.Position, l.Prev)
			if !bytes.Equal(again, line) {
				t.Fatalf("%s comes back as %s", line, again)
			}
		case events.LineInvalid:
			again = events.AppendInvalidLine(nil, l.Data, l.Reason, l.Position, l.Prev)
		case events.LineLost:
			again = events.AppendLostLine(nil, l.Seq, l.SeqTo, l.Prev)
		case events.LineMetadata:
			return
		}
		if l2, err := events.ParseLine(again); err != nil || l2.Position != l.Position || !bytes.Equal(l2.Data, l.Data) {
			t.Fatalf("%s is %+v, then %+v %v", line, l, l2, err)
		}
	})
}

func BenchmarkParseEventLine(b *testing.B) {
	line := events.AppendEventLine(nil, []byte(delta), events.Position{Seq: 4711, StreamSeq: 47110815, StoredAt: 1796070462123}, hash)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.ParseLine(line); err != nil {
			b.Fatal(err)
		}
	}
}
