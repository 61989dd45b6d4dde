package codex_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/codex"
	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const corpus = "../../../../shared/corpus"

func suite() *importertest.Suite {
	return &importertest.Suite{
		Format: codex.Format{}, Corpus: corpus, Globs: []string{"codex/*.jsonl"}, AtLeast: 7, Update: *update,
	}
}

func TestCorpus(t *testing.T)     { suite().Golden(t) }
func TestPrefix(t *testing.T)     { suite().Prefix(t) }
func TestIdempotent(t *testing.T) { suite().Idempotent(t) }

func FuzzStream(f *testing.F) { suite().Fuzz(f, seeds()...) }

// FuzzFold: the fold understands everything that the decoder makes of any
// input.
func FuzzFold(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, _ := decodeAll(importer.Source{Name: "f", Session: "f"}, data); len(list) > 0 {
			folded(t, list)
		}
	})
}

// seeds are records by themselves and in small groups: from long files the
// fuzzer crawls.
func seeds() []string {
	var all []string
	records := []string{meta, started, hi, hiEvent, yesEvent, yes, call, execEnd("c1", `"exit_code":0`), output, tokens1, noTokens, complete, aborted}
	for _, record := range records {
		all = append(all, string(file(record)), string(file(hi, record)))
	}
	return append(all, string(file(hiEvent, execEnd("c2", `"exit_code":0`), yesEvent, complete)))
}

func decodeAll(src importer.Source, data []byte) ([]*events.Event, *importer.Report) {
	return suite().Decode(src, data)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// folded is the transcript of the file's own agent. It fails when the fold
// complains of an event.
func folded(t testing.TB, list []*events.Event) *reducer.Snapshot {
	t.Helper()
	snapshot := importertest.Fold(t, list, list[0].Agent)
	for item := range snapshot.Items() {
		if m := item.Marker; m != nil && m.Marker == "notice" && strings.Contains(string(m.Payload), `"field"`) {
			t.Errorf("the fold complains: %s", m.Payload)
		}
	}
	return snapshot
}

// TestUnderstood: the fold understands every event of the samples.
func TestUnderstood(t *testing.T) {
	for _, path := range suite().Files(t) {
		list, _ := decodeAll(suite().Locate(t, path), readFile(t, path))
		folded(t, list)
	}
}

// BenchmarkStream decodes a session of 320 kB and 169 lines.
func BenchmarkStream(b *testing.B) {
	suite().Files(b)
	path := filepath.Join(corpus, "codex", "six-open-calls-session.jsonl")
	data := readFile(b, path)
	src := suite().Locate(b, path)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		list, _ := decodeAll(src, data)
		events += len(list)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
