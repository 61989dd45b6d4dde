package fold_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/pubmodel"
)

// TestDirtyLogs folds what conforming publishers and a lossy stream may come
// to store, and the clean log of the same story: the trees are equal but for
// the notices of admission.
func TestDirtyLogs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		event := func() events.Event {
			var e events.Event
			line := drawEvent(rt, false)
			if err := events.Decode([]byte(line), &e); err != nil {
				rt.Fatal(err)
			}
			e.RunID = ""
			return e
		}
		story := pubmodel.Story{Plain: rapid.Bool().Draw(rt, "plain")}
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			var list []events.Event
			for range rapid.IntRange(1, 15).Draw(rt, "events") {
				list = append(list, event())
			}
			story.Runs = append(story.Runs, list)
		}
		for range rapid.IntRange(0, 3).Draw(rt, "casual") {
			story.Casual = append(story.Casual, event())
		}
		pair := pubmodel.Play(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }, story)
		dirty, clean := foldMessages(pair.Dirty), foldMessages(pair.Clean)
		if got := int(dirty.Info().Events); got != len(pair.Clean)-pair.Late {
			rt.Fatalf("%d events entered the tree, want %d", got, len(pair.Clean)-pair.Late)
		}
		if a, b := treeOf(rt, dirty), treeOf(rt, clean); a != b {
			rt.Fatalf("the dirty log gives\n%s\nthe clean one\n%s", a, b)
		}
	})
}

func foldMessages(log []pubmodel.Message) *fold.Agent {
	a := fold.New("s", "a", fold.TreeOnly())
	var first events.Event
	if len(log) > 0 && events.Decode(bytes.Clone(log[0].Data), &first) == nil && first.Session != "" {
		a = fold.New(first.Session, first.Agent, fold.TreeOnly())
	}
	for _, m := range log {
		a.Step(fold.Record{Seq: m.Seq, StreamSeq: m.Seq, StoredAt: epoch + int64(m.Seq)*1000, Data: bytes.Clone(m.Data)})
	}
	return a
}

// treeOf is the snapshot without what admission noticed.
func treeOf(t tester, a *fold.Agent) string {
	doc := decoded(t, a.Snapshot(-1))
	items, _ := doc["items"].([]any)
	doc["items"] = slices.DeleteFunc(items, func(v any) bool { return strings.Contains(quoted(v), `"event":"admission"`) })
	return quoted(doc)
}
