package pubmodel_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/internal/pubmodel"
)

func story(runs, most, casual int) *rapid.Generator[pubmodel.Story] {
	return rapid.Custom(func(t *rapid.T) pubmodel.Story {
		s := pubmodel.Story{Plain: rapid.Bool().Draw(t, "plain")}
		count := 0
		event := func() events.Event {
			count++
			return events.Event{Type: "x", Payload: fmt.Appendf(nil, `{"i":%d}`, count)}
		}
		for range rapid.IntRange(1, runs).Draw(t, "runs") {
			var list []events.Event
			for range rapid.IntRange(1, most).Draw(t, "events") {
				list = append(list, event())
			}
			s.Runs = append(s.Runs, list)
		}
		for range rapid.IntRange(0, casual).Draw(t, "casual") {
			ev := event()
			if rapid.Bool().Draw(t, "with run") {
				ev.RunID = "x"
			}
			s.Casual = append(s.Casual, ev)
		}
		return s
	})
}

func choose(t *rapid.T) pubmodel.Choose {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

// admitted runs a log through admission.
func admitted(t rapid.TB, log []pubmodel.Message) (kept []pubmodel.Message, late int, notices []admit.Notice) {
	var s admit.State
	for _, m := range log {
		var ev events.Event
		if err := events.Decode(bytes.Clone(m.Data), &ev); err != nil {
			t.Fatal(err)
		}
		d := s.Admit(m.Seq, &ev)
		notices = append(notices, d.Notices...)
		if d.Outcome == admit.Admitted {
			kept = append(kept, m)
		}
		if d.Late {
			late++
		}
	}
	return kept, late, notices
}

func checkPair(t rapid.TB, p pubmodel.Pair) {
	dirty, dirtyLate, notices := admitted(t, p.Dirty)
	clean, cleanLate, _ := admitted(t, p.Clean)
	if len(clean) != len(p.Clean) {
		t.Fatalf("of %d clean messages %d are admitted", len(p.Clean), len(clean))
	}
	if len(dirty) != len(clean) || dirtyLate != cleanLate || cleanLate != p.Late {
		t.Fatalf("%d messages of the dirty log are admitted, %d of them late; want %d, %d", len(dirty), dirtyLate, len(clean), p.Late)
	}
	for i, m := range dirty {
		if m.Seq != clean[i].Seq || !bytes.Equal(m.Data, clean[i].Data) {
			t.Fatalf("admitted %d: seq %d %s, want seq %d %s", i, m.Seq, m.Data, clean[i].Seq, clean[i].Data)
		}
	}
	if p.Acked > len(p.Clean) {
		t.Fatalf("%d events were acknowledged, but only %d count", p.Acked, len(p.Clean))
	}
	for _, n := range notices {
		if n.Kind != admit.LeftAhead && n.Kind != admit.LateRun {
			t.Fatalf("a conforming publisher caused %+v", n)
		}
	}
}

// TestAdmissionCleans: the admitted sequence of the dirty log is the clean
// log, but for notices.
func TestAdmissionCleans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkPair(t, pubmodel.Play(choose(t), story(4, 30, 10).Draw(t, "story")))
	})
}

// TestAckedIsKept: what publishers were told is stored is in the clean log,
// per run and without a hole.
func TestAckedIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pubmodel.Play(choose(t), story(3, 20, 0).Draw(t, "story"))
		last := map[string]uint64{}
		for _, m := range p.Clean {
			var ev events.Event
			if err := events.Decode(bytes.Clone(m.Data), &ev); err != nil {
				t.Fatal(err)
			}
			if ev.N != last[ev.RunID]+1 {
				t.Fatalf("run %s goes from %d to %d", ev.RunID, last[ev.RunID], ev.N)
			}
			last[ev.RunID] = ev.N
		}
		var sum uint64
		for _, n := range last {
			sum += n
		}
		if uint64(p.Acked) > sum {
			t.Fatalf("%d acknowledged, %d kept", p.Acked, sum)
		}
	})
}

// TestWideWindow plays more events than a window holds.
func TestWideWindow(t *testing.T) {
	state := uint64(1)
	for range 20 {
		s := pubmodel.Story{}
		for range 2 {
			list := make([]events.Event, 5000)
			for i := range list {
				list[i] = events.Event{Type: "x", Payload: []byte(`{}`)}
			}
			s.Runs = append(s.Runs, list)
		}
		next := func(n int) int { // xorshift: long stories need many choices
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			return int(state>>33) % n
		}
		checkPair(t, pubmodel.Play(next, s))
	}
}

// TestModelIsDirty: the model does what it is for.
func TestModelIsDirty(t *testing.T) {
	var doubles, late, left, lost int
	rapid.Check(t, func(t *rapid.T) {
		p := pubmodel.Play(choose(t), story(4, 30, 10).Draw(t, "story"))
		seen := map[string]bool{}
		for _, m := range p.Dirty {
			if seen[string(m.Data)] {
				doubles++
			}
			seen[string(m.Data)] = true
		}
		if len(seen) > len(p.Clean) {
			lost++
		}
		late += p.Late
		_, _, notices := admitted(t, p.Dirty)
		for _, n := range notices {
			if n.Kind == admit.LeftAhead {
				left++
			}
		}
	})
	if doubles == 0 || late == 0 || left == 0 || lost == 0 {
		t.Errorf("doubles %d, late %d, left ahead %d, stored in vain %d: all should occur", doubles, late, left, lost)
	}
}
