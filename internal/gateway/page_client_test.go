package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// The page's client, fed with the operations of recorded sessions and of made
// up ones, holds what the server's reducer holds.
func TestPageClientAgrees(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the JavaScript client is not compared")
	}
	for _, capability := range []string{"", "&capabilities=append_input"} {
		r := newRig(t, nil)
		fill(r, "s", "main", 400)
		_, catchUp := r.get("/v1/sessions/s/transcript/ops?since_seq=0" + capability)
		whole := reducer.NewTranscript("main")
		agent := fold.New("s", "main")
		recs, err := r.log.Range(t.Context(), "s", "main", 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i := range recs {
			whole.Apply(agent.Step(foldRecord(&recs[i], uint64(i+1))).Ops)
		}
		in, err := json.Marshal(map[string]json.RawMessage{
			"catchUp": catchUp, "snapshot": whole.Snapshot(-1).AppendJSON(nil),
		})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), node, filepath.Join("..", "..", "web", "testdata", "replay.js"))
		cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", capability, err)
		}
	}
}
