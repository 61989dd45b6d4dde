package slots_test

import (
	"slices"
	"testing"

	"github.com/stenohq/steno/internal/slots"
)

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
