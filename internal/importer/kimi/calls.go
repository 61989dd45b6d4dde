package kimi

import (
	"fmt"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// calls are the tool calls of a log. The source's ids are unique in it, or
// nearly so: an id that it uses again gets a name of its own.
type calls struct {
	times map[string]int    // by the source's id
	named map[string]string // the newest call of it
	open  map[string]bool   // calls of the turn that are not answered
	agent map[string]*asked // calls that ask for a sub-agent, by their name
	spawn map[string]bool   // sub-agents that a record announced
	held  map[string][]importer.Draft
	holds int
}

func newCalls() calls {
	return calls{
		times: make(map[string]int), named: make(map[string]string),
		open: make(map[string]bool), agent: make(map[string]*asked), spawn: make(map[string]bool), held: make(map[string][]importer.Draft),
	}
}

func (c *calls) newTurn()     { clear(c.open) }
func (c *calls) asking() bool { return len(c.open) > 0 }

func (c *calls) findings() []importer.Finding {
	var all []importer.Finding
	for id, results := range c.held {
		for _, h := range results {
			all = append(all, importer.Finding{Line: h.Origin.Line, Reason: "result of a tool call that is not in the file: " + id})
		}
	}
	return all
}

// call is a tool call: of 1.0, name and arguments are nested in function.
func (d *decoder) call(r *record, s *step, e importer.Object) {
	c := &d.calls
	fn := e.Object("function")
	id := strings.Clone(importer.First(e.Str("toolCallId"), e.Str("id"), e.Str("uuid")))
	if id == "" {
		id = fmt.Sprintf("r%d.%d", r.out.Origin().Index, len(c.times))
	}
	c.times[id]++
	name := id
	if n := c.times[id]; n > 1 {
		name = fmt.Sprintf("%s#%d", id, n)
	}
	c.named[id] = name
	c.open[name] = true
	args := firstOf(e["args"], e["arguments"], fn["arguments"])
	if args == nil {
		args = []byte("{}")
	}
	r.emit(events.TypeToolCallStarted, s.fields().Str("toolCallId", name).
		Str("name", importer.First(e.Str("name"), fn.Str("name"), "unknown")).
		Raw("args", importer.WithoutBytes(args)).Raw("display", importer.WithoutBytes(e["display"])))
	if e.Str("name") == "Agent" {
		c.agent[name] = askedBy(importer.ObjectOf(args))
	}
	for _, draft := range c.held[id] {
		r.out.Event(draft)
		c.holds--
		delete(c.open, name)
	}
	delete(c.held, id)
}

func firstOf(values ...[]byte) []byte {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// maxHeld bounds the results that wait for their calls.
const maxHeld = 10_000

// result settles a tool call; one that comes before its call waits for it.
func (d *decoder) result(r *record, id string, output []byte, isError bool) {
	c := &d.calls
	if id == "" {
		r.out.Skip("tool result that names no call")
		r.pass("tool.result")
		return
	}
	name, known := c.named[id]
	if !known {
		name = id
	}
	var p importer.Fields
	p.Str("toolCallId", name).Raw("output", output)
	if isError {
		p.Bool("isError", true)
	}
	draft := importer.Draft{Agent: r.agent, Type: events.TypeToolResult, Payload: p.Object()}
	if known {
		delete(c.open, name)
		r.out.Event(draft)
		d.reported(r, name, output, isError)
		return
	}
	if c.holds >= maxHeld {
		r.out.Skip("tool result before its call, and too many wait already: " + id)
		return
	}
	c.holds++
	draft.Origin = r.out.Origin()
	id = strings.Clone(id)
	c.held[id] = append(c.held[id], draft)
}
