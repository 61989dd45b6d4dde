package importer

import (
	"fmt"
	"strings"
)

// maxHeld bounds the results that wait for their calls.
const maxHeld = 10_000

// Calls are the tool calls of one agent's log. An id that the source uses
// again gets a name of its own, and a result that comes before its call waits
// for it.
type Calls struct {
	times map[string]int    // by the source's id
	named map[string]string // the newest call of it
	open  map[string]bool   // calls of the turn that are not answered
	held  map[string][]Draft
	holds int
}

// NewCalls begins a log.
func NewCalls() *Calls {
	return &Calls{
		times: make(map[string]int), named: make(map[string]string),
		open: make(map[string]bool), held: make(map[string][]Draft),
	}
}

// NewTurn forgets what the turn before has left open.
func (c *Calls) NewTurn() { clear(c.open) }

// Asking says whether a call of the turn is not answered.
func (c *Calls) Asking() bool { return len(c.open) > 0 }

// Name is that of the newest call of an id; "" when there is none.
func (c *Calls) Name(id string) string { return c.named[id] }

// Begin names a new call.
func (c *Calls) Begin(id string) string {
	id = strings.Clone(id)
	c.times[id]++
	name := id
	if n := c.times[id]; n > 1 {
		name = fmt.Sprintf("%s#%d", id, n)
	}
	c.named[id] = name
	c.open[name] = true
	return name
}

// Release lets the results go that came before their call.
func (c *Calls) Release(out *Output, id string) {
	for _, draft := range c.held[id] {
		out.Event(draft)
		c.holds--
		delete(c.open, c.named[id])
	}
	delete(c.held, id)
}

// Result settles a call with the event that make builds for its name, and
// reports whether the call is known.
func (c *Calls) Result(out *Output, id string, build func(name string) Draft) bool {
	name, known := c.named[id]
	if known {
		delete(c.open, name)
		out.Event(build(name))
		return true
	}
	if c.holds >= maxHeld {
		out.Skip("tool result before its call, and too many wait already: " + id)
		return false
	}
	c.holds++
	id = strings.Clone(id)
	draft := build(id)
	draft.Origin = out.Origin()
	c.held[id] = append(c.held[id], draft)
	return false
}

// Findings lists the results that wait.
func (c *Calls) Findings() []Finding {
	var all []Finding
	for id, results := range c.held {
		for _, h := range results {
			all = append(all, Finding{Line: h.Origin.Line, Reason: "result of a tool call that is not in the file: " + id})
		}
	}
	return all
}
