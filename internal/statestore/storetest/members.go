package storetest

import (
	"slices"
	"testing"

	"github.com/stenohq/steno/internal/statestore"
)

// RunMembers runs the suite of a members set, which must be empty.
func RunMembers(t *testing.T, m statestore.Members) {
	live := func(role string, want ...string) {
		t.Helper()
		got, err := m.Live(t.Context(), role)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("live %s: %v, %v; want %v", role, got, err, want)
		}
	}
	beat := func(role, name string) {
		t.Helper()
		if err := m.Beat(t.Context(), role, name); err != nil {
			t.Fatal(err)
		}
	}
	live("projector")
	beat("projector", "b")
	beat("projector", "a")
	beat("projector", "a")
	beat("recorder", "c")
	live("projector", "a", "b")
	live("recorder", "c")
	if err := m.Leave(t.Context(), "projector", "a"); err != nil {
		t.Fatal(err)
	}
	live("projector", "b")
	beat("projector", "a")
	live("projector", "a", "b")
}
