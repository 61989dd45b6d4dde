package claudecode

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// results settles tool calls.
func (d *decoder) results(r *record, blocks []block) {
	for _, b := range blocks {
		if b.kind == "tool_result" {
			d.result(r, b)
		}
	}
	r.a.last = r.now()
}

func (d *decoder) result(r *record, b block) {
	a := r.a
	id := b.Str("tool_use_id")
	if id == "" {
		id = a.bareCall(r.Str("sourceToolAssistantUUID"))
		if id == "" {
			r.out.Skip("tool result that names no call")
			r.pass("user.tool_result")
			return
		}
	}
	name, known := a.named[id]
	if !known {
		name = id
	}
	var p importer.Fields
	p.Str("toolCallId", name).Raw("output", outputOf(b))
	if b.Flag("is_error") {
		p.Bool("isError", true)
	}
	draft := importer.Draft{Agent: a.id, Type: "tool.result", Payload: p.Object(), SourceRun: a.run}
	if known {
		delete(a.asking, name)
		r.out.Event(draft)
		d.taskResult(r, name, b)
		return
	}
	draft.Origin = r.out.Origin()
	a.hold(r, strings.Clone(id), draft)
}

// maxHeld bounds the results that wait for their calls.
const maxHeld = 10_000

func (a *agent) hold(r *record, id string, draft importer.Draft) {
	if a.holds >= maxHeld {
		r.out.Skip("tool result before its call, and too many wait already: " + id)
		return
	}
	a.holds++
	a.held[id] = append(a.held[id], draft)
}

// release lets the results go that came before their call.
func (a *agent) release(r *record, id string) {
	for _, draft := range a.held[id] {
		r.out.Event(draft)
		a.holds--
		delete(a.asking, a.named[id])
	}
	delete(a.held, id)
}

// bareCall finds the call that a result without an id answers: the oldest one
// of the record it names, else the oldest of all.
func (a *agent) bareCall(uuid string) string {
	from := a.byUUID[uuid]
	if len(from) == 0 {
		from = a.bare
	}
	if len(from) == 0 {
		return ""
	}
	id := from[0]
	for key, ids := range a.byUUID {
		if len(ids) > 0 && ids[0] == id {
			a.byUUID[key] = ids[1:]
		}
	}
	for i, other := range a.bare {
		if other == id {
			a.bare = append(a.bare[:i:i], a.bare[i+1:]...)
			break
		}
	}
	return id
}

// outputOf is a result's content: text as a string, anything else as the JSON
// it is, without image bytes.
func outputOf(b block) []byte {
	content := b.object["content"]
	if content == nil {
		return []byte(`""`)
	}
	if scan.KindOf(content) != scan.Array {
		return content
	}
	blocks, ok := blocksOf(content)
	if !ok {
		return importer.WithoutBytes(content)
	}
	for _, each := range blocks {
		if each.kind != "text" {
			return importer.WithoutBytes(content)
		}
	}
	return quoted(textOf(blocks))
}
