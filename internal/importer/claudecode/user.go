package claudecode

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
)

// interrupted begins the text that stands in the file when a user stopped a
// turn.
const interrupted = "[Request interrupted by user"

func (d *decoder) user(r *record) {
	message := r.Object("message")
	blocks, ok := blocksOf(message["content"])
	if !ok {
		r.unused("user", "user record without readable content")
		return
	}
	a := r.a
	if r.Flag("isCompactSummary") {
		a.compacted(r, textOf(blocks))
		return
	}
	a.permissions(r, r.Str("permissionMode"))
	text := textOf(blocks)
	switch {
	case hasResults(blocks):
		d.results(r, blocks)
		if strings.HasPrefix(text, interrupted) {
			a.interrupt(r)
		} else if text != "" {
			a.aside(r, text, attachments(blocks))
		}
	case r.Flag("isMeta") || r.Flag("isVisibleInTranscriptOnly"):
		r.pass("user.meta")
	case strings.HasPrefix(text, interrupted):
		a.interrupt(r)
	case len(blocks) == 0:
		r.pass("user.empty")
	default:
		d.prompt(r, blocks)
	}
}

func hasResults(blocks []block) bool {
	for _, b := range blocks {
		if b.kind == "tool_result" {
			return true
		}
	}
	return false
}

// prompt is what a person, or something in their place, said: a turn, unless
// it belongs to the prompt that opened the current one.
func (d *decoder) prompt(r *record, blocks []block) {
	a := r.a
	text, context := shown(blocks)
	files := attachments(blocks)
	if context {
		r.pass("user.context")
	}
	if id := r.Str("promptId"); id == "" || id != a.prompt || a.turn < 0 || a.fresh {
		a.prompt, a.text = strings.Clone(id), text
		var p importer.Fields
		p.Str("prompt", text).Raw("attachments", files).Raw("origin", origin(r))
		a.startTurn(r, &p)
		return
	}
	if a.step != nil && a.step.open {
		a.aside(r, text, files)
		return
	}
	a.text += "\n" + text
	a.needTurn(r)
	var p importer.Fields
	r.emit("turn.started", p.Int("turnId", a.turn).Str("prompt", a.text).Raw("attachments", files))
}

// aside is text that steers a running turn.
func (a *agent) aside(r *record, text string, files []byte) {
	var p importer.Fields
	if a.turn >= 0 {
		p.Int("turnId", a.turn)
	}
	if a.step != nil {
		p.Int("step", a.step.number)
	}
	r.emit("user.message", p.Str("text", text).Raw("attachments", files))
	a.last = r.now()
}

// origin says who asked when it was not the user.
func origin(r *record) []byte {
	given := r.Object("origin").Str("kind")
	var p importer.Fields
	switch given {
	case "", "human", "cli", "user":
		return p.Str("kind", "user").Object()
	case "task-notification", "teammate", "coordinator":
		p.Str("kind", "other")
	default:
		p.Str("kind", "user")
	}
	return p.Str("source", given).Object()
}

// wrappers are blocks that the program adds to a prompt and does not show.
var wrappers = []string{"ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder"}

// shown is the text of a prompt as its author saw it; hidden tells that blocks
// were left out.
func shown(blocks []block) (text string, hidden bool) {
	var parts []string
	for _, b := range blocks {
		if b.kind != "text" {
			continue
		}
		t := b.Str("text")
		if wrapped(t) {
			hidden = true
			continue
		}
		if t != "" {
			parts = append(parts, command(t))
		}
	}
	if len(parts) == 0 && hidden {
		return textOf(blocks), false
	}
	return strings.Join(parts, "\n"), hidden
}

func wrapped(t string) bool {
	t = strings.TrimSpace(t)
	for _, tag := range wrappers {
		if strings.HasPrefix(t, "<"+tag+">") && strings.HasSuffix(t, "</"+tag+">") {
			return true
		}
	}
	return false
}

// command turns the tags of a slash command back into what was typed.
func command(t string) string {
	name, ok := tagged(t, "command-name")
	if !ok || !strings.HasPrefix(strings.TrimSpace(t), "<command-") {
		return t
	}
	args, _ := tagged(t, "command-args")
	return strings.TrimSpace(name + " " + args)
}

func tagged(t, tag string) (string, bool) {
	_, rest, ok := strings.Cut(t, "<"+tag+">")
	if !ok {
		return "", false
	}
	return cutTag(rest, tag)
}

func cutTag(rest, tag string) (string, bool) {
	text, _, ok := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(text), ok
}
