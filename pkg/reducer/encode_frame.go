package reducer

import (
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/events/scan"
)

// AppendJSON appends the frame.
func (f *Frame) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "kind", string(f.Kind))
	dst = putString(dst, "frameId", f.FrameID)
	switch f.Kind {
	case FrameText:
		dst = putString(dst, "role", string(f.Role))
		dst = putString(dst, "text", f.Text)
		dst = f.appendTextTail(dst)
	case FrameThinking:
		dst = putString(dst, "text", f.Text)
		if f.TextBlob != nil {
			dst = putObject(dst, "textBlob", f.TextBlob)
		}
	case FrameTool:
		dst = f.appendToolHead(dst)
		dst = putOptString(dst, "inputText", f.InputText)
		dst = f.appendToolTail(dst)
	case FrameNotice:
		dst = putString(dst, "level", string(f.Level))
		dst = putID(dst, "source", f.Source)
		dst = putString(dst, "message", f.Message)
		dst = putRaw(dst, "detail", f.Detail)
	}
	return closeObject(dst)
}

func (f *Frame) appendTextTail(b []byte) []byte {
	b = putIDs(b, "attachmentIds", f.AttachmentIDs)
	b = putID(b, "taskId", f.TaskID)
	if f.TextBlob != nil {
		b = putObject(b, "textBlob", f.TextBlob)
	}
	return b
}

func (f *Frame) appendToolHead(b []byte) []byte {
	b = putString(b, "toolCallId", f.ToolCallID)
	b = putString(b, "name", f.Name)
	b = putID(b, "view", f.View)
	b = putString(b, "state", string(f.State))
	b = putRaw(b, "input", f.Input)
	b = putRaw(b, "output", f.Output)
	b = putRaw(b, "display", f.Display)
	return putOptString(b, "error", f.Error)
}

func (f *Frame) appendToolTail(b []byte) []byte {
	if f.Progress != nil {
		b = putObject(b, "progress", f.Progress)
	}
	b = putID(b, "taskId", f.TaskID)
	b = putID(b, "approvalId", f.ApprovalID)
	b = putID(b, "todoId", f.TodoID)
	if len(f.AgentRefs) > 0 {
		b = append(name(b, "agentRefs"), '[')
		for _, r := range f.AgentRefs {
			b = append(r.AppendJSON(b), ',')
		}
		b = append(closeArray(b), ',')
	}
	if f.InputBlob != nil {
		b = putObject(b, "inputBlob", f.InputBlob)
	}
	if f.OutputBlob != nil {
		b = putObject(b, "outputBlob", f.OutputBlob)
	}
	return b
}

// AppendJSON writes what frame().AppendJSON would, without building it.
func (n *frameNode) AppendJSON(dst []byte) []byte {
	f := n.head
	if !n.moved {
		return f.AppendJSON(dst)
	}
	dst = putString(append(dst, '{'), "kind", string(f.Kind))
	dst = putString(dst, "frameId", f.FrameID)
	if f.Kind == FrameTool {
		dst = f.appendToolHead(dst)
		dst = append(n.text.appendQuoted(name(dst, "inputText")), ',')
		return closeObject(f.appendToolTail(dst))
	}
	if f.Kind == FrameText {
		dst = putString(dst, "role", string(f.Role))
	}
	dst = append(n.text.appendQuoted(name(dst, "text")), ',')
	return closeObject(f.appendTextTail(dst))
}

// appendQuoted appends the text as a JSON string.
func (g *grown) appendQuoted(b []byte) []byte {
	b = scan.AppendQuote(b, g.s)
	if g.high != 0 {
		b = append(utf8.AppendRune(b[:len(b)-1], utf8.RuneError), '"')
	}
	return b
}

// AppendJSON appends the progress.
func (p *Progress) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "kind", p.Kind)
	dst = putOptString(dst, "text", p.Text)
	dst = putOptNumber(dst, "percent", p.Percent)
	dst = putOptString(dst, "customKind", p.CustomKind)
	dst = putRaw(dst, "customData", p.CustomData)
	return closeObject(dst)
}

// AppendJSON appends the reference.
func (r AgentRef) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "agentId", r.AgentID)
	return closeObject(putID(dst, "role", r.Role))
}

// AppendJSON appends the reference.
func (r *BlobRef) AppendJSON(dst []byte) []byte {
	dst = putString(append(dst, '{'), "sha256", r.SHA256)
	dst = putInt(dst, "size", r.Size)
	return closeObject(putString(dst, "mediaType", r.MediaType))
}
