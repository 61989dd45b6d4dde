package reducer

// frame reads a frame: the kind first, then the members that frames of that
// kind have.
func (d *decoder) frame(raw []byte) *Frame {
	f := &Frame{Kind: FrameKind(d.peek(raw, "kind", string(FrameText), string(FrameThinking), string(FrameTool), string(FrameNotice)))}
	if d.err != nil {
		return f
	}
	switch f.Kind {
	case FrameText:
		d.object(raw, "frameId role text", func(name string, v []byte) { d.textMember(f, name, v) })
	case FrameThinking:
		d.object(raw, "frameId text", func(name string, v []byte) {
			if name == "frameId" || name == "text" || name == "textBlob" {
				d.textMember(f, name, v)
			}
		})
	case FrameTool:
		d.object(raw, "frameId toolCallId name state", func(name string, v []byte) { d.toolMember(f, name, v) })
	case FrameNotice:
		d.object(raw, "frameId level message", func(name string, v []byte) { d.noticeMember(f, name, v) })
	}
	return f
}

func (d *decoder) textMember(f *Frame, name string, v []byte) {
	switch name {
	case "frameId":
		f.FrameID = d.id(v)
	case "role":
		f.Role = oneOf(d, v, RoleAssistant, RoleUser)
	case "text":
		f.Text = d.text(v)
	case "attachmentIds":
		f.AttachmentIDs = d.ids(v)
	case "taskId":
		f.TaskID = d.text(v)
	case "textBlob":
		f.TextBlob = d.blob(v)
	}
}

func (d *decoder) toolMember(f *Frame, name string, v []byte) {
	switch name {
	case "frameId":
		f.FrameID = d.id(v)
	case "toolCallId":
		f.ToolCallID = d.text(v)
	case "name":
		f.Name = d.text(v)
	case "view":
		f.View = d.text(v)
	case "state":
		f.State = oneOf(d, v, ToolRunning, ToolDone, ToolError)
	case "input":
		f.Input = d.opaque(v)
	case "output":
		f.Output = d.opaque(v)
	case "display":
		f.Display = d.opaque(v)
	case "error":
		f.Error = d.optText(v)
	case "inputText":
		f.InputText = d.optText(v)
	case "progress":
		f.Progress = d.progress(v)
	default:
		d.toolLink(f, name, v)
	}
}

func (d *decoder) toolLink(f *Frame, name string, v []byte) {
	switch name {
	case "taskId":
		f.TaskID = d.text(v)
	case "approvalId":
		f.ApprovalID = d.text(v)
	case "todoId":
		f.TodoID = d.text(v)
	case "agentRefs":
		f.AgentRefs = list0(d, v, d.agentRef)
	case "inputBlob":
		f.InputBlob = d.blob(v)
	case "outputBlob":
		f.OutputBlob = d.blob(v)
	}
}

func (d *decoder) noticeMember(f *Frame, name string, v []byte) {
	switch name {
	case "frameId":
		f.FrameID = d.id(v)
	case "level":
		f.Level = oneOf(d, v, LevelError, LevelWarning, LevelInfo)
	case "source":
		f.Source = d.text(v)
	case "message":
		f.Message = d.text(v)
	case "detail":
		f.Detail = d.opaque(v)
	}
}

func (d *decoder) progress(raw []byte) *Progress {
	p := &Progress{}
	d.object(raw, "kind", func(name string, v []byte) {
		switch name {
		case "kind":
			p.Kind = oneOf(d, v, "stdout", "stderr", "progress", "status", "custom")
		case "text":
			p.Text = d.optText(v)
		case "percent":
			p.Percent = d.optNumber(v)
		case "customKind":
			p.CustomKind = d.optText(v)
		case "customData":
			p.CustomData = d.opaque(v)
		}
	})
	return p
}

func (d *decoder) agentRef(raw []byte) AgentRef {
	var r AgentRef
	d.object(raw, "agentId", func(name string, v []byte) {
		switch name {
		case "agentId":
			r.AgentID = d.text(v)
		case "role":
			r.Role = oneOf(d, v, "child", "member")
		}
	})
	return r
}

func (d *decoder) blob(raw []byte) *BlobRef {
	r := &BlobRef{}
	d.object(raw, "sha256 size mediaType", func(name string, v []byte) {
		switch name {
		case "sha256":
			r.SHA256 = d.text(v)
		case "size":
			r.Size = int64(d.whole(v))
		case "mediaType":
			r.MediaType = d.text(v)
		}
	})
	return r
}
