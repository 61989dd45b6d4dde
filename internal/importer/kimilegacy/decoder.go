package kimilegacy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// decoder is the state of one file.
type decoder struct {
	src    importer.Source
	agents map[events.AgentID]*agent
	ends   bool // this log tells when turns end
	seen   bool // a record was read
	plain  bool // it is a context.jsonl
}

func newDecoder(src importer.Source) *decoder {
	if src.Agent == "" {
		src.Agent = events.MainAgent
	}
	return &decoder{src: src, agents: make(map[events.AgentID]*agent)}
}

// Session implements importer.Decoder: the records do not name one.
func (*decoder) Session() events.SessionID { return "" }

// Timeless implements importer.Timeless: the messages of a context.jsonl have
// no times.
func (d *decoder) Timeless() bool { return d.plain }

// Held implements importer.Decoder.
func (d *decoder) Held() []importer.Finding {
	var all []importer.Finding
	for _, a := range d.agents {
		all = append(all, a.calls.Findings()...)
	}
	slices.SortFunc(all, func(x, y importer.Finding) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), strings.Compare(x.Reason, y.Reason))
	})
	return all
}

// record is what the decoder works on while it handles one record.
type record struct {
	importer.Object        // the payload of the message, or the context's record
	body            []byte // as it stands
	raw             []byte // the whole record
	kind            string
	time            string
	out             *importer.Output
	a               *agent
}

// Record implements importer.Decoder.
func (d *decoder) Record(rec importer.Record, out *importer.Output) {
	o := importer.ObjectOf(rec.Raw)
	r := &record{raw: rec.Raw, out: out, time: importer.EpochTime(o["timestamp"], time.Second)}
	out.From("", r.time)
	if !d.seen {
		d.seen, d.plain = true, o.Str("role") != ""
	}
	r.a = d.agentOf(d.src.Agent, d.src.Spawn)
	r.a.start(r, d)
	message := o.Object("message")
	switch {
	case o.Str("role") != "":
		r.Object, r.kind = o, o.Str("role")
		d.message(r)
	case message.Str("type") != "":
		r.Object, r.kind, r.body = message.Object("payload"), message.Str("type"), message["payload"]
		d.event(r)
	case o.Str("type") == "metadata":
	default:
		r.Object = o
		out.Skip("a record without a message")
		r.pass(importer.First(o.Str("type"), "untyped"))
	}
	if r.time != "" {
		r.a.last = r.time
	}
}

func (d *decoder) agentOf(id events.AgentID, spawn importer.Spawn) *agent {
	a := d.agents[id]
	if a == nil {
		a = newAgent(id, spawn)
		d.agents[id] = a
	}
	return a
}

// emit adds an event of the record's agent.
func (r *record) emit(kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.a.id, Type: kind, Payload: p.Object()})
}

// emitAt is emit with the time of an earlier record.
func (r *record) emitAt(at, kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.a.id, Type: kind, Payload: p.Object(), Time: at})
}

// pass lets the whole record through as an event that shows nothing.
func (r *record) pass(kind string) {
	kind = "foreign." + Name + "." + kind
	r.out.Passed(kind)
	r.out.Event(importer.Draft{Agent: r.a.id, Type: kind, Payload: importer.WithoutBytes(r.raw)})
}
