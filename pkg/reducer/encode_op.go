package reducer

import "github.com/stenohq/steno/pkg/events/scan"

// AppendJSON appends the operation.
func (op *Op) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "op", string(op.Kind))
	switch op.Kind {
	case OpReset:
		dst = putString(dst, "agentId", op.AgentID)
		dst = putObject(dst, "snapshot", op.Snapshot)
	case OpTurnUpsert:
		dst = op.Turn.appendHead(append(name(dst, "turn"), '{'), op.Turn.HasMoreSteps)
		dst = append(closeObject(dst), ',')
	case OpStepUpsert:
		dst = putString(dst, "turnId", op.TurnID)
		dst = op.Step.appendHead(append(name(dst, "step"), '{'))
		dst = append(closeObject(dst), ',')
	case OpFrameUpsert:
		dst = putString(dst, "turnId", op.TurnID)
		dst = putString(dst, "stepId", op.StepID)
		dst = putObject(dst, "frame", op.Frame)
	case OpAppend:
		dst = putObject(dst, "target", op.Target)
		dst = putInt(dst, "offset", int64(op.Offset))
		// A chunk may end inside a surrogate pair; its half must arrive as one.
		dst = append(scan.AppendQuoteWTF8(name(dst, "text"), op.Text), ',')
	case OpMarkerUpsert:
		dst = putBefore(putObject(dst, "item", op.Marker), op.BeforeTurn)
	case OpTaskRefUpsert:
		dst = putBefore(putObject(dst, "item", op.TaskRef), op.BeforeTurn)
	case OpTaskUpsert:
		dst = putObject(dst, "task", op.Task)
	case OpInteractionUpsert:
		dst = putObject(dst, "interaction", op.Interaction)
	case OpAttachmentUpsert:
		dst = putObject(dst, "attachment", op.Attachment)
	case OpTodoUpsert:
		dst = putObject(dst, "todo", op.Todo)
	case OpPromptUpsert:
		dst = putObject(dst, "prompt", op.Prompt)
	case OpMetaMerge:
		dst = putObject(dst, "meta", op.Meta)
	case OpItemsRemove:
		dst = append(appendIDs(name(dst, "ids"), op.IDs), ',')
	}
	return closeObject(dst)
}

func putBefore(b []byte, before Opt[int]) []byte {
	if !before.Set {
		return b
	}
	return putInt(b, "beforeTurn", int64(before.V))
}

// AppendJSON appends the target.
func (t Target) AppendJSON(dst []byte) []byte {
	if t.TaskID != "" {
		return closeObject(putString(append(dst, `{"type":"task",`...), "taskId", t.TaskID))
	}
	dst = putString(append(dst, `{"type":"frame",`...), "turnId", t.TurnID)
	dst = putString(dst, "stepId", t.StepID)
	dst = putString(dst, "frameId", t.FrameID)
	if t.InputText {
		dst = putString(dst, "field", "inputText")
	}
	return closeObject(dst)
}

// AppendOps appends operations as a JSON array.
func AppendOps(dst []byte, ops []Op) []byte {
	dst = append(dst, '[')
	for i := range ops {
		dst = append(ops[i].AppendJSON(dst), ',')
	}
	return closeArray(dst)
}

// AppendJSON appends the snapshot. Equal states have equal bytes.
func (s *Snapshot) AppendJSON(dst []byte) []byte {
	if s == nil {
		s = &Snapshot{}
	}
	dst = append(dst, '{')
	dst = s.AppendMembers(dst)
	dst = putObject(dst, "meta", &s.meta)
	return closeObject(putBool(dst, "hasMoreOlder", s.hasMoreOlder))
}

// AppendMembers appends the members that snapshots and pages share, items,
// tasks, interactions, attachments, todos and prompts, each with a comma
// behind it.
func (s *Snapshot) AppendMembers(dst []byte) []byte {
	dst = append(name(dst, "items"), '[')
	for e := range s.entries() {
		switch {
		case e.turn == nil:
			dst = e.mark.AppendJSON(dst)
		case s.noSteps:
			dst = e.turn.appendBare(dst)
		default:
			dst = e.turn.AppendJSON(dst)
		}
		dst = append(dst, ',')
	}
	dst = append(closeArray(dst), ',')
	dst = putList(dst, "tasks", &s.tasks)
	dst = putList(dst, "interactions", &s.interactions)
	dst = putList(dst, "attachments", &s.attachments)
	dst = putList(dst, "todos", &s.todos)
	return putList(dst, "prompts", &s.prompts)
}

func putList[T interface {
	keyed
	jsonWriter
}](b []byte, key string, l *list[T]) []byte {
	b = append(name(b, key), '[')
	for w := l.from(0); w.ok; w.next() {
		b = append(w.val.AppendJSON(b), ',')
	}
	return append(closeArray(b), ',')
}
