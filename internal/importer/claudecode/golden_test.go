package claudecode_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/claudecode"
	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/pkg/events"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const corpus = "../../../../shared/corpus"

// corpusFiles lists the Claude Code logs of the corpus, the damaged ones too.
func corpusFiles(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("no corpus beside the project: " + err.Error())
	}
	var files []string
	for _, pattern := range []string{"claude-code/*.jsonl", "claude-code/subagents/*.jsonl", "claude-code/subagents/*/subagents/*.jsonl", "damaged/claude-*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 18 {
		t.Fatalf("found only %d files: %v", len(files), files)
	}
	return files
}

func locate(t testing.TB, path string) importer.Source {
	t.Helper()
	src, err := claudecode.Format{}.Locate(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func decodeAll(src importer.Source, data []byte) ([]*events.Event, *importer.Report) {
	s := importer.NewStream(claudecode.Format{}, src)
	_, _ = s.Write(data)
	s.AtEnd()
	return s.Events(), s.Report()
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
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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

func TestCorpus(t *testing.T) {
	for _, path := range corpusFiles(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			list, report := decodeAll(locate(t, path), data)
			importertest.CheckEvents(t, list)
			golden(t, name+".events", importertest.Listing(list))
			text, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".report", append(text, '\n'))
		})
	}
}

// TestPrefix: however the bytes arrive, and wherever they end for now, the
// events so far are the first events of the whole file.
func TestPrefix(t *testing.T) {
	for _, path := range corpusFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src := locate(t, path)
		data = data[:min(len(data), 150_000)] // a part is as good and does not take minutes
		whole, _ := decodeAll(src, data)
		want := strings.Split(string(importertest.Listing(whole)), "\n")
		t.Run(filepath.Base(path), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cuts := rapid.SliceOfN(rapid.IntRange(0, len(data)), 1, 4).Draw(t, "cuts")
				slices.Sort(cuts)
				s := importer.NewStream(claudecode.Format{}, src)
				var got []*events.Event
				from := 0
				for _, cut := range append(cuts, len(data)) {
					_, _ = s.Write(data[from:cut])
					s.AtEnd()
					from = cut
					got = append(got, s.Events()...)
					lines := strings.Split(string(importertest.Listing(got)), "\n")
					if !slices.Equal(lines[:len(lines)-1], want[:len(lines)-1]) {
						t.Fatalf("the events of the first %d bytes are no prefix", cut)
					}
				}
				if len(got) != len(whole) {
					t.Fatalf("%d events, want %d", len(got), len(whole))
				}
			})
		})
	}
}

// FuzzStream: no input stops or breaks the decoder.
func FuzzStream(f *testing.F) {
	if _, err := os.Stat(corpus); err == nil {
		for _, path := range corpusFiles(f) {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			for line := range bytes.Lines(data) { // long seeds make the fuzzer crawl
				if len(line) < 1000 {
					f.Add(line)
				}
			}
			f.Add(data[:min(len(data), 3000)])
		}
	}
	f.Add([]byte(`{"type":"user","sessionId":"s","uuid":"u","timestamp":"2026-01-01T00:00:00Z","message":{"content":"hi"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, report := decodeAll(importer.Source{Name: "f"}, data)
		importertest.CheckEvents(t, list)
		if report.Events != len(list) {
			t.Fatalf("report says %d events, got %d", report.Events, len(list))
		}
		half, _ := decodeAll(importer.Source{Name: "f"}, data[:len(data)/2])
		if !bytes.HasPrefix(importertest.Listing(list), importertest.Listing(half)) {
			t.Fatal("the events of the first half are no prefix")
		}
	})
}
