package reducer

import (
	"slices"
	"strings"
)

// DecodeOps reads a JSON array of operations. The error, a *DecodeError, names
// the first value that is not as the contract has it; nothing is returned
// then. The operations share no memory with data.
func DecodeOps(data []byte) ([]Op, error) {
	d := &decoder{path: []string{"ops"}}
	ops := list0(d, data, d.op)
	if d.err != nil {
		return nil, d.err
	}
	return ops, nil
}

// DecodeSnapshot reads a snapshot, as a reset carries it.
func DecodeSnapshot(data []byte) (*Snapshot, error) {
	d := &decoder{}
	s := d.snapshot(data)
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// DecodeDescriptors reads a JSON array of agent descriptors.
func DecodeDescriptors(data []byte) ([]AgentDescriptor, error) {
	d := &decoder{path: []string{"agents"}}
	agents := list0(d, data, d.descriptor)
	return agents, d.result()
}

func (d *decoder) snapshot(raw []byte) *Snapshot {
	var p Parts
	d.object(raw, "items", func(name string, v []byte) {
		switch name {
		case "items":
			p.Items = list0(d, v, d.item)
		case "tasks":
			p.Tasks = list0(d, v, d.task)
		case "interactions":
			p.Interactions = list0(d, v, d.interaction)
		case "attachments":
			p.Attachments = list0(d, v, d.attachment)
		case "todos":
			p.Todos = list0(d, v, d.todo)
		case "prompts":
			p.Prompts = list0(d, v, d.prompt)
		case "meta":
			p.Meta = d.meta(v)
		case "hasMoreOlder":
			p.HasMoreOlder = d.boolean(v)
		}
	})
	if d.err != nil {
		return nil
	}
	return NewSnapshot(p)
}

// opMembers names the members an operation must have.
func opMembers(kind OpKind) string {
	switch kind {
	case OpReset:
		return "agentId snapshot"
	case OpTurnUpsert:
		return "turn"
	case OpStepUpsert:
		return "turnId step"
	case OpFrameUpsert:
		return "turnId stepId frame"
	case OpAppend:
		return "target offset text"
	case OpMarkerUpsert, OpTaskRefUpsert:
		return "item"
	case OpTaskUpsert:
		return "task"
	case OpInteractionUpsert:
		return "interaction"
	case OpAttachmentUpsert:
		return "attachment"
	case OpTodoUpsert:
		return "todo"
	case OpPromptUpsert:
		return "prompt"
	case OpMetaMerge:
		return "meta"
	case OpItemsRemove:
		return "ids"
	}
	return ""
}

// OpKinds returns the 14 kinds.
func OpKinds() []OpKind {
	return []OpKind{
		OpReset, OpTurnUpsert, OpStepUpsert, OpFrameUpsert, OpAppend, OpMarkerUpsert, OpTaskRefUpsert,
		OpTaskUpsert, OpInteractionUpsert, OpAttachmentUpsert, OpTodoUpsert, OpPromptUpsert, OpMetaMerge, OpItemsRemove,
	}
}

func (d *decoder) op(raw []byte) Op {
	kinds := make([]string, 0, 14)
	for _, k := range OpKinds() {
		kinds = append(kinds, string(k))
	}
	op := Op{Kind: OpKind(d.peek(raw, "op", kinds...))}
	if d.err != nil {
		return op
	}
	members := opMembers(op.Kind)
	d.object(raw, members, func(name string, v []byte) { d.opMember(&op, name, v) })
	return op
}

func (d *decoder) opMember(op *Op, name string, v []byte) {
	switch op.Kind {
	case OpReset:
		switch name {
		case "agentId":
			op.AgentID = d.text(v)
		case "snapshot":
			op.Snapshot = d.snapshot(v)
		}
	case OpAppend:
		switch name {
		case "target":
			op.Target = d.target(v)
		case "offset":
			op.Offset = d.whole(v)
		case "text":
			op.Text = d.text(v)
		}
	case OpMarkerUpsert, OpTaskRefUpsert:
		switch {
		case name == "beforeTurn":
			op.BeforeTurn = Some(d.whole(v))
		case name == "item" && op.Kind == OpMarkerUpsert:
			op.Marker = d.marker(v)
		case name == "item":
			op.TaskRef = d.taskRef(v)
		}
	default:
		d.opEntity(op, name, v)
	}
}

// opEntity reads the members of the operations whose members are all their
// own.
func (d *decoder) opEntity(op *Op, name string, v []byte) {
	if !slices.Contains(strings.Fields(opMembers(op.Kind)), name) {
		return
	}
	switch name {
	case "turn":
		op.Turn = d.turn(v, false)
	case "turnId":
		op.TurnID = d.id(v)
	case "stepId":
		op.StepID = d.id(v)
	case "step":
		op.Step = d.stepHeader(v)
	case "frame":
		op.Frame = d.frame(v)
	case "task":
		op.Task = d.task(v)
	case "interaction":
		op.Interaction = d.interaction(v)
	case "attachment":
		op.Attachment = d.attachment(v)
	case "todo":
		op.Todo = d.todo(v)
	case "prompt":
		op.Prompt = d.prompt(v)
	case "meta":
		op.Meta = d.metaPatch(v)
	case "ids":
		op.IDs = d.ids(v)
	}
}

func (d *decoder) target(raw []byte) Target {
	var t Target
	kind := ""
	d.object(raw, "type", func(name string, v []byte) {
		switch name {
		case "type":
			kind = oneOf(d, v, "frame", "task")
		case "turnId":
			t.TurnID = d.id(v)
		case "stepId":
			t.StepID = d.id(v)
		case "frameId":
			t.FrameID = d.id(v)
		case "field":
			t.InputText = oneOf(d, v, "inputText") != ""
		case "taskId":
			t.TaskID = d.id(v)
		}
	})
	switch {
	case d.err != nil:
	case kind == "task" && t.TaskID == "":
		d.fail("member taskId is missing")
	case kind == "task":
		t = Target{TaskID: t.TaskID}
	case t.TurnID == "" || t.StepID == "" || t.FrameID == "":
		d.fail("want turnId, stepId and frameId")
	default:
		t.TaskID = ""
	}
	return t
}
