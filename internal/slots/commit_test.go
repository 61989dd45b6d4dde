package slots_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

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
