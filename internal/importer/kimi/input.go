package kimi

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// input is what was put to the agent.
type input struct {
	parts  []importer.Part
	from   importer.Object // its origin
	raw    []byte          // the origin as it stands
	origin *importer.Origin
}

func (r *record) input(content, from []byte) *input {
	if scan.KindOf(from) != scan.Object {
		from = nil
	}
	return &input{parts: importer.PartsOf(content), from: importer.ObjectOf(from), raw: from, origin: r.out.Origin()}
}

func (in *input) kind() string { return in.from.Str("kind") }

// hidden says whether people do not see it.
func (in *input) hidden() bool {
	switch in.kind() {
	case "injection", "retry":
		return true
	case "system_trigger":
		return !in.opens()
	}
	return false
}

// opens says whether it begins a turn although its text is not shown.
func (in *input) opens() bool {
	name := in.from.Str("name")
	return in.kind() == "system_trigger" && (name == "goal_continuation" || name == "subagent")
}

// activation says whether it activates a skill or a plugin's command.
func (in *input) activation() bool {
	return in.kind() == "skill_activation" || in.kind() == "plugin_command"
}

// twin is input whose second copy is awaited.
type twin struct{ kind, text string }

func (in *input) twin() *twin {
	return &twin{kind: strings.Clone(in.kind()), text: strings.Clone(importer.TextOf(in.parts))}
}

// promptRecord is turn.prompt.
func (d *decoder) promptRecord(r *record) {
	d.prompted = true
	d.settleSteer(r, -1)
	in := r.input(r.Object["input"], r.Object["origin"])
	d.twin = in.twin()
	d.ask(r, in, d.clock.prompt(turnID(r.Object["turnId"])))
	d.turns.copied = true
}

// ask takes input that the engine gave the number id of a turn.
func (d *decoder) ask(r *record, in *input, id int) {
	switch {
	case in.hidden():
		d.engine[id] = &engineTurn{ordinal: d.turns.ordinal, hidden: true}
		r.pass("hidden." + in.kind())
	case in.kind() == "compaction_summary":
		d.engine[id] = &engineTurn{ordinal: d.turns.ordinal, hidden: true}
		d.summarised(r, in)
	case in.activation() && in.from.Str("trigger") != "user-slash":
		d.engine[id] = &engineTurn{ordinal: d.turns.ordinal, hidden: true}
		d.activated(r, in, importer.TextOf(in.parts), in.raw)
	default:
		d.open(r, in, id)
	}
}

// open begins a turn with input.
func (d *decoder) open(r *record, in *input, id int) {
	d.endTurn(r, "") // before the markers
	var p importer.Fields
	p.Raw("origin", in.raw)
	if in.opens() {
		r.pass("hidden." + in.kind()) // the text is not shown
		d.startTurn(r, id, in.origin, &p)
		return
	}
	text := importer.TextOf(in.parts)
	if in.activation() {
		d.activated(r, in, text, in.raw)
	} else if bundle := in.bundle(); len(bundle) > 0 {
		text = d.bundled(r, in, bundle)
	}
	d.startTurn(r, id, in.origin, p.Str("prompt", text).Raw("attachments", importer.Attachments(in.parts)))
}

// bundle lists the skills that a prompt activates.
func (in *input) bundle() []importer.Object {
	var all []importer.Object
	for list := scan.ArrayOf(in.from["skillActivations"]); list.Next(); {
		if o := importer.ObjectOf(list.Value()); o.Str("skillName") != "" {
			all = append(all, o)
		}
	}
	return all
}

// bundled leaves a marker for each skill and returns the rest of the prompt:
// the first texts are the skills'.
func (d *decoder) bundled(r *record, in *input, bundle []importer.Object) (rest string) {
	var texts []importer.Part
	for _, p := range in.parts {
		if p.Kind == "text" {
			texts = append(texts, p)
		}
	}
	split := len(texts) > len(bundle) || len(texts) == len(bundle) && len(in.parts) > len(texts)
	for i, skill := range bundle {
		block := ""
		if split {
			block = texts[i].Str("text")
		}
		var from importer.Fields
		from.Str("kind", "skill_activation").Str("trigger", "user-slash").
			Raw("skillName", skill["skillName"]).Raw("skillArgs", skill["skillArgs"])
		d.activated(r, in, block, from.Object())
	}
	if split {
		texts = texts[len(bundle):]
	}
	return importer.TextOf(texts)
}

// activated leaves the marker of a skill or a plugin's command.
func (d *decoder) activated(r *record, in *input, text string, from []byte) {
	kind := events.TypeSkillActivated
	if in.kind() == "plugin_command" {
		kind = events.TypePluginCommandActivated
	}
	var p importer.Fields
	r.emitFrom(in.origin, kind, p.Str("text", text).Raw("origin", from))
}

// summarised leaves the marker of a compaction whose summary stands as a
// message.
func (d *decoder) summarised(r *record, in *input) {
	var p importer.Fields
	r.emit(events.TypeCompactionCompleted, p.Str("contextSummary", importer.TextOf(in.parts)).Raw("origin", in.raw))
}

// steerRecord is turn.steer: input for a turn that runs, or for a new one when
// none does.
func (d *decoder) steerRecord(r *record) {
	in := r.input(r.Object["input"], r.Object["origin"])
	d.twin = in.twin()
	if in.hidden() {
		return
	}
	d.aside(r, in)
}

// aside takes input that did not come as a prompt. Whether it belongs to a
// turn that has just ended is told by what follows.
func (d *decoder) aside(r *record, in *input) {
	d.settleSteer(r, -1)
	if in.activation() {
		d.activated(r, in, importer.TextOf(in.parts), in.raw)
		return
	}
	if in.kind() == "compaction_summary" {
		d.summarised(r, in)
		return
	}
	if d.turns.open {
		d.said(r, in)
		return
	}
	d.steer = in
}

// settleSteer says to which turn held input belongs: to the newest (id -1), or
// to a new one of that number. It reports whether it opened one.
func (d *decoder) settleSteer(r *record, id int) bool {
	in := d.steer
	if in == nil {
		return false
	}
	d.steer = nil
	if id >= 0 || d.turns.ordinal < 0 || d.turns.gone {
		d.open(r, in, id)
		return true
	}
	d.said(r, in)
	return false
}

// said shows input inside the newest turn.
func (d *decoder) said(r *record, in *input) {
	var p importer.Fields
	p.Int("turnId", d.turns.ordinal)
	if s := d.turns.step; s != nil {
		p.Int("step", s.number)
	}
	r.emitFrom(in.origin, events.TypeUserMessage, p.Str("text", importer.TextOf(in.parts)).Raw("attachments", importer.Attachments(in.parts)))
}
