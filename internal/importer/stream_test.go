package importer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// echo is a format whose records {"id","t","s","type","x"} become one event
// each, of the whole record.
type echo struct{}

func (echo) Name() string                        { return "echo" }
func (echo) Detect(records [][]byte) bool        { return isRecord(records[0]) }
func (echo) IsRecord(raw []byte) bool            { return isRecord(raw) }
func (echo) NewDecoder(Source) Decoder           { return &echoDecoder{} }
func (echo) Locate(string) (Source, error)       { return Source{}, nil }
func (*echoDecoder) Held() []Finding             { return nil }
func (d *echoDecoder) Session() events.SessionID { return d.session }

type echoDecoder struct{ session events.SessionID }

func (d *echoDecoder) Record(rec Record, out *Output) {
	get := func(name string) string {
		raw, _ := scan.Get(rec.Raw, name)
		s, _ := scan.Unquote(raw)
		return s
	}
	if !out.From(get("id"), get("t")) {
		return
	}
	if d.session == "" {
		d.session = events.SessionID(get("s"))
	}
	out.Event(Draft{Agent: "main", Type: "foreign.echo." + get("type"), Payload: bytes.Clone(rec.Raw)})
}

func feed(lines ...string) ([]*events.Event, *Report) {
	s := NewStream(echo{}, Source{Name: "f"})
	_, _ = s.Write([]byte(strings.Join(lines, "\n") + "\n"))
	return s.Events(), s.Report()
}

func TestTimes(t *testing.T) {
	list, _ := feed(
		`{"type":"a","id":"1"}`,
		`{"type":"a","id":"2","s":"S","t":"yesterday"}`,
		`{"type":"a","id":"3","t":"2026-01-01T00:00:05Z"}`,
		`{"type":"a","id":"4"}`,
		`{"type":"a","id":"5","t":"2026-01-01T00:00:01+02:00"}`,
		`{"type":"a","id":"6","t":"[trimmed]"}`,
	)
	want := []string{
		"2026-01-01T00:00:05Z", "2026-01-01T00:00:05Z", // before the first time: that one
		"2026-01-01T00:00:05Z", "2026-01-01T00:00:05Z",
		"2026-01-01T00:00:01+02:00", "2026-01-01T00:00:01+02:00", // backwards is data
	}
	if len(list) != len(want) {
		t.Fatalf("%d events", len(list))
	}
	for i, e := range list {
		if e.Timestamp != want[i] || e.N != uint64(i+1) || e.Session != "S" {
			t.Errorf("event %d: %+v, want time %s", i, e, want[i])
		}
	}
}

// A type from the file that holds what no name may hold still makes an event.
func TestNamesArePlain(t *testing.T) {
	list, _ := feed(`{"type":"a\nb\u0085\ud800","id":"1","s":"S","t":"2026-01-01T00:00:00Z"}`, `{"type":"é","id":"2"}`)
	if len(list) != 2 || list[1].Type != "foreign.echo.é" || !strings.HasPrefix(list[0].Type, "foreign.echo.a?b??") {
		t.Fatalf("got %q, %q", list[0].Type, list[1].Type)
	}
	for _, e := range list {
		var back events.Event
		if err := events.Decode(events.AppendEvent(nil, e), &back); err != nil {
			t.Error(err)
		}
	}
}

func TestWaitsForSessionAndTime(t *testing.T) {
	list, report := feed(`{"type":"a","id":"1"}`, `{"type":"a","id":"2","s":"S"}`)
	if len(list) != 0 || len(report.Held) != 1 || report.Clean() {
		t.Errorf("got %d events, held %v", len(list), report.Held)
	}
}

func TestIDs(t *testing.T) {
	first := `{"type":"a","id":"1","s":"S","t":"2026-01-01T00:00:00Z"}`
	list, report := feed(first, first, `{"type":"a","id":"1","x":1}`, `{"type":"a"}`, `{"type":"a"}`)
	if report.Repeats != 1 || report.Records != 5 {
		t.Errorf("repeats %d of %d records", report.Repeats, report.Records)
	}
	ids := map[string]bool{}
	for _, e := range list {
		ids[e.ID] = true
	}
	if len(list) != 4 || len(ids) != 4 || list[0].ID != "echo:1:0" {
		t.Errorf("%d events, ids %v", len(list), ids)
	}
}

func TestRunIsOfTheContent(t *testing.T) {
	line := `{"type":"a","id":"1","s":"S","t":"2026-01-01T00:00:00Z"}`
	a, _ := feed(line)
	b, _ := feed("\xef\xbb\xbf"+line+"\r", `{"type":"b"}`)
	c, _ := feed(strings.Replace(line, "05", "06", 1), `{"type":"b"}`)
	d, _ := feed(strings.Replace(line, `"1"`, `"2"`, 1))
	if a[0].RunID != b[0].RunID || a[0].RunID != c[0].RunID || a[0].ID != b[0].ID {
		t.Error("a copy has another run")
	}
	if a[0].RunID == d[0].RunID {
		t.Error("another first line has the same run")
	}
	// Also where the first record has to wait for a later one.
	e, _ := feed(`{"type":"a","id":"0"}`, line)
	f, _ := feed(`{"type":"a","id":"0"}`, `{"type":"a","id":"9"}`, line)
	if e[0].RunID != f[0].RunID || e[0].RunID == a[0].RunID {
		t.Error("the run is not that of the first record")
	}
}

func TestFit(t *testing.T) {
	head := `{"type":"a","s":"S","t":"2026-01-01T00:00:00Z",`
	big := strings.Repeat("é", 1<<20)
	list, report := feed(head+`"x":"`+big+`"}`, head+`"x":`+strings.Repeat("[", 199)+strings.Repeat("]", 199)+`}`, head+`"x":1}`)
	if len(list) != 3 || report.Skipped != 2 {
		t.Fatalf("%d events, skipped %v", len(list), report.SkippedList)
	}
	for i, e := range list {
		var back events.Event
		if err := events.Decode(events.AppendEvent(nil, e), &back); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
	}
	if x, _ := scan.Get(list[0].Payload, "x"); len(x) != keptValue+2 {
		t.Errorf("kept %d bytes", len(x))
	}
	if list[1].Type != "steno.skipped" || list[1].N != 2 {
		t.Errorf("nested: %+v", list[1])
	}
	if list[2].N != 3 {
		t.Errorf("a hole: %+v", list[2])
	}
}

func TestLongLines(t *testing.T) {
	for _, c := range []struct {
		limit, size int
		taken       bool
	}{
		{MaxLine, MaxLine, true},
		{1 << 20, 1 << 20, true},
		{1 << 20, 1<<20 + 1, false},
		{1 << 20, 5 << 20, false},
	} {
		if c.size > 1<<24 && (testing.Short() || raceDetector) {
			continue // takes 200 MB of memory, or half a minute
		}
		s := NewStream(echo{}, Source{Name: "f"})
		s.split.limit = c.limit
		head := `{"type":"a","s":"S","t":"2026-01-01T00:00:00Z","x":"`
		write := func(size int) {
			_, _ = s.Write([]byte(head))
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for left := size - len(head) - 2; left > 0; left -= len(chunk) {
				_, _ = s.Write(chunk[:min(left, len(chunk))])
			}
			_, _ = s.Write([]byte("\"}\n"))
		}
		write(c.size)
		write(1000)
		list, report := s.Events(), s.Report()
		events := 1
		if c.taken { // and what does not fit into a message is cut, which is said
			events = 2
		}
		if len(list) != events || report.Skipped != 1 || report.SkippedList[0].Line != 1 {
			t.Errorf("limit %d, line of %d: %d events, skipped %v", c.limit, c.size, len(list), report.SkippedList)
		}
	}
}
