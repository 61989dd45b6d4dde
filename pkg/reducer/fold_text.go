package reducer

import (
	"bytes"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// deltaEvent folds assistant.delta and thinking.delta, nearly all events of a
// live session, without reading the payload into a table. It reports whether
// the event was one of them.
func (f *Fold) deltaEvent(ev *events.Event) bool {
	kind := FrameText
	switch ev.Type {
	case "assistant.delta":
	case "thinking.delta":
		kind = FrameThinking
	default:
		return false
	}
	var delta []byte
	var turn, step Opt[int]
	m := scan.ObjectOf(ev.Payload)
	for m.Next() {
		value := m.Value()
		var ok bool
		switch string(m.RawKey()) {
		case `"delta"`:
			delta, ok = value, value[0] == '"'
		case `"turnId"`:
			turn, ok = smallNumber(value)
		case `"step"`:
			step, ok = smallNumber(value)
			ok = ok && step.V > 0
		default:
			ok = bytes.IndexByte(m.RawKey(), '\\') < 0
		}
		if !ok {
			f.slowDelta(ev, kind)
			return true
		}
	}
	if delta == nil {
		f.slowDelta(ev, kind)
		return true
	}
	f.delta(kind, turn, step, delta)
	return true
}

// smallNumber reads a number of a turn or step as publishers write it.
func smallNumber(raw []byte) (n Opt[int], ok bool) {
	if len(raw) > 9 {
		return n, false
	}
	u, ok := scan.Uint64(raw)
	return Some(int(u)), ok
}

// slowDelta is deltaEvent for a payload with something unusual in it.
func (f *Fold) slowDelta(ev *events.Event, kind FrameKind) {
	p := f.payload(ev)
	text := p.required("delta")
	turn, step, ok := p.place()
	if ok && text.Set {
		f.delta(kind, turn, step, p.value("delta"))
	}
}

// delta grows the open frame of that kind, or opens one.
func (f *Fold) delta(kind FrameKind, turn, step Opt[int], raw []byte) {
	if len(raw) == len(`""`) {
		return
	}
	s := f.contentStep(turn, step)
	if s == nil {
		return
	}
	if s.loop && !step.Set {
		// The step has its message: this is the beginning of the next one.
		s = f.openStep(s.turn, s.turn.highest+1)
	}
	text, _ := scan.Unquote(raw)
	f.growText(s, kind, text)
}

// growText adds streamed text to the open frame of that kind; what does not
// fit into it opens another.
func (f *Fold) growText(s *foldStep, kind FrameKind, text string) {
	fr := s.open
	if fr == nil || fr.head.Kind != kind {
		fr = f.openFrame(s, kind)
	}
	text = fr.text.take(text)
	for {
		head, tail := cutText(text, maxText-fr.text.sb.Len())
		f.grow(fr, head)
		if tail == "" {
			return
		}
		high := fr.text.high
		fr.text.high = 0
		fr = f.openFrame(s, kind)
		fr.text.high = high
		text = tail
	}
}

// openFrame opens an empty frame that grows, and closes the one that did.
func (f *Fold) openFrame(s *foldStep, kind FrameKind) *foldFrame {
	f.flushStep(s)
	role := FrameRole("")
	if kind == FrameText {
		role = RoleAssistant
	}
	fr := f.newFrame(s, kind, role)
	f.putFrame(fr, *fr.head)
	s.open = fr
	f.open = append(f.open, fr)
	f.tallyStep(s)
	return fr
}

// assistantMessage folds assistant.message.
func (f *Fold) assistantMessage(p *foldPayload) { f.wholeMessage(p, FrameText) }

// thinkingMessage folds thinking.message.
func (f *Fold) thinkingMessage(p *foldPayload) { f.wholeMessage(p, FrameThinking) }

func (f *Fold) wholeMessage(p *foldPayload, kind FrameKind) {
	text := p.required("text")
	number, okNumber := p.ordinal("frame", 1)
	attachments := p.attachments()
	turn, step, ok := p.place()
	if !ok || !okNumber || !text.Set {
		return
	}
	s := f.contentStep(turn, step)
	if s == nil {
		return
	}
	w := whole{kind: kind, text: text.V, blob: f.blob("/text"), attachments: f.attach(s.turn, attachments)}
	w.frame = number
	f.putWhole(s, w)
}

// whole is an authoritative text of a step.
type whole struct {
	kind        FrameKind
	text        string
	blob        *BlobRef
	frame       Opt[int]
	attachments []string
}

// putWhole makes the step's frames of that kind hold the text, and closes
// them.
func (f *Fold) putWhole(s *foldStep, w whole) {
	frames, joined := s.textFrames(w.kind)
	var fr *foldFrame
	if len(frames) > 0 {
		fr = frames[len(frames)-1]
	}
	switch {
	case w.frame.Set && w.frame.V <= len(frames):
		fr = frames[w.frame.V-1]
		if w.blob == nil || !strings.HasPrefix(fr.whole(), w.text) {
			f.replaceText(fr, w.text)
		}
	case w.frame.Set:
		fr = f.addText(s, w.kind, w.text)
	case w.blob != nil && fr != nil && strings.HasPrefix(joined, w.text):
	case strings.HasPrefix(w.text, joined):
		fr = f.restOfText(s, w.kind, fr, w.text[len(joined):])
	default:
		f.replaceText(fr, w.text)
	}
	if fr == nil && len(w.attachments) > 0 {
		fr = f.addText(s, w.kind, "")
	}
	if fr != nil {
		f.closeFrame(fr, w)
	}
}

// closeFrame re-sends a frame whole, with what the message adds to it.
func (f *Fold) closeFrame(fr *foldFrame, w whole) {
	s := fr.step
	if s.open != nil && s.open != fr && s.open.head.Kind == w.kind {
		f.flushStep(s)
	}
	fr.text.high = 0 // the message is whole: half a character is not in it
	h := fr.now()
	if w.blob != nil {
		h.TextBlob = w.blob
	}
	if len(w.attachments) > 0 {
		h.AttachmentIDs = append(append([]string(nil), h.AttachmentIDs...), w.attachments...)
	}
	if s.open == fr {
		s.open = nil
		f.forget(fr)
		f.tallyStep(s)
	}
	f.putFrame(fr, h)
	fr.text = foldText{}
}

// restOfText adds what the frames do not hold yet: to the open frame, else to
// a new one.
func (f *Fold) restOfText(s *foldStep, kind FrameKind, last *foldFrame, rest string) *foldFrame {
	switch {
	case rest == "":
		return last
	case s.open == nil || s.open.head.Kind != kind:
		return f.addText(s, kind, rest)
	}
	s.open.text.high = 0
	f.growText(s, kind, rest)
	return s.open
}

// addText adds a frame for a whole text; the caller closes it.
func (f *Fold) addText(s *foldStep, kind FrameKind, text string) *foldFrame {
	f.flushStep(s)
	role := FrameRole("")
	if kind == FrameText {
		role = RoleAssistant
	}
	fr := f.newFrame(s, kind, role)
	f.replaceText(fr, text)
	return fr
}

// replaceText gives a frame another text; the caller closes it.
func (f *Fold) replaceText(fr *foldFrame, text string) {
	fr.text.reset(text)
	fr.growing = true
}

// textFrames returns the step's frames of that kind that count, and their text
// joined.
func (s *foldStep) textFrames(kind FrameKind) (frames []*foldFrame, joined string) {
	var sb strings.Builder
	for _, fr := range s.frames {
		if fr.head.Kind != kind || fr.void || fr.head.Role == RoleUser {
			continue
		}
		frames = append(frames, fr)
		sb.WriteString(fr.whole())
	}
	return frames, sb.String()
}

// whole returns the text of a text or thinking frame.
func (fr *foldFrame) whole() string {
	if fr.growing {
		return fr.text.String()
	}
	return fr.head.Text
}

// userMessage folds user.message.
func (f *Fold) userMessage(p *foldPayload) {
	text, task := p.required("text"), p.word("taskId")
	attachments := p.attachments()
	if !text.Set {
		return
	}
	s := p.where()
	if s == nil {
		return
	}
	f.flush()
	f.userText(s, text.V, task, f.blob("/text"), f.attach(s.turn, attachments))
}

// userText adds what a person, or a task on their behalf, said during a step.
func (f *Fold) userText(s *foldStep, text, task string, blob *BlobRef, attachments []string) {
	fr := f.newFrame(s, FrameText, RoleUser)
	h := *fr.head
	h.Text, h.TaskID, h.TextBlob, h.AttachmentIDs = text, task, blob, attachments
	f.putFrame(fr, h)
}

// blob returns what the envelope says was moved out of the payload at path.
func (f *Fold) blob(path string) *BlobRef {
	if f.ev == nil || f.ev.Blobs == nil {
		return nil
	}
	list, err := f.ev.BlobList()
	if err != nil {
		f.badField("blobs", "cannot be read: "+err.Error())
		return nil
	}
	for _, b := range list {
		if b.Path == path {
			return &BlobRef{SHA256: strings.Clone(b.SHA256), Size: b.Size, MediaType: strings.Clone(b.MediaType)}
		}
	}
	return nil
}
