package kimi

import (
	"fmt"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// call is a tool call: of 1.0, name and arguments are nested in function.
func (d *decoder) call(r *record, s *step, e importer.Object) {
	fn := e.Object("function")
	id := importer.First(e.Str("toolCallId"), e.Str("id"), e.Str("uuid"))
	if id == "" {
		d.bare++
		id = fmt.Sprintf("r%d.%d", r.out.Origin().Index, d.bare)
	}
	name := d.calls.Begin(id)
	args := firstOf(e["args"], e["arguments"], fn["arguments"])
	if args == nil {
		args = []byte("{}")
	}
	tool := importer.First(e.Str("name"), fn.Str("name"), "unknown")
	r.emit(events.TypeToolCallStarted, s.fields().Str("toolCallId", name).Str("name", tool).
		Raw("args", importer.WithoutBytes(args)).Raw("display", importer.WithoutBytes(e["display"])))
	if tool == "Agent" {
		d.asked[name] = askedBy(importer.ObjectOf(args))
	}
	d.calls.Release(r.out, id)
}

func firstOf(values ...[]byte) []byte {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// result settles a tool call; one that comes before its call waits for it.
func (d *decoder) result(r *record, id string, output []byte, isError bool) {
	if id == "" {
		r.out.Skip("tool result that names no call")
		r.pass("tool.result")
		return
	}
	known := d.calls.Result(r.out, id, func(name string) importer.Draft {
		var p importer.Fields
		p.Str("toolCallId", name).Raw("output", output)
		if isError {
			p.Bool("isError", true)
		}
		return importer.Draft{Agent: r.agent, Type: events.TypeToolResult, Payload: p.Object()}
	})
	if known {
		d.reported(r, d.calls.Name(id), output, isError)
	}
}
