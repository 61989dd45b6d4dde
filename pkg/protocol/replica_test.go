package protocol

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/opgen"
	"github.com/stenohq/steno/pkg/reducer"
)

const epoch = "e.1"

// server is a log of batches with the state after each.
type server struct {
	batches []Batch
	states  []*reducer.Snapshot // states[seq]
}

func newServer(ops []reducer.Op) *server {
	tr := reducer.NewTranscript("main")
	s := &server{states: []*reducer.Snapshot{tr.Snapshot(-1)}}
	for i, op := range ops {
		tr.Apply([]reducer.Op{op})
		s.states = append(s.states, tr.Snapshot(-1))
		s.batches = append(s.batches, Batch{Seq: uint64(i + 1), PrevSeq: uint64(i), Ops: []reducer.Op{op}})
	}
	return s
}

func (s *server) reset(seq uint64, o reducer.WindowOptions) *Reset {
	return &Reset{AgentID: "main", Snapshot: s.states[seq].Window(o), Seq: seq, Epoch: epoch}
}

func (s *server) page(t *rapid.T, seq uint64, q reducer.PageQuery) *Page {
	p, err := reducer.Paginate(s.states[seq], q)
	if err != nil {
		t.Fatal(err)
	}
	return &Page{AgentID: "main", Snapshot: p.Snapshot, HasMore: p.HasMore, Seq: seq, Epoch: epoch}
}

func (s *server) ops(from, to int) *Ops {
	return &Ops{AgentID: "main", Batch: Merge(s.batches[from:to]), Epoch: epoch}
}

// older is the question for what stands before what the client holds.
func older(r *Replica) (q reducer.PageQuery, sameTurn, ok bool) {
	for turn := range r.Transcript().Snapshot(-1).Turns() {
		if turn.HasMoreSteps && len(turn.Steps) > 0 {
			return reducer.PageQuery{Turn: turn.TurnID, BeforeStep: turn.Steps[0].Ordinal, MaxSteps: 2}, true, true
		}
	}
	if !r.Transcript().HasMoreOlder() {
		return q, false, false
	}
	for turn := range r.Transcript().Snapshot(-1).Turns() {
		return reducer.PageQuery{Before: turn.TurnID, Size: 1, MaxSteps: 1}, false, true
	}
	return q, false, false
}

// TestReplica lets a client follow a log over a connection that repeats,
// merges and loses batches, while it loads older pages, which arrive late.
func TestReplica(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newServer(opgen.Log(draws{t}, 80, opgen.Options{Clean: true, NoRemove: true}))
		end := len(s.batches)
		r := NewReplica("main")
		at := rapid.IntRange(0, end).Draw(t, "baseline")
		sent := at
		window := reducer.WindowOptions{Turns: rapid.IntRange(1, 3).Draw(t, "turns"), Steps: rapid.IntRange(1, 2).Draw(t, "steps")}
		if out := r.Reset(s.reset(uint64(at), window)); out != Applied {
			t.Fatalf("baseline: %d", out)
		}
		var fetch *reducer.PageQuery
		var same bool
		var minSeq uint64
		recoverFrom := func() {
			if rapid.Bool().Draw(t, "reset") {
				now := uint64(max(sent, int(r.Seq())))
				r.Reset(s.reset(now, window))
				sent, at = int(now), int(now)
				return
			}
			from := int(r.Seq())
			to := max(sent, from)
			c := &CatchUp{AgentID: "main", Batches: s.batches[from:to], LatestSeq: uint64(end), Complete: true, Epoch: epoch}
			if out := r.CatchUp(c); out == Lost {
				t.Fatalf("catch-up from %d to %d: %+v", from, to, r)
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "moves") {
			switch rapid.IntRange(0, 9).Draw(t, "move") {
			case 0: // lose some
				sent = min(end, sent+rapid.IntRange(1, 3).Draw(t, "lost"))
			case 1: // repeat some
				from := rapid.IntRange(at, sent).Draw(t, "from")
				if from < sent && r.Ops(s.ops(from, sent)) == Lost {
					recoverFrom()
				}
			case 2:
				if q, st, ok := older(r); ok && fetch == nil {
					fetch, same, minSeq = &q, st, r.BeginFetch()
				}
			case 3:
				if fetch != nil {
					seq := uint64(rapid.IntRange(int(minSeq), max(sent, int(minSeq))).Draw(t, "page seq"))
					var p *Page
					if rapid.IntRange(0, 4).Draw(t, "arrives") > 0 {
						p = s.page(t, seq, *fetch)
					}
					fetch = nil
					if r.EndFetch(p, same) == Lost {
						recoverFrom()
					}
				}
			default:
				to := min(end, sent+rapid.IntRange(1, 4).Draw(t, "n"))
				if to > sent && r.Ops(s.ops(sent, to)) == Lost {
					sent = to
					recoverFrom()
				}
				sent = max(sent, to)
			}
		}
		if fetch != nil && r.EndFetch(nil, false) == Lost {
			recoverFrom()
		}
		sent = end
		if from := int(r.Seq()); from < end && r.Ops(s.ops(from, end)) == Lost {
			recoverFrom()
		}
		for {
			q, st, ok := older(r)
			if !ok {
				break
			}
			r.BeginFetch()
			if r.EndFetch(s.page(t, uint64(end), q), st) != Applied {
				t.Fatal("page refused")
			}
		}
		compare(t, r, s.states[end])
	})
}

func compare(t *rapid.T, r *Replica, want *reducer.Snapshot) {
	got := r.Transcript().Snapshot(-1)
	if !r.Ready() {
		t.Fatal("not ready")
	}
	var a, b []string
	for it := range got.Items() {
		a = append(a, string(it.AppendJSON(nil)))
	}
	held := map[string]string{}
	for it := range want.Items() {
		if it.Turn != nil {
			it.Turn.HasMoreSteps = false
		}
		b = append(b, string(it.AppendJSON(nil)))
	}
	if strings.Join(a, "\n") != strings.Join(b, "\n") {
		t.Fatalf("items\n%s\nwant\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	for k := range want.Tasks() {
		held[k.TaskID] = string(k.AppendJSON(nil))
	}
	for k := range got.Tasks() {
		if string(k.AppendJSON(nil)) != held[k.TaskID] {
			t.Fatalf("task %s\nwant %s", k.AppendJSON(nil), held[k.TaskID])
		}
		delete(held, k.TaskID)
	}
	for id, v := range held {
		if strings.Contains(v, `"state":"running"`) {
			t.Fatalf("running task %s is missing", id)
		}
	}
	if p, q := fmt.Sprint(pending(got)), fmt.Sprint(pending(want)); p != q {
		t.Fatalf("pending %s, want %s", p, q)
	}
	m, n := got.Meta(), want.Meta()
	if string(m.AppendJSON(nil)) != string(n.AppendJSON(nil)) {
		t.Fatalf("meta %s, want %s", m.AppendJSON(nil), n.AppendJSON(nil))
	}
}

func pending(s *reducer.Snapshot) map[string]bool {
	out := map[string]bool{}
	for i := range s.Pending() {
		out[i.InteractionID] = true
	}
	return out
}

// TestClientRule checks the rule batch by batch.
func TestClientRule(t *testing.T) {
	empty := reducer.NewSnapshot(reducer.Parts{})
	for _, c := range []struct {
		name         string
		seq, prevSeq uint64
		want         Outcome
		watermark    uint64
	}{
		{"older", 9, 8, Ignored, 10},
		{"the same", 10, 9, Ignored, 10},
		{"next", 11, 10, Applied, 11},
		{"next at a lower grade", 20, 7, Applied, 20},
		{"merged over the watermark", 14, 4, Applied, 14},
		{"lost", 12, 11, Lost, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReplica("main")
			if out := r.Ops(&Ops{Batch: Batch{Seq: 1}, Epoch: epoch}); out != Lost {
				t.Fatalf("before a baseline: %d", out)
			}
			r.Reset(&Reset{Snapshot: empty, Seq: 10, Epoch: epoch})
			if out := r.Ops(&Ops{Batch: Batch{Seq: c.seq, PrevSeq: c.prevSeq}, Epoch: epoch}); out != c.want || r.Seq() != c.watermark {
				t.Fatalf("%d at %d", out, r.Seq())
			}
		})
	}
	t.Run("another epoch", func(t *testing.T) {
		r := NewReplica("main")
		r.Reset(&Reset{Snapshot: empty, Seq: 10, Epoch: epoch})
		if out := r.Ops(&Ops{Batch: Batch{Seq: 11, PrevSeq: 10}, Epoch: "other"}); out != Lost {
			t.Fatal(out)
		}
		if out := r.CatchUp(&CatchUp{Complete: true, Epoch: "other"}); out != Lost {
			t.Fatal(out)
		}
		if out := r.Reset(&Reset{Snapshot: empty, Seq: 1, Epoch: "other"}); out != Applied || r.Seq() != 1 {
			t.Fatal(out, r.Seq())
		}
	})
	t.Run("a baseline from the past", func(t *testing.T) {
		r := NewReplica("main")
		r.Reset(&Reset{Snapshot: empty, Seq: 10, Epoch: epoch})
		if out := r.Reset(&Reset{Snapshot: empty, Seq: 9, Epoch: epoch}); out != Ignored || r.Seq() != 10 {
			t.Fatal(out, r.Seq())
		}
	})
	t.Run("an append that does not fit", func(t *testing.T) {
		r := NewReplica("main")
		r.Reset(&Reset{Snapshot: empty, Seq: 10, Epoch: epoch})
		b := Batch{Seq: 11, PrevSeq: 10, Ops: opsOf(t, appendTo("t1", "f", 7, "x"))}
		if out := r.Ops(&Ops{Batch: b, Epoch: epoch}); out != Lost || r.Ready() {
			t.Fatal(out)
		}
	})
	t.Run("too much waits", func(t *testing.T) {
		r := NewReplica("main")
		r.Reset(&Reset{Snapshot: empty, Seq: 0, Epoch: epoch})
		r.BeginFetch()
		big := strings.Repeat("x", 1<<20)
		var out Outcome
		for i := range 40 {
			b := Batch{Seq: uint64(i + 1), PrevSeq: uint64(i), Ops: opsOf(t, tail("k", i<<20, big))}
			if out = r.Ops(&Ops{Batch: b, Epoch: epoch}); out == Lost {
				break
			}
		}
		if out != Lost || r.bytes > maxWaiting {
			t.Fatal(out, r.bytes)
		}
	})
}
