package memstate_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/internal/statestore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) statestore.Store { return memstate.New() })
}

func TestMembers(t *testing.T) { storetest.RunMembers(t, memstate.NewMembers()) }

func TestMembersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstate.NewMembers()
		if err := m.Beat(t.Context(), "r", "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(memstate.MemberTTL - time.Millisecond)
		if live, _ := m.Live(t.Context(), "r"); len(live) != 1 {
			t.Error("gone too early")
		}
		time.Sleep(time.Millisecond)
		if live, _ := m.Live(t.Context(), "r"); len(live) != 0 {
			t.Error("still live")
		}
	})
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name           string
		fault          memstate.Fault
		want           error
		written        bool
		late, lateGone int
	}{
		{"none", memstate.None, nil, true, 0, 0},
		{"unavailable", memstate.Unavailable, statestore.ErrBusy, false, 0, 0},
		{"busy", memstate.Busy, statestore.ErrBusy, false, 0, 0},
		{"conflict", memstate.Conflict, statestore.ErrConflict, false, 0, 0},
		{"lost request", memstate.LostRequest, statestore.ErrAmbiguous, false, 0, 0},
		{"lost ack", memstate.LostAck, statestore.ErrAmbiguous, true, 0, 0},
		{"late", memstate.Late, statestore.ErrAmbiguous, false, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := memstate.New()
			s.Inject(func(memstate.Op) memstate.Fault { return test.fault })
			_, err := s.Put(t.Context(), statestore.Write{Key: "k", Value: []byte("v")})
			if !errors.Is(err, test.want) {
				t.Errorf("put: %v, want %v", err, test.want)
			}
			s.Inject(nil)
			if _, err := s.Get(t.Context(), "k"); (err == nil) != test.written {
				t.Errorf("get: %v, want written %v", err, test.written)
			}
			if in, out := s.DeliverLate(); in != test.late || out != test.lateGone {
				t.Errorf("late: %d accepted, %d refused", in, out)
			}
		})
	}
}
