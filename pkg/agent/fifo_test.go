package agent

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFifoBehavesLikeASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f fifo[int]
		var model []int
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			for range rapid.IntRange(0, 2*chunkItems).Draw(t, "push") {
				f.push(next)
				model = append(model, next)
				next++
			}
			for range rapid.IntRange(0, min(len(model), 2*chunkItems)).Draw(t, "pop") {
				if got := f.pop(); got != model[0] {
					t.Fatalf("popped %d, want %d", got, model[0])
				}
				model = model[1:]
			}
			if f.len() != len(model) {
				t.Fatalf("%d elements, want %d", f.len(), len(model))
			}
			if len(model) > 0 {
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				if *f.at(i) != model[i] {
					t.Fatalf("element %d is %d, want %d", i, *f.at(i), model[i])
				}
			}
		}
	})
}
