package claudecode_test

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkStream decodes a session of 1.3 MB and 714 lines.
func BenchmarkStream(b *testing.B) {
	corpusFiles(b)
	path := filepath.Join(corpus, "claude-code", "weather-app-session.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	src := locate(b, path)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		list, _ := decodeAll(src, data)
		events += len(list)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
