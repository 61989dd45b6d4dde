package slots_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const role = statestore.RoleProjector

// world is a state and its members. Time is that of the synctest bubble.
type world struct {
	t       *testing.T
	store   *memstate.Store
	members *memstate.Members
	slots   int
}

func newWorld(t *testing.T, slots int) *world {
	return &world{t: t, store: memstate.New(), members: memstate.NewMembers(), slots: slots}
}

// process is a running member.
type process struct {
	*slots.Member
	stop context.CancelFunc
	done chan error

	mu    sync.Mutex
	owned map[int]*slots.Owned
}

func (w *world) start(name string, work slots.Work) *process {
	return w.startOn(name, w.store, work)
}

func (w *world) startOn(name string, store statestore.Store, work slots.Work) *process {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	p := &process{stop: stop, done: make(chan error, 1), owned: map[int]*slots.Owned{}}
	p.Member = slots.New(slots.Config{Role: role, Name: name, Slots: w.slots, Store: store, Members: w.members})
	go func() {
		p.done <- p.Run(ctx, func(ctx context.Context, o *slots.Owned) error {
			p.mu.Lock()
			p.owned[o.Slot()] = o
			p.mu.Unlock()
			defer func() {
				p.mu.Lock()
				delete(p.owned, o.Slot())
				p.mu.Unlock()
			}()
			return work(ctx, o)
		})
	}()
	return p
}

func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func (p *process) holds() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.owned))
}

func (p *process) slot(t *testing.T, n int) *slots.Owned {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owned[n] == nil {
		t.Fatalf("slot %d is not owned", n)
	}
	return p.owned[n]
}

// wait owns a slot until it is told to hand it over or loses it.
func wait(ctx context.Context, o *slots.Owned) error {
	select {
	case <-ctx.Done():
	case <-o.Draining():
	}
	return nil
}

func group(kv ...any) slots.Group {
	var g slots.Group
	for i := 0; i < len(kv); i += 3 {
		expect, _ := kv[i+2].(statestore.Rev)
		g.Writes = append(g.Writes, statestore.Write{Key: kv[i].(string), Value: []byte(kv[i+1].(string)), Expect: expect})
	}
	return g
}

func at(seq uint64) *slots.Checkpoint { return &slots.Checkpoint{Stream: "S", StreamSeq: seq} }

// saved is the slot's checkpoint in the store.
func (w *world) saved(slot int) uint64 {
	e, err := w.store.Get(w.t.Context(), statestore.CheckpointKey(role, slot))
	if errors.Is(err, statestore.ErrNotFound) {
		return 0
	}
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := slots.DecodeCheckpoint(e.Value)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.StreamSeq
}

func (w *world) value(key string) string {
	e, err := w.store.Get(w.t.Context(), key)
	if errors.Is(err, statestore.ErrNotFound) {
		return "absent"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(e.Value)
}

func TestOneMemberTakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 16)
		p := w.start("a", wait)
		if p.Ready() == nil {
			t.Error("ready before it began")
		}
		synctest.Wait()
		if got := p.holds(); len(got) != 16 {
			t.Fatalf("holds %v", got)
		}
		if err := p.Ready(); err != nil {
			t.Error(err)
		}
		results, err := p.slot(t, 3).Commit(t.Context(), []slots.Group{group("head.3.s.a", "1", nil)}, at(7))
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		term := p.slot(t, 3).Term()
		p.end(t)

		p = w.start("b", wait)
		synctest.Wait()
		o := p.slot(t, 3)
		if c := o.Checkpoint(); c.StreamSeq != 7 || c.Stream != "S" || o.Term() <= term {
			t.Errorf("took over at %+v in term %d after %d", c, o.Term(), term)
		}
		// The revision of the first owner is still the right one.
		results, err = o.Commit(t.Context(), []slots.Group{group("head.3.s.a", "2", results[0].Revs[0])}, at(8))
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		p.end(t)
	})
}

func TestTakeRules(t *testing.T) {
	term := func(holder string, released bool) []byte {
		b, _ := json.Marshal(map[string]any{"holder": holder, "nonce": "n", "released": released})
		return b
	}
	for _, test := range []struct {
		name     string
		term     []byte
		live     bool // is "other" beating?
		min, max time.Duration
	}{
		{"never taken", nil, false, 0, 0},
		{"released", term("other", true), false, 0, 0},
		{"own name after a crash", term("me", false), false, 0, 0},
		{"holder has no member key", term("other", false), false, 0, 0},
		{"holder is live, assigned for 5 s", term("other", false), true, 5 * time.Second, 7 * time.Second},
		{"unreadable term", []byte("?"), false, time.Hour, time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				// A name that the slot is not assigned to.
				other := "other"
				for i := 0; slots.Assign(role, 0, []string{"me", other}) != "me"; i++ {
					other = fmt.Sprint("other", i)
				}
				if test.term != nil {
					value := []byte(strings.Replace(string(test.term), `"other"`, `"`+other+`"`, 1))
					if _, err := w.store.Put(t.Context(), statestore.Write{Key: statestore.TermKey(role, 0), Value: value}); err != nil {
						t.Fatal(err)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				var beats sync.WaitGroup
				defer beats.Wait()
				defer stop()
				if test.live {
					beats.Go(func() {
						for ctx.Err() == nil {
							_ = w.members.Beat(ctx, role, other)
							time.Sleep(time.Second)
						}
					})
					synctest.Wait()
				}
				begin := time.Now()
				p := w.start("me", wait)
				synctest.Wait()
				for len(p.holds()) == 0 && time.Since(begin) < time.Minute {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				took := time.Since(begin)
				if test.max == time.Hour {
					if len(p.holds()) > 0 || p.Ready() == nil || !strings.Contains(p.Ready().Error(), "decode the term") {
						t.Errorf("took it; ready: %v", p.Ready())
					}
				} else if took < test.min || took > test.max {
					t.Errorf("took it after %v, want %v to %v", took, test.min, test.max)
				}
				p.end(t)
			})
		})
	}
}

// After the members were out of reach nothing is taken for a while: those who
// seem gone may only have been cut off as well.
func TestSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", wait)
		synctest.Wait()
		w.members.Down(func(string, string) bool { return true })
		time.Sleep(20 * time.Second)
		if p.Ready() == nil {
			t.Error("ready without members")
		}
		if len(p.holds()) != 1 {
			t.Error("gave its slot up because the members are out of reach")
		}
		// Somebody else's slot, free in the view of a member that was cut off.
		value := []byte(`{"holder":"gone","nonce":"x"}`)
		rev := statestore.Rev{p.slot(t, 0).Term()}
		if _, err := w.store.Put(t.Context(), statestore.Write{Key: statestore.TermKey(role, 0), Value: value, Expect: rev}); err != nil {
			t.Fatal(err)
		}
		w.members.Down(nil)
		begin := time.Now()
		for synctest.Wait(); len(p.holds()) == 0; synctest.Wait() {
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(begin); d < 10*time.Second || d > 13*time.Second {
			t.Errorf("taken %v after the members came back", d)
		}
		p.end(t)
	})
}

func TestHandOverOnStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 8)
		last := func(ctx context.Context, o *slots.Owned) error {
			_ = wait(ctx, o)
			_, err := o.Commit(ctx, nil, at(9)) // what was at hand
			return err
		}
		a := w.start("c", last)
		synctest.Wait()
		b := w.start("d", wait)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		mine, others := a.holds(), b.holds()
		if len(mine)+len(others) != 8 || len(mine) == 0 || len(others) == 0 {
			t.Fatalf("c holds %v, d holds %v", mine, others)
		}
		for _, slot := range others {
			if w.saved(slot) != 9 {
				t.Errorf("slot %d was handed over without a last commit", slot)
			}
		}
		begin := time.Now()
		a.end(t)
		for synctest.Wait(); len(b.holds()) < 8; synctest.Wait() {
			time.Sleep(50 * time.Millisecond)
			if time.Since(begin) > 20*time.Second {
				t.Fatalf("d holds only %v", b.holds())
			}
		}
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("the hand-over took %v", d)
		}
		b.end(t)
	})
}

// A killed member's slots are taken within 10 s, and what it still writes when
// it wakes up is refused.
func TestKilledMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		a := w.start("a", wait)
		synctest.Wait()
		zombies := map[int]*slots.Owned{}
		for slot := range 4 {
			zombies[slot] = a.slot(t, slot)
			if _, err := zombies[slot].Commit(t.Context(), nil, at(5)); err != nil {
				t.Fatal(err)
			}
		}
		// Paused: its heartbeats and its view of the terms stand still.
		w.members.Down(func(_, name string) bool { return name == "a" })
		begin := time.Now()
		b := w.start("b", wait)
		for synctest.Wait(); len(b.holds()) < 4; synctest.Wait() {
			time.Sleep(50 * time.Millisecond)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("taken over after %v", d)
		}
		for slot, o := range zombies {
			if _, err := o.Commit(t.Context(), []slots.Group{group(fmt.Sprintf("head.%d.s.a", slot), "zombie", nil)}, at(4)); !errors.Is(err, slots.ErrLost) {
				t.Errorf("the zombie's commit: %v", err)
			}
			if w.saved(slot) != 5 || w.value(fmt.Sprintf("head.%d.s.a", slot)) != "absent" {
				t.Error("a zombie wrote")
			}
		}
		a.end(t)
		b.end(t)
	})
}

func TestPausesWhileHeartbeatsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", wait)
		synctest.Wait()
		w.members.Down(func(string, string) bool { return true })
		time.Sleep(6 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := p.slot(t, 0).Commit(t.Context(), nil, at(5))
			done <- err
		}()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(done) > 0 || w.saved(0) != 0 {
			t.Error("committed without a heartbeat")
		}
		w.members.Down(nil)
		if err := <-done; err != nil || w.saved(0) != 5 {
			t.Errorf("after the heartbeat: %v, checkpoint %d", err, w.saved(0))
		}
		p.end(t)
	})
}

func TestMissingMemberGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		a := w.start("a", wait)
		synctest.Wait()
		before := a.slot(t, 0).Term()
		w.members.Drop(role, "a")
		time.Sleep(3 * time.Second) // alone: it stays
		synctest.Wait()
		if a.slot(t, 0).Term() != before {
			t.Error("gave up although nobody else is there")
		}
		if err := w.members.Beat(t.Context(), role, "x"); err != nil {
			t.Fatal(err)
		}
		w.members.Drop(role, "a")
		owned := a.slot(t, 0)
		time.Sleep(1600 * time.Millisecond)
		synctest.Wait()
		if _, err := owned.Commit(t.Context(), nil, at(1)); !errors.Is(err, slots.ErrLost) {
			t.Errorf("commit of a member that was missing: %v", err)
		}
		a.end(t)
	})
}

// The faults of a commit: whatever the store answers, the outcome is certain
// and the batch is written once.
func TestCommitFaults(t *testing.T) {
	type faults = []memstate.Fault
	for name, script := range map[string]faults{
		"none":                          {},
		"busy":                          {memstate.Busy, memstate.Busy, memstate.Unavailable},
		"lost request":                  {memstate.LostRequest, memstate.LostRequest},
		"lost ack":                      {memstate.LostAck},
		"late":                          {memstate.Late},
		"late twice":                    {memstate.Late, memstate.Late},
		"refused though nothing moved":  {memstate.Conflict, memstate.Conflict},
		"late, then busy, then refused": {memstate.Late, memstate.Busy, memstate.Conflict},
		"lost, late, lost ack":          {memstate.LostRequest, memstate.Late, memstate.LostAck},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", wait)
				synctest.Wait()
				o := p.slot(t, 0)
				written := 0
				w.store.Observe(func(statestore.Commit) { written++ })
				rest, reads := script, 0
				w.store.Inject(func(op memstate.Op) memstate.Fault {
					switch op.Kind {
					case memstate.OpApply:
						if len(rest) > 0 {
							f := rest[0]
							rest = rest[1:]
							return f
						}
					case memstate.OpOutcome, memstate.OpGet:
						if reads++; reads%2 == 1 && len(script) > 0 {
							return memstate.Unavailable
						}
					default:
					}
					return memstate.None
				})
				first, err := o.Commit(t.Context(), []slots.Group{group("head.0.s.a", "1", nil, "mem.0.s.a", "1", nil)}, at(1))
				if err != nil {
					t.Fatal(err)
				}
				second, err := o.Commit(t.Context(), []slots.Group{group("head.0.s.a", "2", first[0].Revs[0], "mem.0.s.a", "2", first[0].Revs[1])}, at(2))
				if err != nil || second[0].Err != nil {
					t.Fatal(err, second)
				}
				if in, _ := w.store.DeliverLate(); in != 0 {
					t.Error("a late batch of one's own was accepted")
				}
				w.store.Inject(nil)
				if written != 2 || w.saved(0) != 2 || w.value("head.0.s.a") != "2" {
					t.Errorf("written %d times, checkpoint %d, head %s", written, w.saved(0), w.value("head.0.s.a"))
				}
				p.end(t)
			})
		})
	}
}

func TestMovedGroupIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		p := w.start("a", wait)
		synctest.Wait()
		foreign, err := w.store.Put(t.Context(), statestore.Write{Key: "head.0.s.b", Value: []byte("foreign")})
		if err != nil {
			t.Fatal(err)
		}
		results, err := p.slot(t, 0).Commit(t.Context(), []slots.Group{
			group("head.0.s.a", "1", nil),
			group("mem.0.s.b", "1", nil, "head.0.s.b", "1", nil),
			group("head.0.s.c", "1", nil),
		}, at(3))
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Err != nil || !errors.Is(results[1].Err, slots.ErrMoved) || results[2].Err != nil {
			t.Errorf("results %+v", results)
		}
		if w.value("mem.0.s.b") != "absent" || w.value("head.0.s.b") != "foreign" || w.value("head.0.s.c") != "1" {
			t.Error("the wrong groups were written")
		}
		if w.saved(0) != 0 {
			t.Error("the checkpoint passed a group that was left out")
		}
		results, err = p.slot(t, 0).Commit(t.Context(), []slots.Group{group("head.0.s.b", "2", foreign)}, at(3))
		if err != nil || results[0].Err != nil || w.saved(0) != 3 {
			t.Errorf("again with the right revision: %v %+v", err, results)
		}
		p.end(t)
	})
}

// Large commits are split between agents, the checkpoint is last, and one that
// can never fit is named.
func TestSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", wait)
		synctest.Wait()
		var groups []slots.Group
		for i := range 1500 {
			groups = append(groups, group(fmt.Sprintf("head.0.s.a%d", i), "h", nil, fmt.Sprintf("mem.0.s.a%d", i), "m", nil))
		}
		big := strings.Repeat("x", 3<<20)
		for i := range 5 {
			groups = append(groups, group(fmt.Sprintf("head.0.s.big%d", i), big, nil))
		}
		var batches []statestore.Commit
		w.store.Observe(func(c statestore.Commit) { batches = append(batches, c) })
		results, err := p.slot(t, 0).Commit(t.Context(), groups, at(9))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			for j, wr := range groups[i].Writes {
				e, err := w.store.Get(t.Context(), wr.Key)
				if r.Err != nil || err != nil || !slices.Equal(e.Rev, r.Revs[j]) {
					t.Fatalf("group %d: %v, %v, at %v not %v", i, r.Err, err, e.Rev, r.Revs)
				}
			}
		}
		for i, c := range batches {
			keys := map[string]bool{}
			for _, wr := range c.Writes {
				keys[wr.Key] = true
			}
			if len(c.Fences) != 1 || keys["ckpt.projector.0"] != (i == len(batches)-1) {
				t.Errorf("batch %d of %d: %d fences, checkpoint %v", i, len(batches), len(c.Fences), keys["ckpt.projector.0"])
			}
			for a := range 1500 {
				if keys["head.0.s.a"+strconv.Itoa(a)] != keys["mem.0.s.a"+strconv.Itoa(a)] {
					t.Fatalf("batch %d splits an agent", i)
				}
			}
		}
		if len(batches) < 5 || w.saved(0) != 9 {
			t.Errorf("%d batches, checkpoint %d", len(batches), w.saved(0))
		}
		huge := strings.Repeat("x", statestore.MaxBytes+1)
		results, err = p.slot(t, 0).Commit(t.Context(), []slots.Group{group("head.0.s.x", "1", nil), group("head.0.s.y", huge, nil), group("head.0.s.z", "1", nil)}, at(10))
		if err != nil || results[0].Err != nil || !errors.Is(results[1].Err, statestore.ErrTooLarge) || results[2].Err != nil {
			t.Errorf("%v, %v", err, results)
		}
		if w.saved(0) != 9 {
			t.Error("the checkpoint passed a head that was not saved")
		}
		p.end(t)
	})
}

// What several slots ask for meanwhile goes into one batch; a slot lost in it
// does not hold up the others.
func TestBatchOfSeveralSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		p := w.start("a", wait)
		synctest.Wait()
		var batches []statestore.Commit
		w.store.Observe(func(c statestore.Commit) { batches = append(batches, c) })
		busy := true
		w.store.Inject(func(op memstate.Op) memstate.Fault {
			if op.Kind == memstate.OpApply && busy {
				return memstate.Busy
			}
			return memstate.None
		})
		var all sync.WaitGroup
		errs := make([]error, 4)
		for slot := range 4 {
			o := p.slot(t, slot)
			all.Go(func() {
				_, errs[slot] = o.Commit(t.Context(), []slots.Group{group(fmt.Sprintf("head.%d.s.a", slot), "1", nil)}, at(1))
			})
			synctest.Wait() // the first is under way, the others gather
		}
		// Slot 2 is taken by somebody else, whom nobody tells of.
		w.store.Inject(nil)
		entry, err := w.store.Get(t.Context(), statestore.TermKey(role, 2))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Put(t.Context(), statestore.Write{Key: entry.Key, Value: []byte(`{"holder":"b"}`), Expect: entry.Rev}); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		for slot, err := range errs {
			if slot == 2 != errors.Is(err, slots.ErrLost) || slot != 2 && err != nil {
				t.Errorf("slot %d: %v", slot, err)
			}
		}
		most := 0
		for _, c := range batches {
			most = max(most, len(c.Fences))
		}
		if most < 2 || w.saved(2) != 0 || w.saved(3) != 1 {
			t.Errorf("%d slots in a batch at most, checkpoints %d and %d", most, w.saved(2), w.saved(3))
		}
		p.end(t)
	})
}

// A slot whose work fails is given up, said so, and taken again later.
func TestFailedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var runs atomic.Int32
		p := w.start("a", func(ctx context.Context, o *slots.Owned) error {
			if runs.Add(1) == 1 {
				return errors.New("the stream begins at 10")
			}
			return wait(ctx, o)
		})
		time.Sleep(time.Second)
		if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "slot 0: the stream begins at 10") {
			t.Errorf("ready: %v", err)
		}
		time.Sleep(10 * time.Second)
		if err := p.Ready(); err != nil || runs.Load() != 2 {
			t.Errorf("ready: %v after %d runs", err, runs.Load())
		}
		p.end(t)
	})
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []slots.Config{
		{},
		{Role: role, Name: "a.b", Slots: 1, Store: memstate.New(), Members: memstate.NewMembers()},
	} {
		if err := slots.New(cfg).Run(t.Context(), wait); err == nil {
			t.Errorf("%+v runs", cfg)
		}
	}
}

func TestAssign(t *testing.T) {
	members := []string{"a", "b", "c", "d", "e"}
	const n = 6400
	share := map[string]int{}
	for slot := range n {
		owner := slots.Assign(role, slot, members)
		share[owner]++
		for i, gone := range members {
			rest := slices.Delete(slices.Clone(members), i, i+1)
			if next := slots.Assign(role, slot, rest); owner != gone && next != owner {
				t.Fatalf("slot %d moves from %s to %s when %s goes", slot, owner, next, gone)
			}
		}
	}
	for name, k := range share {
		if k < n/5*8/10 || k > n/5*12/10 {
			t.Errorf("%s gets %d of %d slots", name, k, n)
		}
	}
	if slots.Assign(role, 1, nil) != "" {
		t.Error("assigned to nobody's name")
	}
}
