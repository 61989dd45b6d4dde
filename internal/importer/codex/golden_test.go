package codex_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/codex"
	"github.com/stenohq/steno/pkg/events"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const corpus = "../../../../shared/corpus"

// corpusFiles lists the rollouts of the corpus.
func corpusFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, "codex", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no corpus beside the project")
	}
	if len(files) < 7 {
		t.Fatalf("found only %d files: %v", len(files), files)
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func locate(t testing.TB, path string) importer.Source {
	t.Helper()
	src, err := codex.Format{}.Locate(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func decodeAll(src importer.Source, data []byte) ([]*events.Event, *importer.Report) {
	s := importer.NewStream(codex.Format{}, src)
	_, _ = s.Write(data)
	return s.Events(), s.Report()
}

// listing shows events one a line: what matters of each, its payload cut.
func listing(list []*events.Event) []byte {
	var b bytes.Buffer
	for _, e := range list {
		payload := string(e.Payload)
		if len(payload) > 160 {
			sum := sha256.Sum256(e.Payload)
			cut := strings.ToValidUTF8(payload[:160], "")
			payload = fmt.Sprintf("%s… %d bytes %x", cut, len(payload), sum[:4])
		}
		fmt.Fprintf(&b, "%s %d %s %s %.8s %s %s %s\n", e.Agent, e.N, e.ID, e.Timestamp, e.SourceRun, e.Type, payload, e.Labels)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := readFile(t, path)
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s line %d:\n got %s\nwant %s", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: got %d lines, want %d", path, len(g), len(w))
}

// TestCorpus holds the events, the report and the tree of every rollout to
// their golden files.
func TestCorpus(t *testing.T) {
	for _, path := range corpusFiles(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(name, func(t *testing.T) {
			list, report := decodeAll(locate(t, path), readFile(t, path))
			checkEvents(t, list)
			golden(t, name+".events", listing(list))
			text, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".report", append(text, '\n'))
			golden(t, name+".tree", tree(t, list))
		})
	}
}

// checkEvents holds for every file: each event is valid for the codec, n rises
// by one in each agent log, ids are unique there.
func checkEvents(t testing.TB, list []*events.Event) {
	t.Helper()
	next := map[events.AgentID]uint64{}
	ids := map[string]bool{}
	for _, e := range list {
		raw := events.AppendEvent(nil, e)
		var back events.Event
		if err := events.Decode(raw, &back); err != nil {
			t.Fatalf("%s %d %s: %v\n%.300s", e.Agent, e.N, e.Type, err, raw)
		}
		if err := back.Validate(); err != nil {
			t.Fatalf("%s %d %s: %v\n%.300s", e.Agent, e.N, e.Type, err, raw)
		}
		next[e.Agent]++
		if e.N != next[e.Agent] {
			t.Fatalf("%s: n %d after %d", e.Agent, e.N, next[e.Agent]-1)
		}
		if key := string(e.Agent) + " " + e.ID; ids[key] {
			t.Fatalf("id %s twice", key)
		} else {
			ids[key] = true
		}
	}
}
