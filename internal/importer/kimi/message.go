package kimi

import (
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// message is one of the conversation's messages as it was appended.
func (d *decoder) message(r *record, m importer.Object, second bool) {
	switch m.Str("role") {
	case "user":
		d.userMessage(r, m)
	case "assistant":
		d.settleSteer(r, -1)
		d.assistantMessage(r, m)
	case "tool":
		id := m.Either("toolCallId", "tool_call_id")
		d.result(r, id, importer.OutputOf(m["content"]), m.Flag("isError"))
	case "system":
		r.pass("system")
	default:
		if !second {
			r.out.Skip("a message without a known role")
		}
		r.pass(r.kind)
	}
}

// userMessage is the second copy of a prompt, or a prompt in a log that has no
// others, or what came while a turn ran.
func (d *decoder) userMessage(r *record, m importer.Object) {
	from := m["origin"]
	if from == nil {
		from = r.Object.Object("meta")["origin"]
	}
	in := r.input(m["content"], from)
	if t := d.twin; t != nil && t.text == importer.TextOf(in.parts) && (t.kind == in.kind() || in.kind() == "") {
		d.twin = nil
		d.turns.copied = true
		return
	}
	d.turns.copied = true
	switch {
	case in.hidden():
		r.pass("hidden." + in.kind())
	case d.prompted:
		d.aside(r, in)
	case in.kind() == "compaction_summary":
		d.endTurn(r, "")
		d.summarised(r, in)
	case in.activation() && in.from.Str("trigger") != "user-slash":
		d.activated(r, in, importer.TextOf(in.parts), in.raw)
	default:
		d.open(r, in, d.clock.prompt(-1))
		d.turns.copied = true
	}
}

// assistantMessage is a whole step.
func (d *decoder) assistantMessage(r *record, m importer.Object) {
	s := d.needStep(r, "")
	for _, p := range importer.PartsOf(m["content"]) {
		d.part(r, s, p)
	}
	called := false
	for list := scan.ArrayOf(toolCalls(m)); list.Next(); {
		d.call(r, s, importer.ObjectOf(list.Value()))
		called = true
	}
	s.open = false
	p := s.fields()
	if meta := r.Object.Object("meta"); len(meta) > 0 {
		p.Raw("usage", usageOf(meta["usage"])).Raw("finishReason", meta.Object("finish")["finishReason"])
	}
	r.emit(events.TypeStepCompleted, p)
	if !called && !d.ends {
		d.turns.last = r.time
		d.endTurn(r, "completed")
	}
}

func toolCalls(m importer.Object) []byte {
	if calls := m["toolCalls"]; calls != nil {
		return calls
	}
	return m["tool_calls"]
}

// secondCopy is agent.message.appended: the messages of a turn once more, in a
// burst at its end, which count only where the first copies are missing.
func (d *decoder) secondCopy(r *record) {
	m := r.Object.Object("message").Object("message")
	if len(m) == 0 {
		m = r.Object.Object("message")
	}
	first := d.turns.loop
	if m.Str("role") == "user" {
		first = d.turns.copied
	}
	if !first {
		d.message(r, m, true)
	}
}
