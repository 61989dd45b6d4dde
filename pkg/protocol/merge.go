package protocol

import (
	"strings"

	"github.com/stenohq/steno/pkg/reducer"
)

// Merge makes one batch out of neighbouring ones, for a client that fell
// behind: appends to one target are joined, and a later upsert of an entity
// replaces the earlier ones and the appends to it. It takes the first one's
// PrevSeq and the last one's Seq, and leaves the same state in a client that
// can apply them without a gap, provided that ordinals are those of the ids.
// The batches stay as they are.
func Merge(batches []Batch) Batch {
	if len(batches) == 0 {
		return Batch{}
	}
	m := merger{}
	m.forget()
	for i := range batches {
		for j := range batches[i].Ops {
			m.add(&batches[i].Ops[j])
		}
	}
	return Batch{Seq: batches[len(batches)-1].Seq, PrevSeq: batches[0].PrevSeq, Ops: m.result()}
}

// merger collects operations. Operations on different entities may change
// places, so each goes to the place of the first one on its entity; what acts
// on many entities at once (items.remove, a conflict of ids) is a barrier that
// nothing crosses.
type merger struct {
	slots []slot
	at    map[entity]*places // since the barrier
	ids   map[string]bool
}

// slot is a place in the result.
type slot struct {
	op    reducer.Op
	texts []string // of joined appends, behind op.Text
	units int      // UTF-16 length of op.Text and texts
	gone  bool
}

// places are where the operations on one entity stand.
type places struct {
	upsert  int   // -1 = none
	appends []int // behind the upsert
}

// entity is what an operation is about. Appends are about their target, which
// is the same entity as that of the upsert that replaces it.
type entity struct{ kind, turn, step, id string }

func (m *merger) forget() {
	m.at, m.ids = map[entity]*places{}, map[string]bool{}
}

func (m *merger) add(op *reducer.Op) {
	if op.Kind == reducer.OpReset {
		m.slots = m.slots[:0]
	}
	e, ok := m.entity(op)
	if !ok {
		m.forget()
		m.slots = append(m.slots, slot{op: *op})
		return
	}
	p := m.at[e]
	if p == nil {
		p = &places{upsert: -1}
		m.at[e] = p
	}
	if op.Kind == reducer.OpAppend {
		m.addAppend(p, op)
	} else {
		m.addUpsert(p, op)
	}
}

func (m *merger) addAppend(p *places, op *reducer.Op) {
	if n := len(p.appends); n > 0 && m.slots[p.appends[n-1]].extend(op) {
		return
	}
	p.appends = append(p.appends, len(m.slots))
	m.slots = append(m.slots, slot{op: *op, units: reducer.UTF16Len(op.Text)})
}

// addUpsert also drops the appends that the upsert makes up for.
func (m *merger) addUpsert(p *places, op *reducer.Op) {
	for i, at := range p.appends {
		s := &m.slots[at]
		s.gone = true
		// An append may have been what made a task: its place counts.
		if i == 0 && p.upsert < 0 && op.Kind == reducer.OpTaskUpsert && s.op.Offset == 0 && s.units > 0 {
			*s = slot{op: *op}
			p.upsert = at
		}
	}
	p.appends = nil
	if p.upsert >= 0 && m.slots[p.upsert].replace(op) {
		return
	}
	p.upsert = len(m.slots)
	m.slots = append(m.slots, slot{op: *op})
}

// entity names what an operation is about; false for a barrier.
func (m *merger) entity(op *reducer.Op) (entity, bool) {
	switch op.Kind {
	case reducer.OpTurnUpsert:
		return entity{kind: "turn", id: op.Turn.TurnID}, m.claim(op.Turn.TurnID, false)
	case reducer.OpStepUpsert:
		return entity{kind: "step", turn: op.TurnID, id: op.Step.StepID}, m.claim(op.TurnID, false)
	case reducer.OpFrameUpsert:
		return entity{"frame", op.TurnID, op.StepID, op.Frame.FrameID}, m.claim(op.TurnID, false)
	case reducer.OpAppend:
		if op.Target.TaskID != "" {
			return entity{kind: "task", id: op.Target.TaskID}, true
		}
		return entity{"frame", op.Target.TurnID, op.Target.StepID, op.Target.FrameID}, m.claim(op.Target.TurnID, false)
	case reducer.OpMarkerUpsert:
		return entity{kind: "marker", id: op.Marker.MarkerID}, m.claim(op.Marker.MarkerID, true)
	case reducer.OpTaskRefUpsert:
		return entity{kind: "taskref", id: op.TaskRef.RefID}, m.claim(op.TaskRef.RefID, true)
	case reducer.OpTaskUpsert:
		return entity{kind: "task", id: op.Task.TaskID}, true
	case reducer.OpInteractionUpsert:
		return entity{kind: "interaction", id: op.Interaction.InteractionID}, true
	case reducer.OpAttachmentUpsert:
		return entity{kind: "attachment", id: op.Attachment.AttachmentID}, true
	case reducer.OpTodoUpsert:
		return entity{kind: "todo", id: op.Todo.TodoID}, true
	case reducer.OpPromptUpsert:
		return entity{kind: "prompt", id: op.Prompt.PromptID}, true
	case reducer.OpMetaMerge:
		return entity{kind: "meta"}, true
	case reducer.OpReset, reducer.OpItemsRemove:
	}
	return entity{}, false
}

// claim notes that an id of the timeline names a mark or a turn, and reports a
// conflict.
func (m *merger) claim(id string, mark bool) bool {
	was, seen := m.ids[id]
	m.ids[id] = mark
	return !seen || was == mark
}

// extend lets an append do what the one behind it does too, if it can.
func (s *slot) extend(op *reducer.Op) bool {
	if s.op.Target != op.Target || op.Offset != s.op.Offset+s.units {
		return false
	}
	if s.units == 0 && op.Target.TaskID != "" {
		return false // an empty append makes no task, and this one may
	}
	s.texts = append(s.texts, op.Text)
	s.units += reducer.UTF16Len(op.Text)
	return true
}

// replace lets an upsert do what a later one does, if it can: the entity keeps
// the place it got here.
func (s *slot) replace(op *reducer.Op) bool {
	old := s.op
	if old.BeforeTurn != op.BeforeTurn {
		return false
	}
	switch op.Kind {
	case reducer.OpTurnUpsert:
		if old.Turn.Ordinal != op.Turn.Ordinal || old.Turn.HasMoreSteps != op.Turn.HasMoreSteps {
			return false
		}
	case reducer.OpStepUpsert:
		if old.Step.Ordinal != op.Step.Ordinal {
			return false
		}
	case reducer.OpMetaMerge:
		s.op.Meta = reducer.MergePatches(old.Meta, op.Meta)
		return true
	default:
	}
	s.op = *op
	return true
}

// result returns the operations that are left.
func (m *merger) result() []reducer.Op {
	ops := make([]reducer.Op, 0, len(m.slots))
	for i := range m.slots {
		s := &m.slots[i]
		if s.gone {
			continue
		}
		if len(s.texts) > 0 {
			var b strings.Builder
			b.WriteString(reducer.CanonicalText(s.op.Text))
			for _, t := range s.texts {
				b.WriteString(reducer.CanonicalText(t))
			}
			s.op.Text = reducer.CanonicalText(b.String())
		}
		ops = append(ops, s.op)
	}
	return ops
}
