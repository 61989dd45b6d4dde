package resume_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/resume"
)

// corpus returns the events of every MyCodeAgent transcript: they are the five
// facts as they are.
func corpus(t testing.TB) map[string][][]byte {
	t.Helper()
	files, err := filepath.Glob("../../../shared/corpus/mycodeagent/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Skip("the corpus is not there: ../shared/corpus beside the project")
	}
	logs := map[string][][]byte{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var log [][]byte
		for line := range bytes.Lines(data) {
			var ev events.Event
			if events.Decode(bytes.Clone(line), &ev) != nil {
				continue // a torn tail
			}
			ev.Session, ev.Agent = facttest.Session, facttest.Agent
			log = append(log, events.AppendEvent(nil, &ev))
		}
		logs[filepath.Base(path)] = log
	}
	return logs
}

func TestCorpus(t *testing.T) {
	for name, log := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			checkSplits(t, log)
			for i := range log {
				a := fold.New(facttest.Session, facttest.Agent)
				facttest.Continue(a, log[:i])
				checkValid(t, a.Resume(resume.ReadOptions{}).Model)
			}
		})
	}
}

// TestCorpusKilled: the process died while a tool ran.
func TestCorpusKilled(t *testing.T) {
	for name, log := range corpus(t) {
		a := fold.New(facttest.Session, facttest.Agent)
		facttest.Continue(a, log)
		s := a.Resume(resume.ReadOptions{})
		started := map[string]int{}
		for _, data := range log {
			var ev events.Event
			if err := events.Decode(bytes.Clone(data), &ev); err != nil {
				t.Fatal(err)
			}
			id, _ := scan.Get(ev.Payload, "tool_call_id")
			switch status, _ := scan.Get(ev.Payload, "status"); string(status) {
			case `"started"`:
				started[ev.RunID+string(id)]++
			case `"completed"`, `"failed"`:
				delete(started, ev.RunID+string(id))
			}
		}
		if got := s.ToolCounts.Uncertain; got != len(started) {
			t.Errorf("%s: %d uncertain calls, counted by hand %d", name, got, len(started))
		}
	}
}
