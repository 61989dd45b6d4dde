package mycodeagent_test

import (
	"flag"
	"testing"

	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/internal/importer/mycodeagent"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func suite() *importertest.Suite {
	return &importertest.Suite{
		Format: mycodeagent.Format{}, Corpus: "../../../../shared/corpus",
		Globs: []string{"mycodeagent/*.jsonl"}, AtLeast: 7, Update: *update,
	}
}

func TestCorpus(t *testing.T)     { suite().Golden(t) }
func TestPrefix(t *testing.T)     { suite().Prefix(t) }
func TestIdempotent(t *testing.T) { suite().Idempotent(t) }

func FuzzStream(f *testing.F) {
	suite().Fuzz(f, `{"event_id":"e","timestamp":"2026-01-01T00:00:00Z","session_id":"s","run_id":"r","step":1,"event_type":"message","payload":{"role":"user","content":"hi"}}`+"\n")
}
