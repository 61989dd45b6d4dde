package events_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// delta is a typical event of about 300 bytes.
const delta = `{"event_type":"assistant.delta","event_id":"0192f3a4-7b1c-7def-8abc-0123456789ab",` +
	`"timestamp":"2026-11-30T17:27:42.123Z","session_id":"s-1","agent_id":"main",` +
	`"run_id":"0192f3a4-0000-7def-8abc-0123456789ab","n":4711,` +
	`"payload":{"turnId":3,"step":2,"delta":"some forty characters of text, as models do"}}`

func decode(t *testing.T, text string) events.Event {
	t.Helper()
	var ev events.Event
	if err := events.Decode([]byte(text), &ev); err != nil {
		t.Fatalf("Decode(%s): %v", text, err)
	}
	return ev
}

func TestDecode(t *testing.T) {
	got := decode(t, delta)
	want := events.Event{
		Type:          events.TypeAssistantDelta,
		ID:            "0192f3a4-7b1c-7def-8abc-0123456789ab",
		Timestamp:     "2026-11-30T17:27:42.123Z",
		Session:       "s-1",
		Agent:         "main",
		RunID:         "0192f3a4-0000-7def-8abc-0123456789ab",
		N:             4711,
		SchemaVersion: 1,
		Payload:       []byte(`{"turnId":3,"step":2,"delta":"some forty characters of text, as models do"}`),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	full := decode(t, ` { "x-1" : [1] , "event_type" : "a" , "payload" : { "k" : 1e400 } , "step" : 0 ,
		"source_run":"src","reference_id":"ref","schema_version":7,"blobs":[],"labels":{"host":"h"},"y":{"z":null} } `)
	want = events.Event{
		Type: "a", Payload: []byte(`{ "k" : 1e400 }`), HasStep: true, SourceRun: "src", ReferenceID: "ref",
		SchemaVersion: 7, Blobs: []byte(`[]`), Labels: []byte(`{"host":"h"}`), Extra: []byte(`"x-1" : [1],"y":{"z":null}`),
	}
	if !reflect.DeepEqual(full, want) {
		t.Errorf("got  %+v\nwant %+v", full, want)
	}
	null := decode(t, `{"event_type":"a","payload":{},"session_id":null,"agent_id":null,"event_id":null,"timestamp":null,
		"run_id":null,"source_run":null,"n":null,"step":null,"reference_id":null,"blobs":null,"labels":null,"schema_version":null}`)
	if want := (events.Event{Type: "a", Payload: []byte(`{}`), SchemaVersion: 1}); !reflect.DeepEqual(null, want) {
		t.Errorf("null is not absence: %+v", null)
	}
}

// TestDecodeFieldErrors gives every known field every wrong kind of value, and
// the values at its limits.
func TestDecodeFieldErrors(t *testing.T) {
	kinds := map[string]string{
		"null": `null`, "boolean": `true`, "number": `-1.5`, "string": `"x y"`, "object": `{}`, "array": `[]`,
	}
	accepts := map[string]string{
		"event_type": "string", "event_id": "string null", "timestamp": "string null", "run_id": "string null",
		"source_run": "string null", "reference_id": "string null", "session_id": "null", "agent_id": "null",
		"n": "null", "step": "null", "schema_version": "null",
		"payload": "object", "blobs": "array null", "labels": "object null",
	}
	for field, ok := range accepts {
		for kind, value := range kinds {
			checkField(t, field, value, strings.Contains(ok, kind))
		}
	}
	id := strings.Repeat("a", 128)
	for field, values := range map[string]map[string]bool{
		"n":              {"0": false, "1": true, "9007199254740991": true, "9007199254740992": false, "1.0": false, "1e3": false, `"1"`: false, "-1": false},
		"step":           {"0": true, "-0": false, "2147483647": true, "2147483648": false},
		"schema_version": {"0": true, "99": true, "1.5": false},
		"session_id": {
			`"` + id + `"`: true, `"` + id + `a"`: false, `""`: false, `"."`: false, `".."`: false, `"..."`: true,
			`"a/b"`: false, `"a\\b"`: false, `"x*"`: false, `"a>"`: false, `"a b"`: false, `"a\u0000b"`: false,
			`"é"`: false, `"A.b_c-9"`: true, `"../../etc"`: false, `"=2E"`: false, `"\u0061"`: true,
		},
		"agent_id":     {`"sub-1"`: true, `"01ARZ3NDEKTSV4RRFFQ69G5FAV"`: true, `"../main"`: false, `"..\\main"`: false, `"a\u0000b"`: false},
		"event_id":     {`"` + id + `"`: true, `"` + id + `a"`: false, `""`: true, `"a\nb"`: false, `"\ud83d"`: false, `"\u00e9"`: true},
		"run_id":       {`"` + id + `a"`: false, `""`: true},
		"event_type":   {`"` + id + id + `"`: true, `"` + id + id + `a"`: false, `"a\u001fb"`: false, `""`: false},
		"reference_id": {`"` + strings.Repeat(id, 8) + `"`: true, `"` + strings.Repeat(id, 8) + `a"`: false},
	} {
		for value, ok := range values {
			checkField(t, field, value, ok)
		}
	}
}

// checkField decodes an event whose only doubtful field is the named one.
func checkField(t *testing.T, field, value string, ok bool) {
	t.Helper()
	text := `{"` + field + `":` + value
	for name, good := range map[string]string{"event_type": `"a"`, "payload": `{}`} {
		if name != field {
			text += `,"` + name + `":` + good
		}
	}
	var ev events.Event
	err := events.Decode([]byte(text+"}"), &ev)
	var fe *events.FieldError
	switch {
	case ok && err != nil:
		t.Errorf("%s %s: %v", field, value, err)
	case !ok && (!errors.As(err, &fe) || fe.Field != field):
		t.Errorf("%s %s: got error %v, want one that names the field", field, value, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := func(n int) string {
		return `{"event_type":"a","payload":{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
	}
	var ev events.Event
	if err := events.Decode([]byte(deep(scan.MaxDepth-2)), &ev); err != nil {
		t.Errorf("depth %d: %v", scan.MaxDepth, err)
	}
	for name, text := range map[string]string{
		"too deep":        deep(scan.MaxDepth - 1),
		"far too deep":    deep(10_000),
		"nothing":         ``,
		"an array":        `[]`,
		"no object":       `"a"`,
		"no type":         `{"payload":{}}`,
		"no payload":      `{"event_type":"a"}`,
		"field twice":     `{"event_type":"a","payload":{},"run_id":"x","run_id":"x"}`,
		"null, then":      `{"event_type":"a","payload":{},"n":null,"n":1}`,
		"escaped twice":   `{"event_type":"a","payload":{},"n":1,"\u006e":2}`,
		"torn":            `{"event_type":"a","payload":{}`,
		"glued":           `{"event_type":"a","payload":{}}{"event_type":"a","payload":{}}`,
		"byte-order mark": "\ufeff" + `{"event_type":"a","payload":{}}`,
		"cut UTF-8":       `{"event_type":"a","payload":{"x":"` + "\xf0\x9f" + `"}}`,
		"NUL":             `{"event_type":"a","payload":{}}` + "\x00",
		"too long":        `{"event_type":"a","payload":{"x":"` + strings.Repeat("x", events.MaxSize) + `"}}`,
	} {
		err := events.Decode([]byte(text), &ev)
		var fe *events.FieldError
		var se *scan.SyntaxError
		if !errors.As(err, &fe) && !errors.As(err, &se) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	exact := `{"event_type":"a","payload":{"x":"` + strings.Repeat("x", events.MaxSize-37) + `"}}`
	if err := events.Decode([]byte(exact), &ev); len(exact) != events.MaxSize || err != nil {
		t.Errorf("%d bytes: %v", len(exact), err)
	}
}

func TestLineBreaksBecomeSpaces(t *testing.T) {
	ev := decode(t, "{\r\n\"event_type\":\"a\",\n\"payload\":{\n\t\"x\":\"\\n\"\r\n}\n}\n")
	if got, want := string(ev.Payload), "{ \t\"x\":\"\\n\"  }"; got != want {
		t.Errorf("payload is %q, want %q", got, want)
	}
}

func TestBind(t *testing.T) {
	var ev events.Event
	if err := events.Read([]byte(`{"event_type":"a","payload":{}}`), "s", "sub", &ev); err != nil || ev.Session != "s" || ev.Agent != "sub" {
		t.Errorf("absent ids are not filled in: %+v %v", ev, err)
	}
	for field, text := range map[string]string{
		"session_id": `{"event_type":"a","payload":{},"session_id":"other"}`,
		"agent_id":   `{"event_type":"a","payload":{},"session_id":"s","agent_id":"main"}`,
	} {
		err := events.Read([]byte(text), "s", "sub", &ev)
		if fe := (*events.FieldError)(nil); !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("foreign %s: %v", field, err)
		}
	}
}

func TestSalvage(t *testing.T) {
	for text, want := range map[string]struct {
		run string
		n   uint64
	}{
		`{"run_id":"r","n":7,"payload":3}`:                    {"r", 7},
		`{"n":7,"session_id":"..","run_id":"r"}`:              {"r", 7},
		`{"run_id":"r","n":0}`:                                {},
		`{"run_id":"r"}`:                                      {},
		`{"n":7}`:                                             {},
		`{"run_id":"","n":7}`:                                 {},
		`{"run_id":"r","n":7,"n":8}`:                          {},
		`{"run_id":"r","n":7`:                                 {},
		`{"run_id":"` + strings.Repeat("r", 129) + `","n":7}`: {},
		`[]`: {},
	} {
		if run, n := events.Salvage([]byte(text)); run != want.run || n != want.n {
			t.Errorf("Salvage(%s) = %q %d, want %q %d", text, run, n, want.run, want.n)
		}
	}
}

func TestDecodeAllocations(t *testing.T) {
	data := []byte(delta)
	var ev events.Event
	if n := testing.AllocsPerRun(100, func() { _ = events.Decode(data, &ev) }); n > 1 {
		t.Errorf("%v allocations for a delta, want at most 1", n)
	}
}

func BenchmarkDecodeDelta(b *testing.B) {
	data := []byte(delta)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var ev events.Event
	for b.Loop() {
		if err := events.Decode(data, &ev); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	var ev events.Event
	if err := events.Decode([]byte(delta), &ev); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = events.AppendEvent(buf[:0], &ev)
	}
}

// TestDecodeRefusesRawLineBreaks: a line break between tokens becomes a space;
// inside a string it is no JSON, and what is refused keeps its bytes.
func TestDecodeRefusesRawLineBreaks(t *testing.T) {
	const between = "{\"event_type\":\"a\",%s\"payload\":{%s}}"
	for _, br := range []string{"\n", "\r", "\r\n"} {
		var ev events.Event
		if err := events.Decode(fmt.Appendf(nil, between, br, br), &ev); err != nil {
			t.Errorf("%q between tokens: %v", br, err)
		}
		for _, text := range []string{
			`{"event_type":"a` + br + `","payload":{}}`,
			`{"event_type":"a","run_id":"r` + br + `1","n":1,"payload":{}}`,
			`{"event_type":"a","payload":{"text":"x` + br + `y"}}`,
			`{"event_type":"a","payload":{},"unknown":"x` + br + `y"}`,
		} {
			data := []byte(text)
			if err := events.Decode(data, &ev); err == nil {
				t.Errorf("%q: accepted", text)
			}
			if string(data) != text {
				t.Errorf("%q: changed to %q", text, data)
			}
		}
	}
}
