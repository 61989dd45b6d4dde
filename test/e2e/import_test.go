package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

const weather = "33c772d9-b322-4f61-a37d-7d5634a80b45"

// TestImportCorpus: every file comes in, what could not be used is listed with
// line and reason, a second run adds nothing, and the archive holds what the
// gateway shows.
func TestImportCorpus(t *testing.T) {
	path := corpusPath(t)
	s := startUp(t, "recorder,projector,gateway")
	code, out, errs := call(t, "", "steno", "import", "--nats-url", s.natsURL(), path)
	if code != 3 {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	for _, want := range []string{
		"weather-app-session.jsonl\n  session " + weather + ": 714 lines, 1040 events, 1040 added",
		"line 13 not used: JSON but no object: a string",
		"line 14 not used: a record without a type",
		"line 15 not used: JSON but no object: a number",
		"line 16 not used: JSON but no object: an array",
		"session edge_cases: 19 lines, 33 events, 33 added", // the last line has no newline
		"\n15 files, ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	before := s.stored()
	if before < 1700 {
		t.Fatalf("only %d messages stored", before)
	}
	code, out, errs = call(t, "", "steno", "import", "--nats-url", s.natsURL(), path)
	if code != 3 || !strings.Contains(out, " 0 events added,") {
		t.Errorf("again: exit code %d\n%s\n%s", code, out, errs)
	}
	if after := s.stored(); after != before {
		t.Errorf("%d messages stored, %d after the second import", before, after)
	}
	t.Run("show", func(t *testing.T) { checkWeather(t, s) })
	t.Run("sessions", func(t *testing.T) { checkSessions(t, s) })
	t.Run("archive", func(t *testing.T) {
		inTest := *s
		inTest.t = t
		for _, log := range [][2]string{
			{weather, "main"},
			{"ses_stage0_small", "main"},
			{"ses_stage0_small", "side-sys1"},
			{"edge_cases", "main"},
			{"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", "a0ad4f44468bdf20d"},
			{"b90b1f0d-a621-4cd9-ab50-9f3bb6ff4c35", "main"},
		} {
			inTest.checkArchive(log[0], log[1])
		}
	})
	t.Run("another source", func(t *testing.T) {
		event := `{"event_type":"turn.started","payload":{"prompt":"mine"}}`
		if code, _, errs := call(t, event, "steno", "publish", "--nats-url", s.natsURL(), "test"); code != 0 {
			t.Fatal(errs)
		}
		before := s.stored()
		code, out, errs := call(t, "", "steno", "import", "--nats-url", s.natsURL(), "--session", "test", corpusPath(t, "fx-simonw-sample.jsonl"))
		if code != 1 || !strings.Contains(out, "session test comes from sdk and cannot take events from import:claude-code") {
			t.Errorf("exit code %d\n%s%s", code, out, errs)
		}
		if after := s.stored(); after != before {
			t.Errorf("%d events were added", after-before)
		}
	})
	t.Run("export", func(t *testing.T) { checkExport(t, s) })
	if code := s.up.stop(); code != 0 {
		t.Errorf("steno up ends with %d:\n%s", code, s.up.errors())
	}
}

// checkWeather compares what show prints with the counts that the test of the
// importer makes from the file by the rules of the format.
func checkWeather(t *testing.T, s *system) {
	code, out, errs := call(t, "", "steno", "show", "--gateway", s.gatewayURL(), "--json", weather)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var turns, steps, calls, failed int
	var in, cached, output float64
	markers := map[string]int{}
	for text := range strings.Lines(out) {
		var item struct {
			Kind, Marker, State string
			Steps               []struct {
				Usage  *struct{ InputOther, InputCacheCreation, InputCacheRead, Output float64 }
				Frames []struct{ Kind, State string }
			}
		}
		if err := json.Unmarshal([]byte(text), &item); err != nil {
			t.Fatalf("%v in %.200s", err, text)
		}
		if item.Kind == "marker" {
			markers[item.Marker]++
			continue
		}
		turns++
		for _, step := range item.Steps {
			steps++
			if u := step.Usage; u != nil {
				in += u.InputOther + u.InputCacheCreation
				cached += u.InputCacheRead
				output += u.Output
			}
			for _, f := range step.Frames {
				if f.Kind == "tool" {
					calls++
					if f.State == "error" {
						failed++
					}
				}
			}
		}
	}
	if turns != 9 || steps != 154 || calls != 146 || failed != 4 {
		t.Errorf("%d turns, %d steps, %d calls, %d errors", turns, steps, calls, failed)
	}
	if in != 402689 || cached != 11895589 || output != 2271 {
		t.Errorf("usage %.0f in, %.0f cached, %.0f out", in, cached, output)
	}
	if markers["compaction"] != 1 || markers["notice"] != 1 {
		t.Errorf("markers %v", markers)
	}
	_, out, _ = call(t, "", "steno", "show", "--gateway", s.gatewayURL(), weather)
	for _, want := range []string{"9 turns, 154 steps, 146 tool calls (4 errors)", "You've hit your limit", "◆ compaction"} {
		if !strings.Contains(out, want) {
			t.Errorf("show lacks %q", want)
		}
	}
	if i := strings.IndexFunc(out, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("show prints a control character: %q", out[i:min(len(out), i+20)])
	}
}

func checkSessions(t *testing.T, s *system) {
	titles := map[string]string{}
	eventually(t, "the session list is complete", func() bool {
		_, out, _ := call(t, "", "steno", "sessions", "--gateway", s.gatewayURL(), "--json")
		clear(titles)
		for text := range strings.Lines(out) {
			var row struct {
				ID    string `json:"session_id"`
				Title string
			}
			if err := json.Unmarshal([]byte(text), &row); err != nil {
				t.Fatalf("%v in %.200s", err, text)
			}
			titles[row.ID] = row.Title
		}
		return len(titles) == 14
	})
	if got := titles["6677d86c-a0d1-484d-946c-b89a8c928c0b"]; got != "Apply for Superteam agentic engineering grant" {
		t.Errorf("title %q", got)
	}
}

func checkExport(t *testing.T, s *system) {
	code, out, errs := call(t, "", "steno", "export", "--gateway", s.gatewayURL(), "--format", "wire", weather)
	if n := strings.Count(out, "\n"); code != 0 || n != 1040 {
		t.Errorf("wire: exit code %d, %d lines, %s", code, n, errs)
	}
	code, out, errs = call(t, "", "steno", "export", "--gateway", s.gatewayURL(), "--format", "json", weather)
	var doc struct {
		Transcripts []struct {
			Seq        int
			Transcript struct {
				Items []struct{ Steps []json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil {
		t.Fatalf("json: exit code %d, %v, %s", code, err, errs)
	}
	steps := 0
	for _, item := range doc.Transcripts[0].Transcript.Items {
		steps += len(item.Steps)
	}
	if doc.Transcripts[0].Seq != 1040 || steps != 154 {
		t.Errorf("json: seq %d, %d steps", doc.Transcripts[0].Seq, steps)
	}
}

// TestImportTwiceAtOnce: two importers of one file do not disturb each other.
func TestImportTwiceAtOnce(t *testing.T) {
	path := corpusPath(t, "weather-app-session.jsonl")
	s := startUp(t, "recorder,projector,gateway")
	a := start(t, "steno", "import", "--nats-url", s.natsURL(), path)
	b := start(t, "steno", "import", "--nats-url", s.natsURL(), path)
	for _, p := range []*proc{a, b} {
		<-p.done
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d: %s", code, p.errors())
		}
	}
	checkWeather(t, s)
	s.checkArchive(weather, "main")
	t.Logf("%d messages stored for 1040 events", s.stored())
}
