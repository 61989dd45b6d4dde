package codex

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// part is one entry of a message's content.
type part struct {
	object
	kind string
}

// partsOf reads a content: a string is one text, an object one entry. ok is
// false when it is neither that nor a list of objects.
func partsOf(content []byte) (parts []part, ok bool) {
	switch scan.KindOf(content) {
	case scan.String:
		return []part{{object: object{"text": content}, kind: "input_text"}}, true
	case scan.Object:
		o := importer.ObjectOf(content)
		return []part{{object: o, kind: o.Str("type")}}, true
	case scan.Array:
	default:
		return nil, false
	}
	list := scan.ArrayOf(content)
	for list.Next() {
		raw := list.Value()
		if scan.KindOf(raw) != scan.Object {
			return parts, false
		}
		o := importer.ObjectOf(raw)
		parts = append(parts, part{object: o, kind: o.Str("type")})
	}
	return parts, list.Err() == nil
}

// text is what the part says, "" when it is no text.
func (p part) text() string {
	switch strings.ToLower(p.kind) {
	case "input_text", "output_text", "text", "inputtext", "outputtext", "summary_text", "reasoning_text":
		return p.Str("text")
	case "refusal":
		return p.Str("refusal")
	}
	return ""
}

// isText says whether the part is nothing but text.
func (p part) isText() bool {
	switch strings.ToLower(p.kind) {
	case "input_text", "output_text", "text", "inputtext", "outputtext":
		return scan.KindOf(p.object["text"]) == scan.String
	}
	return false
}

// textOf joins the texts.
func textOf(parts []part) string {
	var texts []string
	for _, p := range parts {
		if t := p.text(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// attachments lists the images of a message as a JSON array, without their
// bytes; nil for none.
func attachments(parts []part) []byte {
	var list []byte
	for _, each := range parts {
		url := each.object["image_url"]
		if each.kind != "input_image" || !importer.IsText(url) {
			continue
		}
		var p importer.Fields
		p.Str("kind", "image")
		if media, size, ok := importer.DataURL(url); ok {
			p.Opt("mediaType", media).Int("size", size)
		} else {
			p.Raw("url", url)
		}
		list = append(append(list, ','), p.Object()...)
	}
	if list == nil {
		return nil
	}
	list[0] = '['
	return append(list, ']')
}

// outputOf is what a tool gave: text as a string, anything else as the JSON it
// is, without image bytes.
func outputOf(raw []byte) []byte {
	if scan.KindOf(raw) != scan.Array && scan.KindOf(raw) != scan.Object {
		return raw
	}
	parts, ok := partsOf(raw)
	for _, p := range parts {
		ok = ok && p.isText()
	}
	if !ok || len(parts) == 0 {
		return importer.WithoutBytes(raw)
	}
	return scan.AppendQuoteWTF8(nil, textOf(parts))
}

// context are the beginnings of texts that the program writes in the user's
// name, for the model only.
var context = [...]string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>",
	"<user_shell_command>", "<skill>", "<subagent_notification>", "<permissions instructions>", "<collaboration_mode>",
	"<codex_internal_context", "<personality_spec>", "<model_switch>", "<goal_context>", "<hook_prompt",
}

// shown is the text of a prompt as its author saw it; hidden tells that texts
// of the program were left out.
func shown(parts []part) (text string, hidden bool) {
	var texts []string
	for _, p := range parts {
		t := p.text()
		switch trimmed := strings.TrimSpace(t); {
		case trimmed == "", trimmed == "</image>", strings.HasPrefix(trimmed, "<image") && strings.HasSuffix(trimmed, ">") && !strings.Contains(trimmed, "\n"):
		case isContext(trimmed):
			hidden = true
		default:
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n"), hidden
}

func isContext(text string) bool {
	for _, begin := range context {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
