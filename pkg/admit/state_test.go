package admit_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
)

// message is one random stored message, with few runs and ordinals so that
// they meet.
type message struct {
	kind int // 0 event, 1 invalid, 2 lost
	ev   events.Event
}

var genMessage = rapid.Custom(func(t *rapid.T) message {
	runs := []string{"", "a", "b", "c", "019c0000-0000-7000-8000-000000000001", "019c0000-0000-7000-8000-000000000002"}
	return message{
		kind: rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 1, 2}).Draw(t, "kind"),
		ev: events.Event{
			RunID: rapid.SampledFrom(runs).Draw(t, "run"), N: rapid.Uint64Range(0, 8).Draw(t, "n"),
			ID: rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "id"), SourceRun: rapid.SampledFrom([]string{"", "", "s"}).Draw(t, "source"),
		},
	}
})

func give(s *admit.State, seq int, m message) admit.Decision {
	switch m.kind {
	case 1:
		return s.Invalid(m.ev.RunID, m.ev.N)
	case 2:
		s.Lost()
		return admit.Decision{}
	}
	return s.Admit(uint64(seq), &m.ev)
}

// TestSplit: continuing from an encoded state decides like never having
// stopped, and encoding is a function of the log.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.SliceOf(genMessage).Draw(t, "log")
		split := rapid.IntRange(0, len(log)).Draw(t, "split")
		var whole admit.State
		part := new(admit.State)
		for i, m := range log {
			if i == split {
				var err error
				if part, err = admit.Decode(part.Append(nil)); err != nil {
					t.Fatal(err)
				}
			}
			want, got := give(&whole, i, m), give(part, i, m)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("message %d: %+v, want %+v", i, got, want)
			}
			if a, b := whole.Append(nil), part.Append(nil); !bytes.Equal(a, b) {
				t.Fatalf("message %d: state %x, want %x", i, b, a)
			}
		}
	})
}

// TestAdmittedOnce: whatever the log, an ordinal of a run is admitted at most
// once, and Next is above all of them.
func TestAdmittedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s admit.State
		seen := map[string]bool{}
		for i, m := range rapid.SliceOf(genMessage).Draw(t, "log") {
			d := give(&s, i, m)
			if d.Outcome != admit.Admitted || m.kind == 2 || m.ev.N == 0 || m.ev.RunID == "" {
				continue
			}
			key := fmt.Sprint(m.ev.RunID, " ", m.ev.N)
			if seen[key] {
				t.Fatalf("%s admitted twice", key)
			}
			seen[key] = true
			if next, _, _ := s.Next(m.ev.RunID); next <= m.ev.N {
				t.Fatalf("%s admitted, but next is %d", key, next)
			}
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	var s admit.State
	for i := range uint64(20) {
		s.Admit(i, &events.Event{RunID: "a", N: i + 1, ID: "x"})
		s.Admit(i, &events.Event{ID: fmt.Sprint(i)})
	}
	good := s.Append(nil)
	for i := range good {
		if _, err := admit.Decode(good[:i]); !errors.Is(err, admit.ErrState) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	newer := bytes.Clone(good)
	newer[0]++
	for name, bad := range map[string][]byte{"longer": append(bytes.Clone(good), 0), "newer": newer} {
		if _, err := admit.Decode(bad); !errors.Is(err, admit.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var s admit.State
	f.Add(s.Append(nil))
	s.Admit(1, &events.Event{RunID: "a", N: 1, ID: "x", SourceRun: "s"})
	s.Admit(2, &events.Event{RunID: "b", N: 3})
	s.Admit(3, &events.Event{ID: "y"})
	s.Lost()
	s.Admit(4, &events.Event{RunID: "a", N: 9})
	f.Add(s.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := admit.Decode(data)
		if err != nil {
			return
		}
		if again := s.Append(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x comes back as %x", data, again)
		}
		for i := range 3 { // goes on without a panic
			s.Admit(uint64(i), &events.Event{RunID: "a", N: 2, ID: "x"})
			s.Invalid("b", 1)
			s.Lost()
		}
		if _, err := admit.Decode(s.Append(nil)); err != nil {
			t.Fatalf("a state that went on does not decode: %v", err)
		}
	})
}

func BenchmarkAdmitNext(b *testing.B) {
	var s admit.State
	ev := events.Event{RunID: "0192f3a4-0000-7def-8abc-0123456789ab", ID: "0192f3a4-7b1c-7def-8abc-0123456789ab"}
	b.ReportAllocs()
	for b.Loop() {
		ev.N++
		if s.Admit(ev.N, &ev).Outcome != admit.Admitted {
			b.Fatal("refused")
		}
	}
}

func BenchmarkAdmitDouble(b *testing.B) {
	var s admit.State
	ev := events.Event{RunID: "0192f3a4-0000-7def-8abc-0123456789ab", ID: "0192f3a4-7b1c-7def-8abc-0123456789ab"}
	for range 1000 {
		ev.N++
		s.Admit(ev.N, &ev)
	}
	b.ReportAllocs()
	for b.Loop() {
		if s.Admit(ev.N, &ev).Outcome != admit.Double {
			b.Fatal("admitted")
		}
	}
}
