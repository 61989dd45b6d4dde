package gateway

import (
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/reducer"
)

// variant is one of the forms in which a feed's batches are sent: a grade, and
// at grade delta whether appends to a tool's arguments are sent as such.
type variant int

const (
	varTurn variant = iota
	varBlock
	varDelta // whole tool frames in place of appends to their arguments
	varInput // for clients with the capability append_input
	variants = 4
)

func variantOf(g grade.Grade, inputs bool) variant {
	switch {
	case g == grade.Turn:
		return varTurn
	case g == grade.Block:
		return varBlock
	case inputs:
		return varInput
	}
	return varDelta
}

func (v variant) grade() grade.Grade {
	return [variants]grade.Grade{grade.Turn, grade.Block, grade.Delta, grade.Delta}[v]
}

// holds tells whether the variant's sequence has a batch with these
// operations: at grade delta every batch, below it those that are not empty.
func (v variant) holds(ops []reducer.Op) bool {
	if v >= varDelta {
		return true
	}
	for i := range ops {
		if v.grade().Admits(ops[i].Kind) {
			return true
		}
	}
	return false
}
