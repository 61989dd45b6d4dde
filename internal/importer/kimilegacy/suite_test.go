package kimilegacy_test

import (
	"flag"
	"testing"

	"github.com/stenohq/steno/internal/importer/importertest"
	"github.com/stenohq/steno/internal/importer/kimilegacy"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func suite(globs ...string) *importertest.Suite {
	return &importertest.Suite{
		Format: kimilegacy.Format{}, Corpus: "../../../../shared/corpus",
		Globs: globs, AtLeast: 1, Update: *update,
	}
}

func wires() *importertest.Suite {
	s := suite("kimi-legacy/*.wire.jsonl")
	s.AtLeast = 4
	return s
}

func TestCorpus(t *testing.T)     { wires().Golden(t) }
func TestPrefix(t *testing.T)     { wires().Prefix(t) }
func TestIdempotent(t *testing.T) { wires().Idempotent(t) }

func FuzzStream(f *testing.F) {
	wires().Fuzz(f,
		`{"role":"_checkpoint","id":0}`+"\n"+`{"role":"user","content":"hi"}`+"\n"+`{"role":"assistant","content":"yes","tool_calls":[{"id":"c","function":{"name":"n","arguments":""}}]}`+"\n",
		`{"timestamp":1.5,"message":{"type":"ToolCall","payload":{"id":"c","function":{"name":"n","arguments":"{"}}}}`+"\n"+`{"timestamp":1.5,"message":{"type":"ToolCallPart","payload":{"arguments_part":"}"}}}`+"\n",
		`{"timestamp":1.5,"message":{"type":"SubagentEvent","payload":{"task_tool_call_id":"c","event":{"type":"TurnBegin","payload":{"user_input":"x"}}}}}`+"\n",
	)
}
