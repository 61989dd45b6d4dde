package fold_test

import (
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// A fold that panics recovers into a notice and a reset, the same each time,
// and goes on.
func TestPanicRecovers(t *testing.T) {
	run := func() (string, string) {
		a := fold.New("s", "main", fold.WithSink(&faulty{}))
		step := func(line string) fold.Batch {
			return a.Step(fold.Record{Seq: a.Seq() + 1, StoredAt: 1767225600000, Data: []byte(line)})
		}
		reader := reducer.NewTranscript("main")
		var ops []byte
		for range 25 {
			for _, line := range []string{
				`{"event_type":"turn.started","payload":{"prompt":"p"}}`, `{"event_type":"turn.ended","payload":{"reason":"completed"}}`,
			} {
				b := step(line)
				reader.Apply(b.Ops)
				ops = append(reducer.AppendOps(ops, b.Ops), '\n')
			}
		}
		checkKept(t, a.Snapshot(-1), reader.Snapshot(-1))
		return string(ops), snapJSON(a.Snapshot(-1))
	}
	ops, snap := run()
	if !strings.Contains(ops, "could not be folded") || !strings.Contains(ops, `"op":"reset"`) || strings.Count(snap, `"kind":"turn"`) < 20 {
		t.Errorf("operations %.3000s", ops)
	}
	if again, snapAgain := run(); again != ops || snapAgain != snap {
		t.Error("a second run differs")
	}
}

// faulty is a sink that panics at the third turn.
type faulty struct{ n int }

func (f *faulty) Close(c reducer.Closed) {
	if c.Turn != nil {
		if f.n++; f.n == 3 {
			panic("faulty sink")
		}
	}
}

func (f *faulty) Gone(int) {}
