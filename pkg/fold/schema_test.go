//go:build !js

package fold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/schematest"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// Every operation and snapshot that a fold emits is as the contract has it:
// a strict client drops a whole batch for one value outside its set.

func TestSchemaOfGoldens(t *testing.T) {
	operation, snapshot := schematest.Load(t, "operation"), schematest.Load(t, "snapshot")
	goldens, err := filepath.Glob("testdata/*/*.golden")
	if err != nil || len(goldens) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, path := range goldens {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			switch {
			case strings.HasPrefix(line, "\t{\"op\""):
				operation.Check(t, []byte(line))
			case strings.HasPrefix(line, "\t"):
				snapshot.Check(t, []byte(line))
			}
		}
	}
}

func TestSchemaOfRandomLogs(t *testing.T) {
	operation, snapshot := schematest.Load(t, "operation"), schematest.Load(t, "snapshot")
	rapid.Check(t, func(rt *rapid.T) {
		a := fold.New("s-1", "main", fold.TreeOnly())
		for n := range rapid.IntRange(1, 40).Draw(rt, "events") {
			line := drawEvent(rt, true)
			b := a.Step(fold.Record{Seq: uint64(n + 1), StoredAt: epoch, Data: []byte(line)})
			for i := range b.Ops {
				doc := b.Ops[i].AppendJSON(nil)
				if err := operation.Validate(doc); err != nil {
					rt.Fatalf("%s\ngave %s\n%v", line, doc, err)
				}
			}
			doc := reducer.AppendOps(nil, b.Ops)
			if _, err := reducer.DecodeOps(doc); err != nil {
				rt.Fatalf("%s\ngave %s\n%v", line, doc, err)
			}
		}
		doc := []byte(snapJSON(a.Snapshot(-1)))
		if err := snapshot.Validate(doc); err != nil {
			rt.Fatalf("%s\n%v", doc, err)
		}
	})
}
