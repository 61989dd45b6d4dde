package fold_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/claudecode"
	"github.com/stenohq/steno/internal/importer/codex"
	"github.com/stenohq/steno/internal/importer/kimi"
	"github.com/stenohq/steno/internal/importer/kimilegacy"
	"github.com/stenohq/steno/pkg/events"
)

// TestGoldenImports compares whole recorded sessions of other programs, as
// their importers read them, with their golden transcripts.
func TestGoldenImports(t *testing.T) {
	for _, c := range []struct {
		format  importer.Format
		session string // file of the corpus, in the directory of the format
		golden  string
	}{
		{claudecode.Format{}, "fx-agent-sessions-small", "claude-code"},
		{claudecode.Format{}, "api-retries-session", "claude-code-retries"},
		{codex.Format{}, "short-session", "codex"},
		{codex.Format{}, "fx-agent-sessions-small", "codex-all-kinds"},
		{kimi.Format{}, "gen-2.1.0.err.main", "kimi-retries"},
		{kimi.Format{}, "gen-0.38.0.goal.main", "kimi-goal"},
		{kimilegacy.Format{}, "fx-with-tool-calls.wire", "kimi-legacy"},
	} {
		t.Run(c.golden, func(t *testing.T) {
			path := filepath.Join("../../../shared/corpus", c.format.Name(), c.session+".jsonl")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Skip("the corpus is not here")
			}
			stream := importer.NewStream(c.format, importer.Source{Name: c.session, Session: "s-1"})
			_, _ = stream.Write(data) // never fails
			var log bytes.Buffer
			for _, e := range stream.Events() {
				log.Write(append(events.AppendEvent(nil, e), '\n'))
			}
			checkGolden(t, "testdata/corpus/"+c.golden+".golden", transcribe(t, log.Bytes()))
		})
	}
}
