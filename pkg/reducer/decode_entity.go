package reducer

// item reads a timeline entry by its kind.
func (d *decoder) item(raw []byte) Item {
	kind := d.peek(raw, "kind", "turn", "marker", "taskref")
	if d.err != nil {
		return Item{}
	}
	switch kind {
	case "turn":
		return Item{Turn: d.turn(raw, true)}
	case "marker":
		return Item{Marker: d.marker(raw)}
	default:
		return Item{TaskRef: d.taskRef(raw)}
	}
}

func (d *decoder) marker(raw []byte) *Marker {
	m := &Marker{}
	d.object(raw, "markerId marker", func(name string, v []byte) {
		switch name {
		case "markerId":
			m.MarkerID = d.id(v)
		case "marker":
			m.Marker = d.text(v)
		case "payload":
			m.Payload = d.opaque(v)
		case "at":
			m.At = d.text(v)
		}
	})
	return m
}

func (d *decoder) taskRef(raw []byte) *TaskRef {
	r := &TaskRef{}
	d.object(raw, "refId taskId", func(name string, v []byte) {
		switch name {
		case "refId":
			r.RefID = d.id(v)
		case "taskId":
			r.TaskID = d.text(v)
		case "at":
			r.At = d.text(v)
		}
	})
	return r
}

func (d *decoder) task(raw []byte) *Task {
	t := &Task{}
	d.object(raw, "taskId kind state detached outputTail", func(name string, v []byte) {
		switch name {
		case "taskId":
			t.TaskID = d.id(v)
		case "kind":
			t.Kind = oneOf(d, v, "shell", "subagent", "tool", "other")
		case "state":
			t.State = oneOf(d, v, "running", "completed", "failed", "timed_out", "killed", "lost")
		case "detached":
			t.Detached = d.boolean(v)
		case "description":
			t.Description = d.optText(v)
		case "agentId":
			t.AgentID = d.text(v)
		case "outputTail":
			t.OutputTail = d.text(v)
		default:
			d.taskDetail(t, name, v)
		}
	})
	return t
}

func (d *decoder) taskDetail(t *Task, name string, v []byte) {
	switch name {
	case "startedAt":
		t.StartedAt = d.text(v)
	case "endedAt":
		t.EndedAt = d.text(v)
	case "resultSummary":
		t.ResultSummary = d.optText(v)
	case "error":
		t.Error = d.optText(v)
	case "stateReason":
		t.StateReason = d.optText(v)
	case "usage":
		t.Usage = d.stepUsage(v)
	}
}

func (d *decoder) interaction(raw []byte) *Interaction {
	i := &Interaction{}
	d.object(raw, "interactionId interactionKind state", func(name string, v []byte) {
		switch name {
		case "interactionId":
			i.InteractionID = d.id(v)
		case "interactionKind":
			i.InteractionKind = oneOf(d, v, "approval", "question")
		case "toolCallId":
			i.ToolCallID = d.text(v)
		case "state":
			i.State = oneOf(d, v, InteractionPending, "approved", "rejected", "cancelled", "answered", "dismissed")
		case "request":
			i.Request = d.opaque(v)
		case "response":
			i.Response = d.opaque(v)
		}
	})
	return i
}

func (d *decoder) attachment(raw []byte) *Attachment {
	a := &Attachment{}
	d.object(raw, "attachmentId mediaType", func(name string, v []byte) {
		switch name {
		case "attachmentId":
			a.AttachmentID = d.id(v)
		case "mediaType":
			a.MediaType = d.text(v)
		case "name":
			a.Name = d.optText(v)
		case "size":
			a.Size = d.optNumber(v)
		case "source":
			a.Source = d.source(v)
		case "placeholder":
			a.Placeholder = d.optText(v)
		}
	})
	return a
}

func (d *decoder) source(raw []byte) *AttachmentSource {
	s := &AttachmentSource{}
	d.object(raw, "kind", func(name string, v []byte) {
		switch name {
		case "kind":
			s.Kind = oneOf(d, v, SourceURL, "file", "session_media")
		case "url":
			s.URL = d.text(v)
		case "fileId":
			s.FileID = d.text(v)
		}
	})
	if s.Kind == SourceURL {
		s.FileID = ""
	} else {
		s.URL = ""
	}
	return s
}

func (d *decoder) todo(raw []byte) *Todo {
	t := &Todo{}
	d.object(raw, "todoId items", func(name string, v []byte) {
		switch name {
		case "todoId":
			t.TodoID = d.id(v)
		case "items":
			t.Items = list0(d, v, d.todoItem)
		case "updatedAt":
			t.UpdatedAt = d.text(v)
		}
	})
	return t
}

func (d *decoder) todoItem(raw []byte) TodoItem {
	var it TodoItem
	d.object(raw, "title status", func(name string, v []byte) {
		switch name {
		case "title":
			it.Title = d.text(v)
		case "status":
			it.Status = oneOf(d, v, "pending", "in_progress", "done")
		}
	})
	return it
}

func (d *decoder) prompt(raw []byte) *Prompt {
	p := &Prompt{}
	d.object(raw, "promptId status createdAt", func(name string, v []byte) {
		switch name {
		case "promptId":
			p.PromptID = d.id(v)
		case "status":
			p.Status = oneOf(d, v, "running", "queued", "blocked", "completed", "failed", "aborted")
		case "userMessageId":
			p.UserMessageID = d.text(v)
		case "content":
			p.Content = d.opaque(v)
		case "createdAt":
			p.CreatedAt = d.text(v)
		case "finishedAt":
			p.FinishedAt = d.text(v)
		case "steeredAt":
			p.SteeredAt = d.text(v)
		}
	})
	return p
}

func (d *decoder) descriptor(raw []byte) AgentDescriptor {
	var a AgentDescriptor
	d.object(raw, "agentId", func(name string, v []byte) {
		switch name {
		case "agentId":
			a.AgentID = d.id(v)
		case "type":
			a.Type = oneOf(d, v, "main", "sub", "independent")
		case "parentAgentId":
			a.ParentAgentID = d.text(v)
		case "parentToolCallId":
			a.ParentToolCallID = d.text(v)
		case "label":
			a.Label = d.optText(v)
		case "createdAt":
			a.CreatedAt = d.text(v)
		case "disposedAt":
			a.DisposedAt = d.text(v)
		case "state":
			a.State = d.text(v)
		case "live":
			a.Live = Some(d.boolean(v))
		}
	})
	return a
}
