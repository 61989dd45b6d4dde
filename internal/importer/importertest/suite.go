// Package importertest holds what the tests of every import format check over
// its sample files.
package importertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// Suite checks a format over files.
type Suite struct {
	Format  importer.Format
	Corpus  string   // directory of the samples
	Globs   []string // below Corpus
	AtLeast int      // files that must be found
	Update  bool     // rewrite the golden files
}

// Files lists the samples; the test is skipped when there is no corpus.
func (s *Suite) Files(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat(s.Corpus); err != nil {
		t.Skip("no corpus beside the project: " + err.Error())
	}
	var files []string
	for _, pattern := range s.Globs {
		found, err := filepath.Glob(filepath.Join(s.Corpus, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < s.AtLeast {
		t.Fatalf("found only %d files: %v", len(files), files)
	}
	return files
}

// Name of a sample's golden files: its path below the corpus' directory of the
// format.
func (s *Suite) Name(path string) string {
	rel, err := filepath.Rel(s.Corpus, path)
	if err != nil {
		rel = path
	}
	_, rest, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return strings.ReplaceAll(strings.TrimSuffix(rest, ".jsonl"), "/", "_")
}

// Locate is Format.Locate, which must not fail.
func (s *Suite) Locate(t testing.TB, path string) importer.Source {
	t.Helper()
	src, err := s.Format.Locate(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// Decode turns the bytes of a file into events.
func (s *Suite) Decode(src importer.Source, data []byte) ([]*events.Event, *importer.Report) {
	stream := importer.NewStream(s.Format, src)
	_, _ = stream.Write(data) // never fails
	stream.AtEnd()
	return stream.Events(), stream.Report()
}

// Golden compares the events, the report and the transcript of every sample
// with testdata/<name>.events, .report and .tree.
func (s *Suite) Golden(t *testing.T) {
	for _, path := range s.Files(t) {
		name := s.Name(path)
		t.Run(name, func(t *testing.T) {
			list, report := s.Decode(s.Locate(t, path), read(t, path))
			CheckEvents(t, list)
			s.golden(t, name+".events", Listing(list))
			text, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			s.golden(t, name+".report", append(text, '\n'))
			s.golden(t, name+".tree", Trees(t, list))
		})
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (s *Suite) golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if s.Update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := read(t, path)
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

// Listing shows events one a line: what matters of each, its payload cut.
func Listing(list []*events.Event) []byte {
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

// CheckEvents holds for every file: each event is valid for the codec, n rises
// by one in each agent log, ids are unique there.
func CheckEvents(t testing.TB, list []*events.Event) {
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
		key := string(e.Agent) + " " + e.ID
		if ids[key] {
			t.Fatalf("id %s twice", key)
		}
		ids[key] = true
	}
}

// Prefix checks that however the bytes arrive, and wherever they end for now,
// the events so far are the first events of the whole file.
func (s *Suite) Prefix(t *testing.T) {
	for _, path := range s.Files(t) {
		data := read(t, path)
		src := s.Locate(t, path)
		data = data[:min(len(data), 100_000)] // a part is as good and does not take minutes
		whole, _ := s.Decode(src, data)
		want := strings.Split(string(Listing(whole)), "\n")
		t.Run(s.Name(path), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cuts := rapid.SliceOfN(rapid.IntRange(0, len(data)), 1, 4).Draw(t, "cuts")
				slices.Sort(cuts)
				stream := importer.NewStream(s.Format, src)
				var got []*events.Event
				from := 0
				for _, cut := range append(cuts, len(data)) {
					_, _ = stream.Write(data[from:cut])
					stream.AtEnd()
					from = cut
					got = append(got, stream.Events()...)
					lines := strings.Split(string(Listing(got)), "\n")
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

// Fuzz checks that no input stops or breaks the decoder.
func (s *Suite) Fuzz(f *testing.F, seeds ...string) {
	if _, err := os.Stat(s.Corpus); err == nil {
		for _, path := range s.Files(f) {
			data := read(f, path)
			for line := range bytes.Lines(data) { // long seeds make the fuzzer crawl
				if len(line) < 1000 {
					f.Add(line)
				}
			}
			f.Add(data[:min(len(data), 3000)])
		}
	}
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src := importer.Source{Name: "f", Session: "f"}
		list, report := s.Decode(src, data)
		CheckEvents(t, list)
		if report.Events != len(list) {
			t.Fatalf("report says %d events, got %d", report.Events, len(list))
		}
		half, _ := s.Decode(src, data[:len(data)/2])
		if !bytes.HasPrefix(Listing(list), Listing(half)) {
			t.Fatal("the events of the first half are no prefix")
		}
	})
}
