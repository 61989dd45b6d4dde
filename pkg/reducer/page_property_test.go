package reducer_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/opgen"
	"github.com/stenohq/steno/pkg/reducer"
)

// plainPage cuts a page out of a list of items.
func plainPage(s *reducer.Snapshot, q reducer.PageQuery) (ids []string, more bool) {
	groups := [][]string{{}}
	ordinals := []int{-1}
	for it := range s.Items() {
		if it.Turn != nil {
			groups, ordinals = append(groups, nil), append(ordinals, it.Turn.Ordinal)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], it.ID())
	}
	from, to := 1, len(groups)
	switch {
	case q.Turn != "":
		for _, g := range groups[1:] {
			if g[0] == q.Turn {
				return g, false
			}
		}
		return nil, false
	case q.After != "":
		for from < to && ordinals[from] <= reducer.TurnOrdinal(q.After) {
			from++
		}
		more = to-from > q.Size
		to = min(to, from+q.Size)
		if from == 1 && len(groups) > 1 && !s.HasMoreOlder() {
			ids = groups[0]
		}
		return append(ids, slices.Concat(groups[from:to]...)...), more
	case q.Before != "":
		for to > 1 && ordinals[to-1] >= reducer.TurnOrdinal(q.Before) {
			to--
		}
	}
	if to-from > q.Size {
		return slices.Concat(groups[to-q.Size : to]...), true
	}
	return slices.Concat(groups[:to]...), s.HasMoreOlder()
}

func TestPagesOfRandomLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := reducer.NewTranscript("main")
		tr.Apply(opgen.Log(draws{t}, 60, opgen.Options{OwnOrdinals: true}))
		s := tr.Snapshot(rapid.IntRange(-1, 4).Draw(t, "tail"))
		q := reducer.PageQuery{Size: rapid.IntRange(1, 4).Draw(t, "size")}
		turn := rapid.SampledFrom([]string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "zzz"}).Draw(t, "turn")
		switch rapid.IntRange(0, 3).Draw(t, "cursor") {
		case 0:
			q.Before = turn
		case 1:
			q.After = turn
		case 2:
			q.Turn = turn
		}
		p, err := reducer.Paginate(s, q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for it := range p.Items() {
			got = append(got, it.ID())
		}
		want, more := plainPage(s, q)
		if strings.Join(got, " ") != strings.Join(want, " ") || p.HasMore != more {
			t.Fatalf("%+v of %s:\n%v more %v\nwant %v more %v", q, s.AppendJSON(nil), got, p.HasMore, want, more)
		}
	})
}
