package reducer

// AppendJSON appends whichever the item is.
func (it Item) AppendJSON(dst []byte) []byte {
	switch {
	case it.Turn != nil:
		return it.Turn.AppendJSON(dst)
	case it.Marker != nil:
		return it.Marker.AppendJSON(dst)
	case it.TaskRef != nil:
		return it.TaskRef.AppendJSON(dst)
	}
	return append(dst, "null"...)
}

// AppendJSON appends the marker.
func (m *Marker) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"kind":"marker",`...)
	dst = putString(dst, "markerId", m.MarkerID)
	dst = putString(dst, "marker", m.Marker)
	dst = putRaw(dst, "payload", m.Payload)
	return closeObject(putID(dst, "at", m.At))
}

// AppendJSON appends the task ref.
func (r *TaskRef) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"kind":"taskref",`...)
	dst = putString(dst, "refId", r.RefID)
	dst = putString(dst, "taskId", r.TaskID)
	return closeObject(putID(dst, "at", r.At))
}

// AppendJSON appends the task.
func (t *Task) AppendJSON(dst []byte) []byte {
	dst = t.appendHead(append(dst, '{'))
	dst = putString(dst, "outputTail", t.OutputTail)
	return closeObject(t.appendTail(dst))
}

func (n *taskNode) AppendJSON(dst []byte) []byte {
	dst = n.head.appendHead(append(dst, '{'))
	dst = append(n.text.appendQuoted(name(dst, "outputTail")), ',')
	return closeObject(n.head.appendTail(dst))
}

func (t *Task) appendHead(b []byte) []byte {
	b = putString(b, "taskId", t.TaskID)
	b = putString(b, "kind", t.Kind)
	b = putString(b, "state", t.State)
	b = putBool(b, "detached", t.Detached)
	b = putOptString(b, "description", t.Description)
	return putID(b, "agentId", t.AgentID)
}

func (t *Task) appendTail(b []byte) []byte {
	b = putID(b, "startedAt", t.StartedAt)
	b = putID(b, "endedAt", t.EndedAt)
	b = putOptString(b, "resultSummary", t.ResultSummary)
	b = putOptString(b, "error", t.Error)
	b = putOptString(b, "stateReason", t.StateReason)
	if t.Usage != nil {
		b = putObject(b, "usage", t.Usage)
	}
	return b
}

// AppendJSON appends the interaction.
func (i *Interaction) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "interactionId", i.InteractionID)
	dst = putString(dst, "interactionKind", i.InteractionKind)
	dst = putID(dst, "toolCallId", i.ToolCallID)
	dst = putString(dst, "state", i.State)
	dst = putRaw(dst, "request", i.Request)
	return closeObject(putRaw(dst, "response", i.Response))
}

// AppendJSON appends the attachment.
func (a *Attachment) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "attachmentId", a.AttachmentID)
	dst = putString(dst, "mediaType", a.MediaType)
	dst = putOptString(dst, "name", a.Name)
	dst = putOptNumber(dst, "size", a.Size)
	if a.Source != nil {
		dst = putObject(dst, "source", a.Source)
	}
	return closeObject(putOptString(dst, "placeholder", a.Placeholder))
}

// AppendJSON appends the source.
func (s *AttachmentSource) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "kind", s.Kind)
	if s.Kind == SourceURL {
		return closeObject(putString(dst, "url", s.URL))
	}
	return closeObject(putString(dst, "fileId", s.FileID))
}

// SourceURL is the kind of an attachment source that has a URL; the others
// have a file id.
const SourceURL = "url"

// AppendJSON appends the todo document.
func (t *Todo) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "todoId", t.TodoID)
	dst = append(name(dst, "items"), '[')
	for _, it := range t.Items {
		dst = append(it.AppendJSON(dst), ',')
	}
	dst = append(closeArray(dst), ',')
	return closeObject(putID(dst, "updatedAt", t.UpdatedAt))
}

// AppendJSON appends the entry.
func (it TodoItem) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "title", it.Title)
	return closeObject(putString(dst, "status", it.Status))
}

// AppendJSON appends the prompt.
func (p *Prompt) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "promptId", p.PromptID)
	dst = putString(dst, "status", p.Status)
	dst = putID(dst, "userMessageId", p.UserMessageID)
	dst = putRaw(dst, "content", p.Content)
	dst = putString(dst, "createdAt", p.CreatedAt)
	dst = putID(dst, "finishedAt", p.FinishedAt)
	return closeObject(putID(dst, "steeredAt", p.SteeredAt))
}

// AppendJSON appends the descriptor.
func (d *AgentDescriptor) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "agentId", d.AgentID)
	dst = putID(dst, "type", d.Type)
	dst = putID(dst, "parentAgentId", d.ParentAgentID)
	dst = putID(dst, "parentToolCallId", d.ParentToolCallID)
	dst = putOptString(dst, "label", d.Label)
	dst = putID(dst, "createdAt", d.CreatedAt)
	dst = putID(dst, "disposedAt", d.DisposedAt)
	dst = putID(dst, "state", d.State)
	if d.Live.Set {
		dst = putBool(dst, "live", d.Live.V)
	}
	return closeObject(dst)
}
