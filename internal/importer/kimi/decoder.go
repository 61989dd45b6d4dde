package kimi

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// decoder is the state of one file.
type decoder struct {
	src    importer.Source
	labels map[string]string
	begun  bool
	learnt bool              // labels have changed since the start was published
	told   map[string]string // status fields as published
	model  string            // of the newest call

	ends     bool // this log tells when turns end
	prompted bool // this log tells by turn.prompt when turns begin

	clock   clock
	engine  map[int]*engineTurn // by the engine's number
	turns   turns
	calls   *importer.Calls
	bare    int               // calls without an id
	asked   map[string]*asked // calls that ask for a sub-agent, by their name
	spawned map[string]bool   // sub-agents that a record announced
	twin    *twin             // input whose second copy is awaited
	steer   *input            // input that belongs to this turn or the next
	end     *ended            // an end that turn.ended may repeat
	cancel  map[int]bool

	goal       *goal
	compacting bool // a compaction was applied since it began
}

// engineTurn is a turn as the engine numbers it.
type engineTurn struct {
	ordinal int  // of the turn that shows it; -1 for none
	hidden  bool // it goes on with the turn before it
	ran     bool // it had steps
}

func newDecoder(src importer.Source) *decoder {
	if src.Agent == "" {
		src.Agent = events.MainAgent
	}
	return &decoder{
		src: src, labels: make(map[string]string), told: make(map[string]string),
		engine: make(map[int]*engineTurn), cancel: make(map[int]bool),
		turns: newTurns(), calls: importer.NewCalls(),
		asked: make(map[string]*asked), spawned: make(map[string]bool),
	}
}

// Session implements importer.Decoder: the records do not name one.
func (*decoder) Session() events.SessionID { return "" }

// record is what the decoder works on while it handles one record.
type record struct {
	importer.Object
	raw   []byte
	kind  string
	time  string
	out   *importer.Output
	agent events.AgentID
}

// Record implements importer.Decoder.
func (d *decoder) Record(rec importer.Record, out *importer.Output) {
	o := importer.ObjectOf(rec.Raw)
	r := &record{Object: o, raw: rec.Raw, kind: o.Str("type"), out: out, agent: d.src.Agent, time: timeOf(o)}
	out.From("", r.time)
	d.settings(r)
	d.start(r)
	d.settleEnd(r)
	if !d.conversation(r) && !d.facts(r) {
		d.other(r)
	}
	if r.time != "" {
		d.turns.last = r.time
	}
}

func timeOf(o importer.Object) string {
	at := o["time"]
	if at == nil {
		at = o["created_at"]
	}
	if scan.KindOf(at) == scan.String {
		s, _ := scan.Unquote(at)
		return s
	}
	return importer.EpochTime(at, time.Millisecond)
}

// conversation handles the records that the turns are made of.
func (d *decoder) conversation(r *record) bool {
	switch r.kind {
	case "turn.prompt":
		d.promptRecord(r)
	case "turn.steer":
		d.steerRecord(r)
	case "context.append_message":
		d.message(r, r.Object.Object("message"), false)
	case "agent.message.appended":
		d.secondCopy(r)
	case "context.append_loop_event":
		d.loopEvent(r, r.Object.Object("event"))
	case "turn.step.retrying":
		d.retrying(r)
	case "turn.step.interrupted":
		d.interrupted(r)
	case "turn.ended", "agent.turn.ended":
		d.turnEnded(r)
	case "turn.cancel":
		d.cancelled(r)
	case "context.undo", "context.clear":
		d.removed(r)
	default:
		return false
	}
	return true
}

// other passes what shows nothing.
func (d *decoder) other(r *record) {
	switch r.kind {
	case "":
		r.out.Skip("a record without a type")
		r.pass("untyped")
	case "metadata", "agent.turn.started":
	default:
		r.pass(r.kind)
	}
}

// emit adds an event of the file's agent.
func (r *record) emit(kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.agent, Type: kind, Payload: p.Object()})
}

// emitAt is emit with the time of an earlier record.
func (r *record) emitAt(at, kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.agent, Type: kind, Payload: p.Object(), Time: at})
}

// emitFrom is emit for a record that was held.
func (r *record) emitFrom(origin *importer.Origin, kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.agent, Type: kind, Payload: p.Object(), Origin: origin})
}

// payload is the record without its envelope.
func (r *record) payload(without ...string) *importer.Fields {
	var p importer.Fields
	for m := scan.ObjectOf(r.raw); m.Next(); {
		key := m.Key()
		if key == "type" || key == "time" || key == "agentId" || slices.Contains(without, key) {
			continue
		}
		p.Raw(strings.Clone(key), importer.WithoutBytes(m.Value()))
	}
	return &p
}

// same passes a record as the event of its type.
func (r *record) same() { r.emit(r.kind, r.payload()) }

// pass lets the whole record through as an event that shows nothing.
func (r *record) pass(kind string) {
	kind = "foreign." + Name + "." + kind
	r.out.Passed(kind)
	r.out.Event(importer.Draft{Agent: r.agent, Type: kind, Payload: importer.WithoutBytes(r.raw)})
}

// Held implements importer.Decoder.
func (d *decoder) Held() []importer.Finding {
	all := d.calls.Findings()
	if d.steer != nil {
		all = append(all, importer.Finding{Line: d.steer.origin.Line, Reason: "input that belongs to this turn or to the next"})
	}
	if d.end != nil {
		all = append(all, importer.Finding{Line: d.end.origin.Line, Reason: "end of a turn that turn.ended may tell more of"})
	}
	slices.SortFunc(all, func(x, y importer.Finding) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), strings.Compare(x.Reason, y.Reason))
	})
	return all
}
