package events_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/pkg/events"
)

func TestSubjects(t *testing.T) {
	const s, a = events.SessionID("a.b"), events.AgentID("sub-1")
	for got, want := range map[string]string{
		events.PublishSubject(s, a):         "steno.events.a=2Eb.sub-1",
		events.StoredSubject(7, s, a):       "steno.ev.7.a=2Eb.sub-1",
		events.LiveSubject(7, s, a):         "steno.live.7.a=2Eb.sub-1",
		events.CommandSubject(s, a):         "steno.commands.a=2Eb.sub-1",
		events.AliveSubject(s, a):           "steno.alive.a=2Eb.sub-1",
		events.QuerySubject(s, a, "resume"): "steno.query.a=2Eb.sub-1.resume",
	} {
		if got != want {
			t.Errorf("subject is %s, want %s", got, want)
		}
	}
}

func TestSubjectRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[A-Za-z0-9._-]{1,128}`).Filter(func(s string) bool { return s != "." && s != ".." })
		s, a := events.SessionID(id.Draw(t, "session")), events.AgentID(id.Draw(t, "agent"))
		slot := rapid.IntRange(0, 1023).Draw(t, "slot")
		if n := strings.Count(events.StoredSubject(slot, s, a), "."); n != 4 {
			t.Fatalf("%d dots in %s", n, events.StoredSubject(slot, s, a))
		}
		for _, parse := range []func() (int, events.SessionID, events.AgentID, error){
			func() (int, events.SessionID, events.AgentID, error) {
				return events.ParseStoredSubject(events.StoredSubject(slot, s, a))
			},
			func() (int, events.SessionID, events.AgentID, error) {
				return events.ParseLiveSubject(events.LiveSubject(slot, s, a))
			},
			unslotted(slot, events.ParsePublishSubject, events.PublishSubject(s, a)),
			unslotted(slot, events.ParseCommandSubject, events.CommandSubject(s, a)),
			unslotted(slot, events.ParseAliveSubject, events.AliveSubject(s, a)),
		} {
			if gotSlot, gotS, gotA, err := parse(); err != nil || gotSlot != slot || gotS != s || gotA != a {
				t.Fatalf("parsed %d %s %s %v, want %d %s %s", gotSlot, gotS, gotA, err, slot, s, a)
			}
		}
		if gotS, gotA, what, err := events.ParseQuerySubject(events.QuerySubject(s, a, "runs")); err != nil || gotS != s || gotA != a || what != "runs" {
			t.Fatalf("parsed %s %s %s %v", gotS, gotA, what, err)
		}
	})
}

func unslotted(slot int, parse func(string) (events.SessionID, events.AgentID, error), subject string) func() (int, events.SessionID, events.AgentID, error) {
	return func() (int, events.SessionID, events.AgentID, error) {
		s, a, err := parse(subject)
		return slot, s, a, err
	}
}

func TestSubjectRefused(t *testing.T) {
	for _, subject := range []string{
		"", "steno.ev.1", "steno.ev.1.s", "steno.ev.x.s.a", "steno.ev.-1.s.a", "steno.ev.01.s.a", "steno.ev.1.s.a.b",
		"steno.ev.1..a", "steno.ev.1.s.", "steno.ev.1.*.a", "steno.ev.1.s.>", "steno.ev.1.a=2e.b", "steno.ev.1.a=41.b",
		"steno.ev.1.=2E.a", "steno.ev.1.=2E=2E.a", "steno.ev.1.a=.b", "steno.ev.1." + strings.Repeat("a", 129) + ".b",
		"steno.live.1.s.a", "steno.events.s.a", "steno.ev.1.s/x.a", "steno.ev.1.s a.b",
	} {
		if _, _, _, err := events.ParseStoredSubject(subject); !errors.Is(err, events.ErrID) {
			t.Errorf("ParseStoredSubject(%q): %v", subject, err)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add("steno.ev.7.a=2Eb.sub-1")
	f.Add("steno.ev.0.=.=2E")
	f.Fuzz(func(t *testing.T, subject string) {
		slot, s, a, err := events.ParseStoredSubject(subject)
		if err == nil && events.StoredSubject(slot, s, a) != subject {
			t.Fatalf("%q parses as %d %q %q", subject, slot, s, a)
		}
	})
}

// TestSlot holds what nats-server 2.15.3 computes for
// steno.events.*.* → steno.ev.{{partition(slots,1)}}.{{wildcard(1)}}.{{wildcard(2)}}.
func TestSlot(t *testing.T) {
	for _, tc := range []struct {
		session events.SessionID
		slots   int
		want    string
	}{
		{"s-1", 16, "steno.ev.4.s-1.main"},
		{"a.b", 16, "steno.ev.0.a=2Eb.main"},
		{"0192f3a4-7b1c-7def-8abc-0123456789ab", 16, "steno.ev.8.0192f3a4-7b1c-7def-8abc-0123456789ab.main"},
		{"A_b-9", 16, "steno.ev.7.A_b-9.main"},
		{"...", 16, "steno.ev.1.=2E=2E=2E.main"},
		{"s-1", 64, "steno.ev.36.s-1.main"},
		{"a.b", 64, "steno.ev.16.a=2Eb.main"},
		{"0192f3a4-7b1c-7def-8abc-0123456789ab", 64, "steno.ev.8.0192f3a4-7b1c-7def-8abc-0123456789ab.main"},
		{"A_b-9", 64, "steno.ev.55.A_b-9.main"},
		{"...", 64, "steno.ev.17.=2E=2E=2E.main"},
		{"s-1", 7, "steno.ev.0.s-1.main"},
		{"A_b-9", 7, "steno.ev.6.A_b-9.main"},
	} {
		if got := events.StoredSubject(tc.session.Slot(tc.slots), tc.session, events.MainAgent); got != tc.want {
			t.Errorf("%s of %d slots: %s, want %s", tc.session, tc.slots, got, tc.want)
		}
	}
}
