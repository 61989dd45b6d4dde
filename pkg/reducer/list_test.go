package reducer

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// named is a value with an id.
type named struct {
	id    string
	value int
}

func (n *named) key() string { return n.id }

// TestList compares the persistent list with a slice, also the copies taken on
// the way.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l list[*named]
		o, ed := new(owner), new(edit)
		var plain []*named
		type copied struct {
			l    list[*named]
			want []*named
		}
		var copies []copied
		next := 0
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			v := &named{fmt.Sprint("n", next), next}
			at := 0
			if len(plain) > 0 {
				at = rapid.IntRange(0, len(plain)-1).Draw(t, "at")
			}
			switch c := rapid.IntRange(0, 9).Draw(t, "do"); {
			case c < 4 || len(plain) == 0:
				next++
				l.push(o, ed, v)
				plain = append(plain, v)
			case c < 6:
				next++
				key, _ := l.find(o, plain[at].id)
				l.insert(o, ed, l.labelBefore(o, ed, key), v)
				plain = slices.Insert(plain, at, v)
			case c < 7:
				key, _ := l.find(o, plain[at].id)
				changed := &named{plain[at].id, next}
				l.set(ed, key, changed)
				plain[at] = changed
			case c < 9:
				key, _ := l.find(o, plain[at].id)
				l.remove(o, ed, key, plain[at].id)
				plain = slices.Delete(plain, at, at+1)
			default:
				copies = append(copies, copied{l, slices.Clone(plain)})
				ed = new(edit)
				if rapid.Bool().Draw(t, "other owner") {
					o = new(owner)
				}
			}
		}
		copies = append(copies, copied{l, plain})
		for i := range copies {
			c := &copies[i]
			if got := slices.Collect(values(&c.l)); !slices.Equal(got, c.want) || c.l.n != len(c.want) {
				t.Fatalf("copy %d of %d: %d entries, want %d", i, len(copies), len(got), len(c.want))
			}
			back := []*named{}
			for w := c.l.fromLast(); w.ok; w.prev() {
				back = append(back, w.val)
			}
			slices.Reverse(back)
			if !slices.Equal(back, c.want) {
				t.Fatalf("copy %d backwards", i)
			}
			for _, v := range c.want {
				if key, got := c.l.find(new(owner), v.id); key == 0 || got != v {
					t.Fatalf("copy %d: %s is not found", i, v.id)
				}
			}
		}
	})
}

// TestLabelsRunOut inserts at one place until the labels there are used up.
func TestLabelsRunOut(t *testing.T) {
	r := newRig(t, batch(opTurn("t0"), opTurn("t1000000")))
	want := "t0"
	for i := range 200 {
		id := fmt.Sprint("m", i)
		r.accept(1, opMarker(id, "before 1000000"))
		want += " " + id
	}
	r.wantOrder(want + " t1000000")
	r = newRig(t, batch(opStep("t1.1"), opStep("t1.1000000")))
	for i := range 200 {
		r.accept(1, opStep(fmt.Sprint("t1.", 999_999-i)))
	}
	last := 0
	for turn := range r.tr.Snapshot(-1).Turns() {
		for _, s := range turn.Steps {
			if s.Ordinal <= last {
				t.Fatalf("step %d behind %d", s.Ordinal, last)
			}
			last = s.Ordinal
		}
		if len(turn.Steps) != 202 {
			t.Fatalf("%d steps", len(turn.Steps))
		}
	}
}

// TestDescendingTurns fills a timeline from its end.
func TestDescendingTurns(t *testing.T) {
	tr := NewTranscript("main")
	const n = 20_000
	for i := n; i > 0; i-- {
		tr.Apply([]Op{{Kind: OpTurnUpsert, Turn: &Turn{TurnID: fmt.Sprint("t", i), Ordinal: i, State: TurnRunning, Origin: Origin{Kind: OriginUser}}}})
	}
	last := 0
	for turn := range tr.Snapshot(-1).Turns() {
		if turn.Ordinal != last+1 {
			t.Fatalf("turn %d behind %d", turn.Ordinal, last)
		}
		last = turn.Ordinal
	}
	if last != n {
		t.Fatalf("%d turns", last)
	}
}
