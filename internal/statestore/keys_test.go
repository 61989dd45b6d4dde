package statestore_test

import (
	"testing"

	"github.com/stenohq/steno/internal/statestore"
)

func TestKeys(t *testing.T) {
	for got, want := range map[string]string{
		statestore.TermKey("recorder", 3):                       "term.recorder.3",
		statestore.OwnKey("recorder", 3):                        "own.recorder.3",
		statestore.CheckpointKey("projector", 12):               "ckpt.projector.12",
		statestore.AgentKey(statestore.PrefixHead, 0, "s", "a"): "head.0.s.a",
		statestore.IndexKey("s=2E1"):                            "index.s=2E1",
	} {
		if got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}

func TestIsDocument(t *testing.T) {
	for key, want := range map[string]bool{
		"head.0.s.a": true, "mem.0.s.a": true, "resume.0.s.a": true,
		"heads.0": false, "rec.0.s.a": false, "index.head": false, "topology": false, "": false,
	} {
		if statestore.IsDocument(key) != want {
			t.Errorf("IsDocument(%q) is not %v", key, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		prefix, key string
		want        bool
	}{
		{"index", "index.a", true},
		{"index", "index", true},
		{"index", "indexes", false},
		{"index", "inde", false},
		{"head.1", "head.1.s.a", true},
		{"head.1", "head.10.s.a", false},
	} {
		if statestore.Matches(test.prefix, test.key) != test.want {
			t.Errorf("Matches(%q, %q) is not %v", test.prefix, test.key, test.want)
		}
	}
}
