package codex

import (
	"fmt"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// calls are the tool calls of the file.
type calls struct {
	byID     map[string]*call
	early    map[string][]early // results that came before their call
	ends     []heldEnd          // ends whose call has not come
	told     []*call            // of the turn, whose end was told
	searches []search           // of the turn
	pending  int                // length of early
}

// early is a result before its call.
type early struct {
	res    result
	origin *importer.Origin
}

// call is the newest call of an id.
type call struct {
	name     string // as our events have it
	uses     int    // calls of this id so far
	answered bool
	told     bool     // an event told its end
	end      *heldEnd // as an event told it, until the result comes
}

// search is a web search.
type search struct {
	name   string
	action []byte
	event  string // id in its event; "" until that came
}

func newCalls() calls {
	return calls{byID: make(map[string]*call), early: make(map[string][]early)}
}

// call is a tool call in which the model says what it wants.
func (d *decoder) call(r *record) {
	name, args := r.Str("name"), r.object["input"]
	switch r.sub {
	case "function_call":
		name, args = qualified(r.Str("namespace"), name), arguments(r.object["arguments"])
	case "tool_search_call":
		name, args = "tool_search", arguments(r.object["arguments"])
	case "local_shell_call":
		name, args = "local_shell", r.object["action"]
	}
	id := r.Either("call_id", "id")
	if id == "" {
		r.out.Skip("tool call without an id: its result cannot be found")
		id = r.out.Origin().ID
	}
	d.begin(r, id, name, args)
}

// qualified is the name of a tool in a namespace.
func qualified(namespace, name string) string {
	switch {
	case namespace == "":
		return name
	case strings.HasSuffix(namespace, "__"):
		return namespace + name
	}
	return namespace + "." + name
}

// arguments are JSON in a string; what is no JSON stays a string.
func arguments(raw []byte) []byte {
	text, ok := scan.Unquote(raw)
	if !ok || scan.KindOf(raw) != scan.String {
		return raw
	}
	if inner := scan.Trim([]byte(text)); scan.Valid(inner) {
		return inner
	}
	return raw
}

// begin tells of a call in the running step.
func (d *decoder) begin(r *record, id, name string, args []byte) *call {
	return d.beginIn(r, d.needStep(r), id, name, args)
}

// beginIn tells of a call. An id that the file uses again gets a name of its
// own.
func (d *decoder) beginIn(r *record, s *step, id, name string, args []byte) *call {
	id = strings.Clone(id)
	c := &call{name: id, uses: 1}
	if before := d.calls.byID[id]; before != nil {
		c.uses += before.uses
	}
	d.calls.byID[id] = c
	if c.uses > 1 {
		c.name = fmt.Sprintf("%s#%d", id, c.uses)
	}
	if args == nil || scan.KindOf(args) == scan.Null {
		args = []byte("{}")
	}
	d.turns.asking[c.name] = true
	d.emit(r, "tool.call.started", s.fields().Str("toolCallId", c.name).
		Str("name", importer.First(name, "unknown")).Raw("args", importer.WithoutBytes(args)))
	d.release(r, id, c)
	return c
}

// release lets go what came before its call.
func (d *decoder) release(r *record, id string, c *call) {
	for i := 0; i < len(d.calls.ends); i++ {
		if h := d.calls.ends[i]; h.end.id == id {
			d.calls.ends = append(d.calls.ends[:i:i], d.calls.ends[i+1:]...)
			d.joined(r.from(h.origin), c, h.end)
			i--
		}
	}
	for _, x := range d.calls.early[id] {
		d.calls.pending--
		d.result(r.from(x.origin), c, x.res)
	}
	delete(d.calls.early, id)
}

// output is what a call gave.
func (d *decoder) output(r *record) {
	id := r.Str("call_id")
	raw := r.object["output"]
	if raw == nil {
		raw = r.object["tools"]
	}
	if id == "" {
		d.unused(r, "response_item."+r.sub, "tool result that names no call")
		return
	}
	res := resultOf(raw)
	if c := d.calls.byID[id]; c != nil {
		d.result(r, c, res)
		return
	}
	if d.calls.pending >= maxHeld {
		d.unused(r, "response_item."+r.sub, "tool result before its call, and too many wait already: "+id)
		return
	}
	d.calls.pending++
	id = strings.Clone(id)
	d.calls.early[id] = append(d.calls.early[id], early{res: res, origin: r.origin})
}

// result settles a call. How its program ended is known best from the event of
// that, where it came before.
func (d *decoder) result(r *record, c *call, res result) {
	if c.end != nil && c.end.end.known {
		res.failed = c.end.end.res.failed
	}
	c.answered = true
	c.end = nil
	delete(d.turns.asking, c.name)
	r.out.Event(d.draft(r, "tool.result", res.payload(c.name)))
}

// draft is an event whose payload is made already.
func (d *decoder) draft(r *record, kind string, payload []byte) importer.Draft {
	draft := importer.Draft{Agent: d.src.Agent, Type: kind, Payload: payload, SourceRun: d.run}
	if r.origin != r.out.Origin() {
		draft.Origin = r.origin
	}
	return draft
}

// waiting lists the results whose calls have not come.
func (c *calls) waiting() []importer.Finding {
	var all []importer.Finding
	for id, results := range c.early {
		for _, x := range results {
			all = append(all, importer.Finding{Line: x.origin.Line, Reason: "result of a tool call that is not in the file: " + id})
		}
	}
	for _, h := range c.ends {
		all = append(all, importer.Finding{Line: h.origin.Line, Reason: "end of a tool call that waits for the call, or for the end of the turn: " + h.end.id})
	}
	return all
}
