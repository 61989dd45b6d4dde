package kimi_test

import (
	"flag"
	"testing"

	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/internal/importer/kimi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func suite() *importertest.Suite {
	return &importertest.Suite{
		Format: kimi.Format{}, Corpus: "../../../../shared/corpus",
		Globs:   []string{"kimi/*.jsonl", "kimi/*/agents/*/wire.jsonl", "damaged/kimi-*.jsonl"},
		AtLeast: 16, Update: *update,
	}
}

func TestCorpus(t *testing.T)     { suite().Golden(t) }
func TestPrefix(t *testing.T)     { suite().Prefix(t) }
func TestIdempotent(t *testing.T) { suite().Idempotent(t) }

func FuzzStream(f *testing.F) {
	suite().Fuzz(f,
		`{"type":"turn.prompt","input":[{"type":"text","text":"hi"}],"origin":{"kind":"user"},"time":1}`+"\n",
		`{"type":"turn.steer","input":[{"type":"text","text":"and"}],"origin":{"kind":"user"},"time":1}`+"\n"+`{"type":"turn.prompt","input":"x","time":2}`+"\n",
		`{"type":"agent.turn.ended","turnId":0,"outcome":"done","time":1}`+"\n",
		`{"type":"turn.cancel","turnId":3,"target":"queued","time":1}`+"\n",
		`{"type":"context.append_message","message":{"role":"assistant","content":"x","toolCalls":[{"id":"c","function":{"name":"n","arguments":"{}"}}]},"time":1}`+"\n",
	)
}
