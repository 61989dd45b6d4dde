package kimilegacy

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// partial is a tool call whose arguments are still coming.
type partial struct {
	step *step
	id   string // the source's
	name string
	tool string
	args []byte
}

// call is a tool call, or its beginning.
func (a *agent) call(r *record, c importer.Object) {
	a.whole(r)
	s := a.needStep(r)
	fn := c.Object("function")
	id := c.Str("id")
	if id == "" {
		a.bare++
		id = fmt.Sprintf("r%d.%d", r.out.Origin().Index, a.bare)
	}
	a.partial = &partial{
		step: s, id: strings.Clone(id), name: a.calls.Begin(id),
		tool: strings.Clone(importer.First(fn.Str("name"), c.Str("name"), "unknown")),
	}
	args := fn["arguments"]
	if args == nil {
		args = c["arguments"]
	}
	if scan.KindOf(args) == scan.Object {
		a.partial.args = args
		a.whole(r)
		return
	}
	text, _ := scan.Unquote(args)
	a.grow(r, text)
}

// callPart is a further piece of the arguments of the newest call.
func (a *agent) callPart(r *record) {
	if a.partial == nil {
		r.out.Skip("a part of a tool call that is not there or was whole")
		r.pass(r.kind)
		return
	}
	a.grow(r, r.Str("arguments_part"))
}

// grow adds a piece of arguments. The call begins when they are whole.
func (a *agent) grow(r *record, part string) {
	p := a.partial
	first := p.args == nil
	p.args = append(p.args, part...)
	if whole := bytes.TrimSpace(p.args); bytes.HasSuffix(whole, []byte("}")) && scan.Valid(whole) {
		a.whole(r)
		return
	}
	if part != "" || first {
		r.emit(events.TypeToolCallDelta, p.step.fields().Str("toolCallId", p.name).Str("name", p.tool).Str("argumentsPart", part))
	}
}

// whole begins the call whose arguments came in parts: what follows them shows
// that there are no more.
func (a *agent) whole(r *record) {
	p := a.partial
	if p == nil {
		return
	}
	a.partial = nil
	args := bytes.TrimSpace(p.args)
	switch {
	case len(args) == 0:
		args = []byte("{}")
	case !scan.Valid(args):
		args = scan.AppendQuoteWTF8(nil, string(p.args))
	}
	r.emit(events.TypeToolCallStarted, p.step.fields().Str("toolCallId", p.name).Str("name", p.tool).Raw("args", importer.WithoutBytes(args)))
	if p.tool == "Agent" || p.tool == "Task" {
		a.asked[p.name] = askedBy(args)
	}
	a.calls.Release(r.out, p.id)
}

// toolResult settles a call of the wire.
func (d *decoder) toolResult(r *record) {
	a := r.a
	id := r.Str("tool_call_id")
	value := r.Object.Object("return_value")
	if len(value) == 0 {
		value = r.Object.Object("result")
	}
	if a.partial != nil && a.partial.id == id {
		a.whole(r)
	}
	d.result(r, id, output(value), value.Flag("is_error"))
}

// output is what a tool returned. Its message is for the model, except where
// nothing else tells what went wrong.
func output(value importer.Object) []byte {
	out, message := importer.OutputOf(value["output"]), value["message"]
	if text, ok := scan.Unquote(out); ok && importer.IsText(message) {
		switch {
		case text == "":
			return message
		case value.Flag("is_error"):
			more, _ := scan.Unquote(message)
			return scan.AppendQuoteWTF8(nil, strings.TrimRight(text, "\n")+"\n"+more)
		}
	}
	return out
}

func (d *decoder) result(r *record, id string, output []byte, isError bool) {
	a := r.a
	if id == "" {
		r.out.Skip("tool result that names no call")
		r.pass("tool")
		return
	}
	known := a.calls.Result(r.out, id, func(name string) importer.Draft {
		var p importer.Fields
		p.Str("toolCallId", name).Raw("output", output)
		if isError {
			p.Bool("isError", true)
		}
		return importer.Draft{Agent: a.id, Type: events.TypeToolResult, Payload: p.Object()}
	})
	if known {
		a.reported(r, a.calls.Name(id), output, isError)
	}
}
