package claudecode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// decoder is the state of one file.
type decoder struct {
	src     importer.Source
	session events.SessionID
	agents  map[events.AgentID]*agent
	side    map[string]events.AgentID // uuid of a sidechain record: its agent
	tasks   []*task                   // sub-agents asked for in this file
}

func newDecoder(src importer.Source) *decoder {
	if src.Agent == "" {
		src.Agent = events.MainAgent
	}
	return &decoder{
		src:    src,
		agents: make(map[events.AgentID]*agent),
		side:   make(map[string]events.AgentID),
	}
}

// record is what the decoder works on while it handles one record.
type record struct {
	object
	raw  []byte
	kind string
	uuid string
	time string
	out  *importer.Output
	a    *agent
}

// Session implements importer.Decoder.
func (d *decoder) Session() events.SessionID { return d.session }

// Record implements importer.Decoder.
func (d *decoder) Record(rec importer.Record, out *importer.Output) {
	o := importer.ObjectOf(rec.Raw)
	r := &record{object: o, raw: rec.Raw, kind: o.Str("type"), uuid: o.Str("uuid"), time: o.Str("timestamp"), out: out}
	if r.time == "" && !r.Flag("isSnapshotUpdate") {
		r.time = o.Object("snapshot").Str("timestamp")
	}
	if !out.From(r.uuid, r.time) {
		return
	}
	d.learnSession(r)
	r.a = d.agentOf(r)
	d.begin(r)
	switch r.kind {
	case "user":
		d.user(r)
	case "assistant":
		d.assistant(r)
	case "system":
		d.system(r)
	case "progress":
		d.progress(r)
	case "attachment":
		d.attachment(r)
	case "queue-operation":
		d.queue(r)
	case "mode", "permission-mode", "ai-title", "custom-title", "summary":
		d.sidecar(r)
	case "":
		r.unused("untyped", "a record without a type")
	default:
		r.pass(r.kind)
	}
}

func (d *decoder) learnSession(r *record) {
	if d.session != "" {
		return
	}
	if id, err := events.ParseSessionID(r.Str("sessionId")); err == nil {
		d.session = events.SessionID(strings.Clone(string(id)))
	}
}

// graph says whether the record is part of the conversation, not a sidecar.
func (r *record) graph() bool {
	switch r.kind {
	case "user", "assistant", "system", "attachment", "progress":
		return true
	}
	return false
}

// begin does what comes before a record's own events: a new source run, the
// compaction that waited, the agent's start.
func (d *decoder) begin(r *record) {
	a := r.a
	if r.graph() && (r.kind == "user" || r.kind == "assistant") {
		if run := r.Str("sessionId"); run != "" && len(run) <= events.MaxID && run != a.run {
			d.newRun(r, strings.Clone(run))
		}
	}
	d.start(r)
	if a.boundary != nil && r.graph() && !r.Flag("isCompactSummary") {
		a.compacted(r, "")
	}
}

// newRun follows the source into another run of its own, in which nothing of
// the former one goes on.
func (d *decoder) newRun(r *record, run string) {
	a := r.a
	if a.run != "" {
		a.finishStep(r)
		a.open, a.step, a.prompt, a.byKey = false, nil, "", nil
		a.fresh = true
	}
	a.run = run
}

// agentOf finds whose log a record belongs to: a sidechain inside a main file
// is a sub-agent too.
func (d *decoder) agentOf(r *record) *agent {
	id := d.src.Agent
	if id == events.MainAgent && r.Flag("isSidechain") {
		id = d.sidechain(r)
		if r.uuid != "" {
			d.side[strings.Clone(r.uuid)] = id
		}
	}
	a := d.agents[id]
	if a == nil {
		a = newAgent(id)
		d.agents[id] = a
	}
	return a
}

func (d *decoder) sidechain(r *record) events.AgentID {
	if id, err := events.ParseAgentID(r.Str("agentId")); err == nil && id != events.MainAgent {
		return events.AgentID(strings.Clone(string(id)))
	}
	if id, ok := d.side[r.Str("parentUuid")]; ok {
		return id
	}
	return sideID(r.out.Origin().ID)
}

// sideID names a sidechain by its first record.
func sideID(origin string) events.AgentID {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			return c
		}
		return '-'
	}, origin)
	return events.AgentID("side-" + name[:min(len(name), 100)])
}

// emit adds an event of the record's agent.
func (r *record) emit(kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.a.id, Type: kind, Payload: p.Object(), SourceRun: r.a.run})
}

// emitAt is emit with the time of an earlier record.
func (r *record) emitAt(at, kind string, p *importer.Fields) {
	r.out.Event(importer.Draft{Agent: r.a.id, Type: kind, Payload: p.Object(), SourceRun: r.a.run, Time: at})
}

// pass lets the whole record through as an event that shows nothing.
func (r *record) pass(kind string) {
	kind = "foreign." + Name + "." + kind
	r.out.Passed(kind)
	r.out.Event(importer.Draft{Agent: r.a.id, Type: kind, Payload: importer.WithoutBytes(r.raw), SourceRun: r.a.run})
}

// unused is pass for a record whose content should have shown but could not.
func (r *record) unused(kind, reason string) {
	r.out.Skip(reason)
	r.pass(kind)
}

// Held implements importer.Decoder.
func (d *decoder) Held() []importer.Finding {
	var all []importer.Finding
	for _, a := range d.agents {
		for id, results := range a.held {
			for _, h := range results {
				all = append(all, importer.Finding{Line: h.Origin.Line, Reason: "result of a tool call that is not in the file: " + id})
			}
		}
		if a.boundary != nil {
			all = append(all, importer.Finding{Line: a.boundary.origin.Line, Reason: "compaction that waits for its summary"})
		}
	}
	slices.SortFunc(all, func(x, y importer.Finding) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), strings.Compare(x.Reason, y.Reason))
	})
	return all
}

// quoted writes a string as JSON.
func quoted(s string) []byte { return scan.AppendQuote(nil, s) }
