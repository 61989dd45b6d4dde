package slots_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

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

// After an outage of the members a member that is missing among them keeps its
// slots: the outage explains it, and its terms tell the truth.
func TestMissingAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		a := w.start("a", wait)
		synctest.Wait()
		before := a.slot(t, 0).Term()
		w.members.Down(func(string, string) bool { return true })
		time.Sleep(2 * time.Second)
		w.members.Down(nil)
		w.members.Drop(role, "a")
		if err := w.members.Beat(t.Context(), role, "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if got := a.slot(t, 0).Term(); got != before {
			t.Errorf("took the slot again in term %d", got)
		}
		if _, err := a.slot(t, 0).Commit(t.Context(), nil, at(1)); err != nil {
			t.Error(err)
		}
		a.end(t)
	})
}
