package gateway

import (
	"math/bits"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// firstWhole is the length of a tool's streamed arguments at which a client
// without append_input is first sent the frame.
const firstWhole = 64

// plainInput returns the operations for clients that know no append to a
// tool's arguments: such an append is replaced by the whole frame when it
// brings the length past a power of two, else left out, so that the bytes stay
// linear. What ends the streaming sends the whole frame anyway. nil means that
// ops serves them as it is.
func plainInput(ops []reducer.Op, agent *fold.Agent) []reducer.Op {
	first := -1
	for i := range ops {
		if ops[i].Kind == reducer.OpAppend && ops[i].Target.InputText {
			first = i
			break
		}
	}
	if first < 0 {
		return nil
	}
	out := append(make([]reducer.Op, 0, len(ops)), ops[:first]...)
	for i := first; i < len(ops); i++ {
		op := &ops[i]
		if op.Kind != reducer.OpAppend || !op.Target.InputText {
			out = append(out, *op)
			continue
		}
		if !passes(op.Offset, op.Offset+reducer.UTF16Len(op.Text)) {
			continue
		}
		if f := findFrame(agent, op.Target); f != nil {
			out = append(out, reducer.Op{
				Kind: reducer.OpFrameUpsert, TurnID: op.Target.TurnID, StepID: op.Target.StepID, Frame: f,
			})
		}
	}
	return out
}

// passes tells whether a power of two from firstWhole on lies above from and
// at or below to.
func passes(from, to int) bool {
	return to >= firstWhole && bits.Len(uint(from)) < bits.Len(uint(to))
}

// findFrame looks for a frame, in the newest turn first, where it will be.
func findFrame(agent *fold.Agent, t reducer.Target) *reducer.Frame {
	for _, turns := range [...]int{1, -1} {
		for turn := range agent.Snapshot(turns).Turns() {
			if turn.TurnID != t.TurnID {
				continue
			}
			for _, step := range turn.Steps {
				if step.StepID != t.StepID {
					continue
				}
				for _, f := range step.Frames {
					if f.FrameID == t.FrameID {
						return f
					}
				}
			}
		}
	}
	return nil
}
