package events_test

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

func TestAppendEventGolden(t *testing.T) {
	ev := events.Event{
		Type: "tool.result", ID: "e-1", Timestamp: "2026-11-30T17:27:42.123Z", Session: "s", Agent: "main", RunID: "r",
		SourceRun: "src", N: 3, Step: 0, HasStep: true, ReferenceID: "<ref>", SchemaVersion: 2,
		Payload: []byte("{\"output\":\n1e400}"), Blobs: []byte(`[]`), Labels: []byte(`{"a":"b"}`), Extra: []byte(`"x":1`),
	}
	const want = `{"event_type":"tool.result","event_id":"e-1","timestamp":"2026-11-30T17:27:42.123Z","session_id":"s",` +
		`"agent_id":"main","run_id":"r","source_run":"src","n":3,"step":0,"reference_id":"<ref>","schema_version":2,` +
		`"payload":{"output": 1e400},"blobs":[],"labels":{"a":"b"},"x":1}`
	if got := string(events.AppendEvent(nil, &ev)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func genEvent(t *rapid.T) events.Event {
	key := rapid.StringOfN(rapid.RuneFrom([]rune("aZ0.-é😀\"\\<>&/")), 0, 12, -1)
	id := rapid.StringMatching(`[A-Za-z0-9._-]{1,20}x`)
	raw := func(list ...string) []byte { return []byte(rapid.SampledFrom(list).Draw(t, "raw")) }
	ev := events.Event{
		Type: "t" + key.Draw(t, "type"), Payload: raw(`{}`, `{"a":[1e400,"\ud83d"]}`, `{ "b" : {} }`),
		Session: events.SessionID(id.Draw(t, "session")), Agent: events.AgentID(id.Draw(t, "agent")),
		ID: key.Draw(t, "id"), Timestamp: key.Draw(t, "time"), RunID: key.Draw(t, "run"), SourceRun: key.Draw(t, "source"),
		N: rapid.Uint64Range(0, events.MaxOrdinal).Draw(t, "n"), ReferenceID: key.Draw(t, "ref"),
		SchemaVersion: rapid.IntRange(1, 9).Draw(t, "version"), HasStep: rapid.Bool().Draw(t, "has step"),
		Blobs: raw(``, `[]`, `[{"path":"/a"}]`), Labels: raw(``, `{}`), Extra: raw(``, `"x":1`, `"x":1,"y":[null]`),
	}
	if ev.HasStep {
		ev.Step = rapid.IntRange(0, events.MaxStep).Draw(t, "step")
	}
	for _, b := range []*[]byte{&ev.Blobs, &ev.Labels, &ev.Extra} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	return ev
}

func TestEventRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := genEvent(t)
		text := events.AppendEvent(nil, &ev)
		var got events.Event
		if err := events.Decode(bytes.Clone(text), &got); err != nil {
			t.Fatalf("Decode(%s): %v", text, err)
		}
		if !reflect.DeepEqual(got, ev) {
			t.Fatalf("got  %+v\nwant %+v", got, ev)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(delta))
	f.Add([]byte(`{"event_type":"a","payload":{},"n":1,"x":[{}],"y":2,"labels":{"a":"b"},"blobs":[{"path":"/a","sha256":"x","size":1}]}`))
	f.Add([]byte("{\n\"event_type\" : \"\\u0061\" , \"payload\" : { } }\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		published := bytes.Clone(data) // Decode owns what it is given, and data is the fuzzer's
		data = bytes.Clone(data)
		var ev events.Event
		if events.Decode(data, &ev) != nil {
			if !bytes.Equal(data, published) {
				t.Fatalf("%q was refused and changed to %q", published, data)
			}
			events.Salvage(published)
			return
		}
		if err := scan.Check(ev.Payload); err != nil || scan.KindOf(ev.Payload) != scan.Object {
			t.Fatalf("payload %q: %v", ev.Payload, err)
		}
		_ = ev.Validate() // must not panic
		if ev.RunID != "" && ev.N > 0 {
			if _, n := events.Salvage(published); n != ev.N {
				t.Fatalf("Salvage finds n %d, Decode %d", n, ev.N)
			}
		}
		again := events.AppendEvent(nil, &ev)
		var ev2 events.Event
		if err := events.Decode(bytes.Clone(again), &ev2); err != nil || !reflect.DeepEqual(ev, ev2) {
			t.Fatalf("%q comes back as %+v %v, want %+v", again, ev2, err, ev)
		}
		if third := events.AppendEvent(nil, &ev2); !bytes.Equal(again, third) {
			t.Fatalf("encoding is not deterministic: %q, %q", again, third)
		}
	})
}

func TestBlobs(t *testing.T) {
	sha := string(bytes.Repeat([]byte("0a"), 32))
	list := []events.Blob{{Path: "/output", SHA256: sha, Size: 70_000, MediaType: "text/plain"}, {Path: "", SHA256: sha, Size: 1}}
	ev := events.Event{Blobs: events.AppendBlobs(nil, list)}
	if got, err := ev.BlobList(); err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("BlobList = %+v %v", got, err)
	}
	for field, raw := range map[string]string{
		"blobs[0]":            `[1]`,
		"blobs[1].path":       `[{"path":"/a","sha256":"` + sha + `","size":1},{"path":"a","sha256":"` + sha + `","size":1}]`,
		"blobs[0].sha256":     `[{"path":"/a","sha256":"../../etc","size":1}]`,
		"blobs[0].size":       `[{"path":"/a","sha256":"` + sha + `","size":-1}]`,
		"blobs[0].media_type": `[{"media_type":1}]`,
	} {
		ev := events.Event{Blobs: []byte(raw)}
		_, err := ev.BlobList()
		wantField(t, err, field)
	}
}

func TestLabels(t *testing.T) {
	labels := map[string]string{"host": "h", "a<b": "\"q\"", "": ""}
	ev := events.Event{Labels: events.AppendLabels(nil, labels)}
	if got, err := ev.LabelMap(); err != nil || !reflect.DeepEqual(got, labels) {
		t.Errorf("LabelMap = %v %v", got, err)
	}
	if got, want := string(ev.Labels), `{"":"","a<b":"\"q\"","host":"h"}`; got != want {
		t.Errorf("labels are %s, want %s", got, want)
	}
	ev.Labels = []byte(`{"host":1}`)
	_, err := ev.LabelMap()
	wantField(t, err, "labels.host")
}

func TestValidate(t *testing.T) {
	good := events.Event{Type: "a", Timestamp: "2026-11-30T17:27:42+01:00", RunID: "r", N: 1, SourceRun: "s"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for field, ev := range map[string]events.Event{
		"timestamp":   {Timestamp: "yesterday"},
		"n":           {N: 1},
		"source_run":  {SourceRun: "s"},
		"blobs[0]":    {Blobs: []byte(`[null]`)},
		"labels.host": {Labels: []byte(`{"host":null}`)},
	} {
		wantField(t, ev.Validate(), field)
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	if fe, ok := err.(*events.FieldError); !ok || fe.Field != field { //nolint:errorlint // never wrapped
		t.Errorf("error is %v, want one that names %s", err, field)
	}
}

func TestTime(t *testing.T) {
	for text, want := range map[string]int64{
		"1970-01-01T00:00:00Z":                0,
		"1970-01-01T00:00:00.0019Z":           1,
		"1970-01-01T01:00:00+01:00":           0,
		"9999-12-31T23:59:59.999999999Z":      events.MaxMillis,
		"0001-01-01T00:00:00Z":                events.MinMillis,
		"2026-11-30T17:27:42.123456789-03:00": 1796070462123,
	} {
		if got, ok := events.ParseTime(text); !ok || got != want {
			t.Errorf("ParseTime(%s) = %d %v, want %d", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "2026-11-30", "2026-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "1796070462", "now"} {
		if _, ok := events.ParseTime(bad); ok {
			t.Errorf("ParseTime(%q) is ok", bad)
		}
	}
	for ms, want := range map[int64]string{
		0: "1970-01-01T00:00:00.000Z", -1: "1969-12-31T23:59:59.999Z",
		1 << 62: "9999-12-31T23:59:59.999Z", -1 << 62: "0001-01-01T00:00:00.000Z",
	} {
		if got := events.FormatTime(ms); got != want || len(got) != len(events.TimeFormat) {
			t.Errorf("FormatTime(%d) = %s, want %s", ms, got, want)
		}
	}
}
