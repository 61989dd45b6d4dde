// Package grade decides how much of a transcript a subscriber receives: which
// operations pass, what a snapshot shows, and when a change of grade needs a
// reset. The package has no clock, no randomness, no I/O.
package grade

import (
	"fmt"

	"github.com/stenohq/steno/pkg/reducer"
)

// Grade is a resolution; a higher one shows more.
type Grade int

// The grades. The zero Grade is Off.
const (
	Off   Grade = iota // nothing
	Turn               // turn headers, markers, task refs, entities, meta
	Block              // also steps and whole frames
	Delta              // also text as it is streamed
)

// String returns the name on the wire.
func (g Grade) String() string {
	switch g {
	case Off:
		return "off"
	case Turn:
		return "turn"
	case Block:
		return "block"
	case Delta:
		return "delta"
	}
	return fmt.Sprintf("grade(%d)", int(g))
}

// Parse reads a name on the wire.
func Parse(s string) (Grade, error) {
	for g := Off; g <= Delta; g++ {
		if s == g.String() {
			return g, nil
		}
	}
	return Off, fmt.Errorf("grade %q: want off, turn, block or delta", s)
}

// Admits reports whether operations of that kind pass at the grade.
func (g Grade) Admits(kind reducer.OpKind) bool { return g >= needed(kind) && g != Off }

// needed is the lowest grade that receives a kind of operation.
func needed(kind reducer.OpKind) Grade {
	switch kind {
	case reducer.OpAppend:
		return Delta
	case reducer.OpStepUpsert, reducer.OpFrameUpsert:
		return Block
	case reducer.OpReset, reducer.OpTurnUpsert, reducer.OpMarkerUpsert, reducer.OpTaskRefUpsert,
		reducer.OpTaskUpsert, reducer.OpInteractionUpsert, reducer.OpAttachmentUpsert,
		reducer.OpTodoUpsert, reducer.OpPromptUpsert, reducer.OpMetaMerge, reducer.OpItemsRemove:
	}
	return Turn
}

// Filter returns the operations that pass at the grade, in their order: ops
// itself when all of them do, so nothing is copied at delta. A reset inside a
// batch passes from turn on as it is; Redact is for baselines.
func Filter(ops []reducer.Op, g Grade) []reducer.Op {
	passing := 0
	for i := range ops {
		if g.Admits(ops[i].Kind) {
			passing++
		}
	}
	switch passing {
	case len(ops):
		return ops
	case 0:
		return nil
	}
	out := make([]reducer.Op, 0, passing)
	for i := range ops {
		if g.Admits(ops[i].Kind) {
			out = append(out, ops[i])
		}
	}
	return out
}

// AppendOnly reports whether a batch holds nothing but appends, at least one.
func AppendOnly(ops []reducer.Op) bool {
	for i := range ops {
		if ops[i].Kind != reducer.OpAppend {
			return false
		}
	}
	return len(ops) > 0
}

// Redact returns what a snapshot shows at the grade: below block its turns
// carry no steps. At block and delta it is the same snapshot.
func Redact(s *reducer.Snapshot, g Grade) *reducer.Snapshot {
	if g >= Block {
		return s
	}
	return s.WithoutSteps()
}

// NeedsReset reports whether a subscriber that goes from one grade to another
// needs a new baseline: a raise does, a drop does not, because the next upsert
// carries the full text.
func NeedsReset(from, to Grade) bool { return to > from }
