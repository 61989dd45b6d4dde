package fold_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// transcribe folds a log of envelopes, one a line, and writes down each batch
// and the last snapshot.
func transcribe(t *testing.T, log []byte) []byte {
	t.Helper()
	a := fold.New("s-1", "main")
	again := fold.New("s-1", "main", fold.ReuseOps()) // says the same at once
	var out []byte
	for i, line := range strings.Split(strings.TrimSuffix(string(log), "\n"), "\n") {
		n := uint64(i + 1)
		b := a.Step(fold.Record{Seq: n, StreamSeq: n, StoredAt: epoch + int64(n)*1000, Data: []byte(line)})
		out = strconv.AppendUint(out, n, 10)
		if b.Unknown != "" {
			out = append(out, " unknown "+b.Unknown...)
		}
		if other := again.Step(fold.Record{Seq: n, StreamSeq: n, StoredAt: epoch + int64(n)*1000, Data: []byte(line)}); opsJSON(other.Ops) != opsJSON(b.Ops) {
			t.Fatalf("record %d: with ReuseOps %s", n, opsJSON(other.Ops))
		}
		out = append(out, '\n')
		for j := range b.Ops {
			out = append(b.Ops[j].AppendJSON(append(out, '\t')), '\n')
		}
		if i%7 == 0 {
			other, err := fold.Decode("s-1", "main", a.Encode())
			if err != nil {
				t.Fatal(err)
			}
			a = other
		}
	}
	out = append(out, "snapshot\n\t"...)
	return append(a.Snapshot(-1).AppendJSON(out), '\n')
}

// TestGolden compares whole logs with their golden transcripts. A difference
// that is meant raises reducer.FoldVersion and rewrites them with -update.
func TestGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/logs/*.ndjson")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, path := range logs {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".ndjson"), func(t *testing.T) {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, strings.TrimSuffix(path, ".ndjson")+".golden", transcribe(t, log))
		})
	}
}

// TestGoldenCorpus does the same for a recorded session of the plain-loop
// family.
func TestGoldenCorpus(t *testing.T) {
	const name = "d-task.transcript-s-20261130-160533-8da2"
	log, err := os.ReadFile("../../../shared/corpus/mycodeagent/" + name + ".jsonl")
	if err != nil {
		t.Skip("the corpus is not here")
	}
	session := `"session_id": "` + strings.TrimPrefix(name, "d-task.transcript-") + `"`
	checkGolden(t, "testdata/corpus/mycodeagent.golden", transcribe(t, bytes.ReplaceAll(log, []byte(session), []byte(`"session_id":"s-1"`))))
}

func checkGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	got = append([]byte("fold "+strconv.Itoa(reducer.FoldVersion)+"\n"), got...)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	have, expected := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range have {
		if i >= len(expected) || have[i] != expected[i] {
			t.Fatalf("%s line %d:\n%s", path, i+1, have[i])
		}
	}
	t.Fatalf("%s has more lines", path)
}
