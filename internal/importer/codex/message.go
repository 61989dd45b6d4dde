package codex

import (
	"fmt"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// message is a message of the conversation.
func (d *decoder) message(r *record) {
	parts, ok := partsOf(r.object["content"])
	role := r.Str("role")
	switch {
	case !ok:
		d.unused(r, "response_item.message", "message without readable content")
	case role == "assistant":
		d.answer(r, parts)
	case role == "user":
		text, hidden := shown(parts)
		files := attachments(parts)
		if hidden || text == "" && files == nil {
			d.pass(r, "response_item.message.context")
		}
		if text != "" || files != nil {
			met := d.texts.meets(userText, text)
			d.prompt(r, text, files, userOrigin())
			if !met {
				d.texts.note(userText, text)
			}
		}
	default:
		d.pass(r, "response_item.message."+importer.First(role, "other"))
	}
}

func userOrigin() []byte { return []byte(`{"kind":"user"}`) }

// mail is a message of another agent: what it says is for this one to do.
func (d *decoder) mail(r *record) {
	parts, ok := partsOf(r.object["content"])
	text := textOf(parts)
	if !ok || text == "" {
		d.pass(r, "response_item.agent_message")
		return
	}
	var origin importer.Fields
	origin.Str("kind", "other").Str("source", "agent").Opt("author", r.Str("author"))
	d.prompt(r, text, nil, origin.Object())
}

// prompt opens a turn, unless one runs that has a task: then it is its prompt,
// or what was said while it ran.
func (d *decoder) prompt(r *record, text string, files, origin []byte) {
	t := &d.turns
	var p importer.Fields
	switch {
	case t.waiting == nil && t.open && t.tasked && t.prompted && t.steps > 0:
		d.aside(r, text, files)
		return
	case t.waiting == nil && t.open && t.tasked:
		if t.prompted {
			text = t.prompt + "\n" + text
		}
		d.emit(r, "turn.started", p.Str("prompt", text).Raw("attachments", files).Raw("origin", origin).Int("turnId", t.turn))
	default:
		if t.waiting == nil {
			d.closeTurn(r)
		}
		d.openTurn(r, p.Str("prompt", text).Raw("attachments", files).Raw("origin", origin))
	}
	t.prompt, t.prompted = text, true
}

// aside is text that steers a running turn.
func (d *decoder) aside(r *record, text string, files []byte) {
	var p importer.Fields
	p.Int("turnId", d.turns.turn)
	if s := d.turns.step; s != nil {
		p.Int("step", s.number)
	}
	d.emit(r, "user.message", p.Str("text", text).Raw("attachments", files))
}

// answer is what the model said.
func (d *decoder) answer(r *record, parts []part) {
	said := false
	for _, each := range parts {
		if text := each.text(); text != "" {
			said = true
			d.texts.say(agentText, text)
			d.speak(r, text)
		}
	}
	if !said {
		d.pass(r, "response_item.message.assistant")
	}
}

func (d *decoder) speak(r *record, text string) {
	s := d.needStep(r)
	s.texts++
	d.emit(r, "assistant.message", s.fields().Str("text", text).Raw("frame", frame(s.texts)))
}

func (d *decoder) think(r *record, text string) {
	s := d.needStep(r)
	s.thinks++
	d.emit(r, "thinking.message", s.fields().Str("text", text).Raw("frame", frame(s.thinks)))
}

// frame names a further text of a step; the first one needs no name.
func frame(n int) []byte {
	if n < 2 {
		return nil
	}
	return fmt.Appendf(nil, "%d", n)
}

// reasoning is what the model thought: its summary, else the thoughts where
// they are readable. It begins a step even when it shows nothing.
func (d *decoder) reasoning(r *record) {
	d.needStep(r)
	parts := reasoningParts(r.object["summary"])
	if len(parts) == 0 {
		parts = reasoningParts(r.object["content"])
	}
	for _, text := range parts {
		d.texts.say(thoughtText, text)
		d.think(r, text)
	}
}

func reasoningParts(raw []byte) []string {
	if scan.KindOf(raw) == scan.Object {
		return nil
	}
	parts, _ := partsOf(raw)
	var texts []string
	for _, p := range parts {
		if text := p.text(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
