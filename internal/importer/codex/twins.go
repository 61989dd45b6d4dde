package codex

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
)

// The kinds of texts that stand twice.
const (
	userText    = "user"
	agentText   = "agent"
	thoughtText = "thought"
)

// texts joins the two copies of each text: the item, which is taken, and the
// event. An event whose item has not come by the end of the turn stood alone.
type texts struct {
	said  map[string]int // kind and text of items whose event has not come
	users []string       // texts of prompts
	held  []heldText
}

type heldText struct {
	kind, text string
	origin     *importer.Origin
}

func textKey(kind, text string) string { return kind + "\n" + strings.TrimSpace(text) }

// say takes an item.
func (x *texts) say(kind, text string) {
	if !x.meets(kind, text) {
		x.note(kind, text)
	}
}

// meets says whether an event waits for the item; that has its twin then.
func (x *texts) meets(kind, text string) bool {
	for i, h := range x.held {
		if h.kind == kind && same(h, text) {
			x.held = append(x.held[:i:i], x.held[i+1:]...)
			return true
		}
	}
	return false
}

// note remembers an item whose event may come.
func (x *texts) note(kind, text string) {
	if kind == userText {
		x.users = append(x.users, text)
		return
	}
	x.said[textKey(kind, text)]++
}

// same compares an event with an item. The item of a prompt may have more in
// it than what its author wrote.
func same(h heldText, text string) bool {
	if h.kind == userText {
		return strings.Contains(text, strings.TrimSpace(h.text))
	}
	return textKey(h.kind, h.text) == textKey(h.kind, text)
}

// heard takes an event's text and says whether its item came before.
func (x *texts) heard(h heldText) bool {
	if h.kind == userText {
		for i, text := range x.users {
			if same(h, text) {
				x.users = append(x.users[:i:i], x.users[i+1:]...)
				return true
			}
		}
		return false
	}
	key := textKey(h.kind, h.text)
	if x.said[key] == 0 {
		return false
	}
	x.said[key]--
	return true
}

// prompt is the first prompt that waits for its item; nil when none does.
func (x *texts) prompt() *heldText {
	for i := range x.held {
		if x.held[i].kind == userText {
			return &x.held[i]
		}
	}
	return nil
}

// cutPrompt takes out the prompt that was heard last, when nothing was heard
// after it: it is the prompt of the turn that comes.
func (x *texts) cutPrompt() []heldText {
	last := len(x.held) - 1
	if last < 0 || x.held[last].kind != userText {
		return nil
	}
	prompt := []heldText{x.held[last]}
	x.held = x.held[:last]
	return prompt
}

func (x *texts) waiting() []importer.Finding {
	var all []importer.Finding
	for _, h := range x.held {
		all = append(all, importer.Finding{Line: h.origin.Line, Reason: "text of an event that waits for its response item, or for the end of the turn"})
	}
	return all
}

// maxHeld bounds what waits for its other half.
const maxHeld = 10_000

// twin is the event of a text.
func (d *decoder) twin(r *record, sub, text string) {
	h := heldText{kind: agentText, text: strings.Clone(text), origin: r.origin}
	switch sub {
	case "user_message":
		h.kind = userText
	case "agent_reasoning", "agent_reasoning_raw_content":
		h.kind = thoughtText
	}
	if strings.TrimSpace(text) == "" || isContext(strings.TrimSpace(text)) || d.texts.heard(h) {
		return
	}
	if h.kind == userText && d.texts.prompt() != nil {
		d.settle(r) // the prompt before this one has no item
	}
	if len(d.texts.held) >= maxHeld {
		d.unused(r, "event_msg."+sub, "too many events wait for their response items")
		return
	}
	d.texts.held = append(d.texts.held, h)
}

// settle ends the wait for twins: what stands alone is taken.
func (d *decoder) settle(r *record) {
	held := d.texts.held
	d.texts.held, d.texts.users = nil, nil
	clear(d.texts.said)
	for _, h := range held {
		at := r.from(h.origin)
		switch h.kind {
		case userText:
			d.prompt(at, h.text, nil, userOrigin())
		case agentText:
			d.speak(at, h.text)
		case thoughtText:
			d.think(at, h.text)
		}
	}
	d.settleEnds(r)
}
