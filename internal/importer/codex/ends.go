package codex

import (
	"bytes"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// end is what an event tells of a tool call: how it ended, and what is needed
// to show the call when it stands nowhere else.
type end struct {
	kind   string
	id     string
	name   string
	args   []byte
	res    result
	known  bool   // it tells whether the call failed
	begins bool   // it tells only that the call began
	facts  []byte // what stands nowhere else, as tool.progress shows it
}

type heldEnd struct {
	end    end
	origin *importer.Origin
}

// endOf reads an event of a tool call. ok is false for other events.
func endOf(r *record) (e end, ok bool) {
	e = end{kind: r.sub, id: r.Either("call_id", "callId")}
	switch r.sub {
	case "exec_command_end":
		e.exec(r.object)
	case "patch_apply_end":
		e.patch(r.object)
	case "mcp_tool_call_end":
		e.mcp(r.object)
	case "web_search_end":
		e.name, e.args, e.res.output = "web_search", r.object["action"], nonEmpty(r.object["results"])
		if e.args == nil {
			var p importer.Fields
			e.args = p.Opt("query", r.Str("query")).Object()
		}
	case "image_generation_end":
		e.picture(r.object)
	case "view_image_tool_call":
		var p importer.Fields
		e.name, e.args = "view_image", p.Opt("path", r.Str("path")).Object()
	case "dynamic_tool_call_request":
		e.name, e.args, e.begins = qualified(r.Str("namespace"), r.Str("tool")), r.object["arguments"], true
	case "dynamic_tool_call_response":
		e.name, e.args = qualified(r.Str("namespace"), r.Str("tool")), r.object["arguments"]
		e.res = resultOf(r.object["content_items"])
		e.fails(!r.Flag("success"))
	case "collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end", "collab_close_end", "collab_resume_end":
		e.collab(r.object)
	default:
		return e, false
	}
	return e, e.id != ""
}

func (e *end) fails(failed bool) { e.known, e.res.failed = true, failed }

func (e *end) exec(o object) {
	var args, facts importer.Fields
	e.name, e.args = "exec_command", args.Raw("command", o["command"]).Raw("cwd", o["cwd"]).Object()
	for _, name := range [...]string{"aggregated_output", "formatted_output", "stdout"} {
		if e.res.output == nil && importer.IsText(o[name]) {
			e.res.output = o[name]
		}
	}
	if code, ok := scan.Int64(o["exit_code"]); ok {
		e.fails(code != 0)
	} else if status := o.Str("status"); status == "failed" || status == "declined" {
		e.fails(true)
	}
	e.facts = facts.Raw("exit_code", o["exit_code"]).Raw("duration", o["duration"]).Raw("status", o["status"]).
		Raw("command", o["command"]).Raw("cwd", o["cwd"]).Raw("source", o["source"]).Raw("process_id", o["process_id"]).Object()
}

func (e *end) patch(o object) {
	var args, facts importer.Fields
	e.name, e.args = "apply_patch", args.Raw("changes", o["changes"]).Object()
	e.res.output = o["stdout"]
	success, told := scan.BoolOf(o["success"])
	if told {
		e.fails(!success)
	} else if o.Str("status") == "failed" {
		e.fails(true)
	}
	if e.res.failed && importer.IsText(o["stderr"]) {
		e.res.output = o["stderr"]
	}
	e.facts = facts.Raw("success", o["success"]).Raw("status", o["status"]).Raw("changes", o["changes"]).Object()
}

func (e *end) mcp(o object) {
	call := o.Object("invocation")
	if len(call) == 0 {
		call = o // an item has it all in one
	}
	e.name, e.args = qualified(call.Str("server"), call.Str("tool")), call["arguments"]
	given := o["result"]
	if outcome := o.Object("result"); outcome["Ok"] != nil {
		given = outcome["Ok"]
	} else if outcome["Err"] != nil {
		e.res.output = outcome["Err"]
		e.fails(true)
	}
	if !e.known {
		answer := importer.ObjectOf(given)
		e.res.output = importer.WithoutBytes(given)
		if parts, ok := partsOf(answer["content"]); ok {
			e.res.output = outputOf(answer["content"])
			if len(parts) == 0 {
				e.res.output = []byte(`""`)
			}
		}
		e.fails(answer.Flag("isError") || o.Str("status") == "failed")
	}
	var facts importer.Fields
	e.facts = facts.Raw("server", call["server"]).Raw("tool", call["tool"]).Raw("duration", o["duration"]).Object()
}

func (e *end) picture(o object) {
	var args, out importer.Fields
	e.name, e.args = "image_generation", args.Opt("prompt", o.Str("revised_prompt")).Object()
	if data := o["result"]; importer.IsText(data) {
		out.Int("size", importer.DecodedSize(data))
	}
	e.res.output = out.Opt("saved_path", o.Str("saved_path")).Opt("status", o.Str("status")).Object()
	e.fails(o.Str("status") == "failed")
}

// nonEmpty leaves out an empty value.
func nonEmpty(raw []byte) []byte {
	if scan.KindOf(raw) == scan.Null || string(raw) == "[]" {
		return nil
	}
	return raw
}

// ended takes the event of a tool call: the call knows more then, or it is held
// until the call comes.
func (d *decoder) ended(r *record, e end) {
	d.collaborates(r, e)
	if e.kind == "web_search_end" && d.searched(r, e) {
		return
	}
	if c := d.calls.byID[e.id]; c != nil {
		d.joined(r, c, e)
		return
	}
	if len(d.calls.ends) >= maxHeld {
		d.unused(r, "event_msg."+e.kind, "too many events wait for their tool calls")
		return
	}
	e.id, e.name = strings.Clone(e.id), strings.Clone(e.name)
	d.calls.ends = append(d.calls.ends, heldEnd{end: e, origin: r.origin})
}

// joined adds to a call what an event tells of its end. Of the same end told
// twice the first counts.
func (d *decoder) joined(r *record, c *call, e end) {
	if e.begins || c.told {
		return
	}
	c.told = true
	if !c.answered {
		c.end = &heldEnd{end: e, origin: r.origin}
		d.calls.told = append(d.calls.told, c)
	}
	if len(e.facts) <= len("{}") {
		return
	}
	var update, p importer.Fields
	update.Str("kind", "custom").Str("customKind", e.kind).Raw("customData", importer.WithoutBytes(e.facts))
	d.emit(r, "tool.progress", p.Str("toolCallId", c.name).Raw("update", update.Object()))
}

// settleEnds ends the wait for calls: an event that has none is the call, and a
// call whose end was told but not given to the model has that as its result.
func (d *decoder) settleEnds(r *record) {
	held := d.calls.ends
	d.calls.ends, d.calls.searches = nil, nil
	for _, h := range held {
		at := r.from(h.origin)
		c := d.calls.byID[h.end.id]
		if c == nil {
			s := d.turns.step // it happened in the turn's last step or before
			if s == nil || !d.turns.open {
				s = d.needStep(at)
			}
			c = d.beginIn(at, s, h.end.id, h.end.name, h.end.args)
		}
		d.joined(at, c, h.end)
		if !h.end.begins && !c.answered {
			d.result(at, c, h.end.res)
		}
	}
	told := d.calls.told
	d.calls.told = nil
	for _, c := range told {
		if c.end != nil && !c.answered {
			d.result(r.from(c.end.origin), c, c.end.end.res)
		}
	}
}

// searched joins the event of a web search with its item, which has no call
// id, by what was searched.
func (d *decoder) searched(r *record, e end) bool {
	for _, s := range d.calls.searches {
		if s.event == e.id {
			return true // told twice
		}
	}
	for i := range d.calls.searches {
		s := &d.calls.searches[i]
		if s.event != "" || !bytes.Equal(s.action, e.args) {
			continue
		}
		s.event = strings.Clone(e.id)
		if e.res.output != nil {
			r.out.Event(d.draft(r, "tool.result", e.res.payload(s.name)))
		}
		return true
	}
	return false
}

// search is a web search, which the model's side carried out.
func (d *decoder) search(r *record) {
	action := r.object["action"]
	e := end{id: r.Either("call_id", "id"), res: result{failed: r.Str("status") == "failed"}}
	event := ""
	for i, h := range d.calls.ends {
		if h.end.kind == "web_search_end" && (h.end.id == e.id || bytes.Equal(h.end.args, action)) {
			e.id, e.res.output, event = h.end.id, h.end.res.output, h.end.id
			d.calls.ends = append(d.calls.ends[:i:i], d.calls.ends[i+1:]...)
			break
		}
	}
	if e.id == "" {
		e.id = r.out.Origin().ID
	}
	c := d.begin(r, e.id, "web_search", action)
	d.calls.searches = append(d.calls.searches, search{name: c.name, action: bytes.Clone(action), event: event})
	if status := r.Str("status"); status != "in_progress" && status != "searching" {
		d.result(r, c, e.res)
	}
}

// image is a picture that was made on the model's side.
func (d *decoder) image(r *record) {
	e := end{kind: r.sub, id: importer.First(r.Str("id"), r.out.Origin().ID)}
	e.picture(r.object)
	c := d.begin(r, e.id, e.name, e.args)
	d.result(r, c, e.res)
}
