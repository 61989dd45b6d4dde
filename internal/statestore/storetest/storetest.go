// Package storetest is the suite that every state store passes.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stenohq/steno/internal/statestore"
)

// Open makes an empty store for one test.
type Open func(t *testing.T) statestore.Store

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *fixture)
	}{
		{"put", testPut},
		{"delete and make again", testDelete},
		{"commit", testCommit},
		{"documents", testDocuments},
		{"zombie is refused whole", testZombie},
		{"stale revision is refused whole", testStale},
		{"own late batch is refused", testLate},
		{"two slots in one batch", testTwoSlots},
		{"outcome", testOutcome},
		{"limits", testLimits},
		{"bad commits", testBadCommits},
		{"list", testList},
		{"watch", testWatch},
		{"reads are whole", testWholeReads},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, &fixture{t: t, Store: open(t)})
		})
	}
}

const role = statestore.RoleProjector

// fixture is a store with shorthands that end the test on an error.
type fixture struct {
	t *testing.T
	statestore.Store
}

func (f *fixture) put(key, value string, expect statestore.Rev) statestore.Rev {
	f.t.Helper()
	rev, err := f.Put(f.t.Context(), statestore.Write{Key: key, Value: []byte(value), Expect: expect})
	if err != nil {
		f.t.Fatal(err)
	}
	return rev
}

// take writes a slot's term and returns it.
func (f *fixture) take(slot int, holder string) uint64 {
	f.t.Helper()
	key := statestore.TermKey(role, slot)
	e, err := f.Get(f.t.Context(), key)
	if err != nil && !errors.Is(err, statestore.ErrNotFound) {
		f.t.Fatal(err)
	}
	return f.put(key, holder, e.Rev)[0]
}

func (f *fixture) want(key, value string, rev statestore.Rev) {
	f.t.Helper()
	e, err := f.Get(f.t.Context(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	if string(e.Value) != value || !slices.Equal(e.Rev, rev) || e.Key != key {
		f.t.Fatalf("%s is %s %.60q at %v, want %.60q at %v", key, e.Key, e.Value, e.Rev, value, rev)
	}
}

func (f *fixture) absent(key string) statestore.Rev {
	f.t.Helper()
	e, err := f.Get(f.t.Context(), key)
	if !errors.Is(err, statestore.ErrNotFound) || e.Value != nil {
		f.t.Fatalf("%s is %.60q, %v; want it absent", key, e.Value, err)
	}
	return e.Rev
}

func (f *fixture) apply(c statestore.Commit) []statestore.Rev {
	f.t.Helper()
	revs, err := f.Apply(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(revs) != len(c.Writes) {
		f.t.Fatalf("%d revisions for %d writes", len(revs), len(c.Writes))
	}
	return revs
}

func (f *fixture) refused(c statestore.Commit, want error) {
	f.t.Helper()
	if _, err := f.Apply(f.t.Context(), c); !errors.Is(err, want) {
		f.t.Fatalf("apply %s: %v, want %v", c.ID, err, want)
	}
}

func commit(id string, fences []statestore.Fence, writes ...statestore.Write) statestore.Commit {
	return statestore.Commit{ID: id, Fences: fences, Writes: writes}
}

func fence(slot int, term uint64) []statestore.Fence {
	return []statestore.Fence{{Role: role, Slot: slot, Term: term}}
}

func write(key, value string, expect statestore.Rev) statestore.Write {
	return statestore.Write{Key: key, Value: []byte(value), Expect: expect}
}

func testPut(t *testing.T, s *fixture) {
	if rev := s.absent("topology"); rev != nil {
		t.Fatalf("a key never written has revision %v", rev)
	}
	one := s.put("topology", "one", nil)
	s.want("topology", "one", one)
	two := s.put("topology", "", one)
	s.want("topology", "", two)
	for _, stale := range []statestore.Rev{nil, one, {two[0] + 1}} {
		if _, err := s.Put(t.Context(), write("topology", "x", stale)); !errors.Is(err, statestore.ErrConflict) {
			t.Fatalf("put expecting %v: %v, want a conflict", stale, err)
		}
	}
	s.want("topology", "", two)
	if _, err := s.Put(t.Context(), write("other", "x", one)); !errors.Is(err, statestore.ErrConflict) {
		t.Fatalf("put of an absent key expecting %v: %v, want a conflict", one, err)
	}
}

func testDelete(t *testing.T, s *fixture) {
	for _, key := range []string{"index.s-1", "head.0.s-1.main"} {
		first := s.put(key, "one", nil)
		gone, err := s.Put(t.Context(), statestore.Write{Key: key, Expect: first})
		if err != nil {
			t.Fatal(err)
		}
		if rev := s.absent(key); !slices.Equal(rev, gone) {
			t.Fatalf("deleted %s is at %v, want %v", key, rev, gone)
		}
		if _, err := s.Put(t.Context(), write(key, "x", nil)); !errors.Is(err, statestore.ErrConflict) {
			t.Fatalf("put of deleted %s as if never written: %v", key, err)
		}
		s.want(key, "two", s.put(key, "two", gone))
	}
}

func testCommit(_ *testing.T, s *fixture) {
	term := s.take(3, "a")
	old := s.put("index.s-1", "old", nil)
	revs := s.apply(commit("c1", fence(3, term),
		write("head.3.s-1.main", "head", nil),
		statestore.Write{Key: "index.s-1", Expect: old},
		write("ckpt.projector.3", "7", nil)))
	s.want("head.3.s-1.main", "head", revs[0])
	if rev := s.absent("index.s-1"); !slices.Equal(rev, revs[1]) {
		s.t.Fatalf("deleted key is at %v, want %v", rev, revs[1])
	}
	s.want("ckpt.projector.3", "7", revs[2])
	own, err := s.Get(s.t.Context(), statestore.OwnKey(role, 3))
	if err != nil || string(own.Value) != "c1" {
		s.t.Fatalf("own is %q, %v", own.Value, err)
	}
	next := s.apply(commit("c2", fence(3, term), write("ckpt.projector.3", "8", revs[2])))
	s.want("ckpt.projector.3", "8", next[0])
	s.want("head.3.s-1.main", "head", revs[0])
	// Without a fence a commit is still atomic.
	free := s.apply(commit("c3", nil, write("gone.s-1", "1", nil)))
	s.want("gone.s-1", "1", free[0])
}

// noise is text that does not compress.
func noise(seed uint64, n int) string {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func testDocuments(t *testing.T, s *fixture) {
	term := s.take(0, "a")
	const key, size = "head.0.s-1.main", statestore.PieceSize
	var rev statestore.Rev
	for i, n := range []int{10, size + 1, 3*size + 5, 0, 2 * size, -1, 5 * size, -1, 1, size} {
		w := statestore.Write{Key: key, Expect: rev}
		value := ""
		if n >= 0 {
			value = noise(uint64(i), n)
			w.Value = []byte(value)
		}
		revs := s.apply(commit(fmt.Sprint("c", i), fence(0, term), w, write("mem.0.s-1.main", value+"m", revOf(s, "mem.0.s-1.main"))))
		rev = revs[0]
		if n < 0 {
			if got := s.absent(key); !slices.Equal(got, rev) {
				t.Fatalf("deleted document is at %v, want %v", got, rev)
			}
			continue
		}
		s.want(key, value, rev)
		s.want("mem.0.s-1.main", value+"m", revs[1])
	}
}

func revOf(s *fixture, key string) statestore.Rev {
	e, _ := s.Get(s.t.Context(), key) // the revision is valid beside ErrNotFound
	return e.Rev
}

func testZombie(_ *testing.T, s *fixture) {
	old := s.take(0, "a")
	revs := s.apply(commit("c1", fence(0, old), write("ckpt.projector.0", "5", nil), write("head.0.s.main", "h", nil)))
	s.take(0, "b")
	// The zombie's revisions are right; the term alone refuses it.
	s.refused(commit("z", fence(0, old), write("ckpt.projector.0", "9", revs[0]), write("head.0.s.main", "z", revs[1]), write("index.s", "z", nil)), statestore.ErrFenced)
	s.want("ckpt.projector.0", "5", revs[0])
	s.want("head.0.s.main", "h", revs[1])
	s.absent("index.s")
	if own, err := s.Get(s.t.Context(), statestore.OwnKey(role, 0)); err != nil || string(own.Value) != "c1" {
		s.t.Fatalf("own is %q, %v; want c1", own.Value, err)
	}
	// A slot that nobody ever took has no term to prove.
	s.refused(commit("n", fence(1, old), write("ckpt.projector.1", "1", nil)), statestore.ErrFenced)
}

func testStale(_ *testing.T, s *fixture) {
	term := s.take(0, "a")
	one := s.apply(commit("c1", fence(0, term), write("head.0.s.main", "1", nil), write("ckpt.projector.0", "1", nil)))
	two := s.apply(commit("c2", fence(0, term), write("head.0.s.main", "2", one[0])))
	// The last message in conflict refuses all before it.
	s.refused(commit("c3", fence(0, term), write("ckpt.projector.0", "3", one[1]), write("index.s", "3", nil), write("head.0.s.main", "3", one[0])), statestore.ErrConflict)
	s.want("ckpt.projector.0", "1", one[1])
	s.want("head.0.s.main", "2", two[0])
	s.absent("index.s")
}

func testLate(t *testing.T, s *fixture) {
	term := s.take(0, "a")
	start := s.apply(commit("c1", fence(0, term), write("ckpt.projector.0", "1", nil)))
	late := commit("c2", fence(0, term), write("ckpt.projector.0", "2", start[0]), write("head.0.s.main", "2", nil))
	second := s.apply(late)
	s.refused(late, statestore.ErrConflict) // the same bytes again
	third := s.apply(commit("c3", fence(0, term), write("ckpt.projector.0", "3", second[0])))
	s.refused(late, statestore.ErrConflict)
	s.want("ckpt.projector.0", "3", third[0])
	s.want("head.0.s.main", "2", second[1])
	if _, written, err := s.Outcome(t.Context(), late); written || err != nil {
		t.Fatalf("outcome of an overtaken commit: %v, %v", written, err)
	}
}

func testTwoSlots(_ *testing.T, s *fixture) {
	a, b := s.take(0, "m"), s.take(1, "m")
	both := []statestore.Fence{fence(0, a)[0], fence(1, b)[0]}
	revs := s.apply(commit("c1", both, write("ckpt.projector.0", "1", nil), write("ckpt.projector.1", "1", nil)))
	s.take(1, "n")
	s.refused(commit("c2", both, write("ckpt.projector.0", "2", revs[0]), write("ckpt.projector.1", "2", revs[1])), statestore.ErrFenced)
	s.want("ckpt.projector.0", "1", revs[0])
	s.apply(commit("c3", fence(0, a), write("ckpt.projector.0", "2", revs[0])))
}

func testOutcome(t *testing.T, s *fixture) {
	a, b := s.take(0, "m"), s.take(1, "m")
	both := []statestore.Fence{fence(0, a)[0], fence(1, b)[0]}
	c := commit("c1", both,
		write("head.0.s.main", noise(1, statestore.PieceSize*2), nil),
		write("ckpt.projector.0", "1", nil), write("ckpt.projector.1", "1", nil))
	check := func(want []statestore.Rev) {
		t.Helper()
		revs, written, err := s.Outcome(t.Context(), c)
		if err != nil || written != (want != nil) || !slices.EqualFunc(revs, want, slices.Equal) {
			t.Fatalf("outcome %v, %v, %v; want %v", revs, written, err, want)
		}
	}
	check(nil)
	revs := s.apply(c)
	check(revs)
	// The first slot moves on; the second still tells.
	s.apply(commit("c2", fence(0, a), write("ckpt.projector.0", "2", revs[1])))
	check(revs)
	s.apply(commit("c3", fence(1, b), write("ckpt.projector.1", "2", revs[2])))
	check(nil)
	if _, _, err := s.Outcome(t.Context(), commit("free", nil, write("x", "1", nil))); err == nil {
		t.Fatal("the outcome of a commit without a fence is unknowable")
	}
}

func testLimits(t *testing.T, s *fixture) {
	term := s.take(0, "a")
	c := commit("many", fence(0, term))
	for i := range statestore.MaxMessages {
		c.Writes = append(c.Writes, write(fmt.Sprint("index.s-", i), "x", nil))
	}
	s.refused(c, statestore.ErrTooLarge) // with own one too many
	s.absent("index.s-0")
	c.Writes = c.Writes[1:]
	revs := s.apply(c)
	s.want("index.s-999", "x", revs[len(revs)-1])

	s.refused(commit("large", fence(0, term), write("head.0.s.main", noise(1, statestore.MaxBytes), nil)), statestore.ErrTooLarge)
	s.absent("head.0.s.main")
	s.apply(commit("fits", fence(0, term), write("head.0.s.main", noise(1, statestore.MaxBytes-100<<10), nil)))
	if err := t.Context().Err(); err != nil {
		t.Fatal(err)
	}
}

func testBadCommits(t *testing.T, s *fixture) {
	term := s.take(0, "a")
	for name, c := range map[string]statestore.Commit{
		"empty":     commit("c", nil),
		"key twice": commit("c", fence(0, term), write("index.s", "1", nil), write("index.s", "2", nil)),
		"own twice": commit("c", append(fence(0, term), fence(0, term)...), write("index.s", "1", nil)),
	} {
		if _, err := s.Apply(t.Context(), c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s.absent("index.s")
}

func testList(t *testing.T, s *fixture) {
	big := noise(2, statestore.PieceSize+1)
	for key, value := range map[string]string{
		"index.b": "b", "index.a": "a", "indexes.c": "no", "index": "self", "index.a.x": "deep",
		"head.1.s.main": big, "head.1.s.sub": "2", "head.10.s.main": "no",
	} {
		s.put(key, value, nil)
	}
	gone := s.put("index.gone", "x", nil)
	if _, err := s.Put(t.Context(), statestore.Write{Key: "index.gone", Expect: gone}); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{
		"index":           {"index", "self", "index.a", "a", "index.a.x", "deep", "index.b", "b"},
		"index.a":         {"index.a", "a", "index.a.x", "deep"},
		"head.1":          {"head.1.s.main", big, "head.1.s.sub", "2"},
		"head.1.s.main":   {"head.1.s.main", big},
		"nothing":         nil,
		"index.gone":      nil,
		"head.1.s.main.0": nil,
	} {
		var got []string
		for e, err := range s.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Key, string(e.Value))
			s.want(e.Key, string(e.Value), e.Rev)
		}
		if !slices.Equal(got, want) {
			t.Errorf("list %q: %.200q, want %.200q", prefix, got, want)
		}
	}
	for _, err := range s.List(t.Context(), "index") {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func testWatch(t *testing.T, s *fixture) {
	s.put("index.a", "1", nil)
	gone := s.put("index.b", "1", nil)
	if _, err := s.Put(t.Context(), statestore.Write{Key: "index.b", Expect: gone}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	var rev statestore.Rev
	for c, err := range s.Watch(ctx, "index") {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Caught:
			got = append(got, "caught")
			rev = s.put("index.c", "1", nil)
			s.put("head.0.index.a", "document", nil)
			s.put("indexes", "1", nil)
		case c.Deleted:
			got = append(got, c.Key+" deleted")
			cancel()
		default:
			got = append(got, c.Key+"="+string(c.Value))
			if c.Key == "index.c" {
				if !slices.Equal(c.Rev, rev) {
					t.Errorf("revision %v, want %v", c.Rev, rev)
				}
				if _, err := s.Put(t.Context(), statestore.Write{Key: "index.c", Expect: c.Rev}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if want := []string{"index.a=1", "caught", "index.c=1", "index.c deleted"}; !slices.Equal(got, want) {
		t.Errorf("watched %q, want %q", got, want)
	}
}

// testWholeReads reads a document while it is rewritten with another number of
// pieces each time: every value read is one of those written.
func testWholeReads(t *testing.T, s *fixture) {
	const key = "head.0.s.main"
	values := make([][]byte, 4)
	for i := range values {
		values[i] = []byte(noise(uint64(i), i*statestore.PieceSize+1))
	}
	rev := s.put(key, string(values[0]), nil)
	done := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			var err error
			if rev, err = s.Put(t.Context(), statestore.Write{Key: key, Value: values[i%4], Expect: rev}); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 20 {
		e, err := s.Get(t.Context(), key)
		if err != nil {
			t.Error(err)
			break
		}
		if !slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(v, e.Value) }) {
			t.Error("read a value that nobody wrote")
			break
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
