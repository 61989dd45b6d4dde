package claudecode

import (
	"strconv"
	"strings"

	"github.com/stenohq/steno/internal/importer"
)

// sidecar records repeat at every turn; they count when they say something
// new. Titles were taken by start.
func (d *decoder) sidecar(r *record) {
	if r.kind == "permission-mode" {
		r.a.permissions(r, r.Str("permissionMode"))
	}
}

// queue follows the prompts that wait: first in, first out.
func (d *decoder) queue(r *record) {
	a := r.a
	var p importer.Fields
	switch op := r.Str("operation"); {
	case op == "enqueue":
		a.prompts++
		id := "q" + strconv.Itoa(a.prompts)
		a.queued = append(a.queued, id)
		p.Str("promptId", id).Str("status", "queued").Raw("content", importer.WithoutBytes(r.object["content"]))
		r.emit("prompt.submitted", &p)
	case len(a.queued) == 0:
		r.pass("queue-operation." + op)
	case op == "popAll":
		for _, id := range a.queued {
			var each importer.Fields
			r.emit("prompt.aborted", each.Str("promptId", id))
		}
		a.queued = nil
	case op == "dequeue":
		r.emit("prompt.completed", p.Str("promptId", a.queued[0]).Str("reason", "completed"))
		a.queued = a.queued[1:]
	case op == "remove":
		r.emit("prompt.aborted", p.Str("promptId", a.queued[0]))
		a.queued = a.queued[1:]
	default:
		r.pass("queue-operation." + op)
	}
}

// attachment records are what the program put before the model. A prompt that
// was queued while the turn ran is the one that people see.
func (d *decoder) attachment(r *record) {
	body := r.Object("attachment")
	switch sub := body.Str("type"); sub {
	case "queued_command":
		blocks, ok := blocksOf(body["prompt"])
		if !ok {
			r.unused("attachment."+sub, "queued prompt without readable content")
			return
		}
		if r.a.step == nil || !r.a.step.open {
			r.pass("attachment." + sub)
			return
		}
		r.a.aside(r, textOf(blocks), attachments(blocks))
	case "plan_mode", "plan_mode_reentry":
		r.a.planning(r, true)
		r.pass("attachment." + sub)
	case "plan_mode_exit":
		r.a.planning(r, false)
		r.pass("attachment." + sub)
	case "hook_blocking_error":
		var p importer.Fields
		p.Opt("event", body.Str("hookEvent")).Opt("hookName", body.Str("hookName")).Raw("blockingError", body["blockingError"])
		r.emit("hook.result", &p)
	case "":
		r.pass("attachment")
	default:
		r.pass("attachment." + sub)
	}
}

// progress is what a running tool call shows.
func (d *decoder) progress(r *record) {
	a := r.a
	data := r.Object("data")
	sub := data.Str("type")
	id := importer.First(r.Str("parentToolUseID"), r.Str("toolUseID"))
	name, known := a.named[id]
	if !known {
		r.pass("progress." + sub)
		return
	}
	var update importer.Fields
	switch sub {
	case "hook_progress":
		update.Str("kind", "status").Str("text", importer.First(data.Str("hookName"), data.Str("hookEvent"), "hook"))
	case "bash_progress":
		update.Str("kind", "stdout").Raw("text", firstText(data["output"], data["fullOutput"]))
	case "agent_progress":
		d.agentProgress(r, name, data)
		update.Str("kind", "status").Str("text", strings.TrimSpace("agent "+data.Str("agentId")))
	default:
		update.Str("kind", "custom").Str("customKind", importer.First(sub, "progress")).Raw("customData", importer.WithoutBytes(r.object["data"]))
	}
	var p importer.Fields
	r.emit("tool.progress", p.Str("toolCallId", name).Raw("update", update.Object()))
}

func firstText(texts ...[]byte) []byte {
	for _, t := range texts {
		if importer.IsText(t) {
			return t
		}
	}
	return quoted("")
}
