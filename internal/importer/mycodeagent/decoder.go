package mycodeagent

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// decoder is the state of one file.
type decoder struct {
	src     importer.Source
	session events.SessionID // as the records name it
	begun   bool
	known   map[string]bool // sub-agents that were announced
}

func newDecoder(src importer.Source) *decoder {
	if src.Agent == "" {
		src.Agent = events.MainAgent
	}
	return &decoder{src: src, known: make(map[string]bool)}
}

// Session implements importer.Decoder.
func (d *decoder) Session() events.SessionID { return d.session }

// Held implements importer.Decoder.
func (*decoder) Held() []importer.Finding { return nil }

// Record implements importer.Decoder.
func (d *decoder) Record(rec importer.Record, out *importer.Output) {
	r := importer.ObjectOf(rec.Raw)
	if !out.From(r.Str("event_id"), r.Str("timestamp")) {
		return
	}
	session, err := events.ParseSessionID(r.Str("session_id"))
	if err == nil && d.session == "" {
		d.session = events.SessionID(strings.Clone(string(session)))
	}
	run := r.Str("run_id")
	if len(run) > events.MaxID {
		run = ""
	}
	d.start(run, out)
	kind := r.Str("event_type")
	switch {
	case err != nil || session != d.session:
		out.Skip(fmt.Sprintf("a record of session %.40q in the transcript of %s", r.Str("session_id"), d.session))
		d.pass(rec.Raw, run, "other_session", out)
	case !known(kind) && kind != "":
		d.pass(rec.Raw, run, kind, out)
	case kind == "" || scan.KindOf(r["payload"]) != scan.Object:
		out.Skip("a record without a type or without a payload")
		d.pass(rec.Raw, run, "untyped", out)
	default:
		d.fact(r, kind, run, out)
	}
}

// known says whether a type is one of the plain-loop family.
func known(kind string) bool {
	switch kind {
	case "message", "state_transition", "tool_lifecycle", "checkpoint", "terminal":
		return true
	}
	return false
}

// start publishes the agent's start.
func (d *decoder) start(run string, out *importer.Output) {
	if d.begun {
		return
	}
	d.begun = true
	kind := "main"
	switch {
	case d.src.Agent == events.MainAgent:
	case d.src.Spawn.Parent != "":
		kind = "sub"
	default:
		kind = "independent"
	}
	var p importer.Fields
	p.Str("type", kind).Opt("parentAgentId", string(d.src.Spawn.Parent)).
		Opt("parentToolCallId", d.src.Spawn.ToolCallID).Opt("label", d.src.Spawn.Label)
	out.Event(importer.Draft{
		Agent: d.src.Agent, Type: events.TypeAgentStarted, Payload: p.Object(), SourceRun: run,
		Labels: importer.Labels(Name, d.src.Labels),
	})
}

// fact passes a record as the event it is.
func (d *decoder) fact(r importer.Object, kind, run string, out *importer.Output) {
	draft := importer.Draft{
		Agent: d.src.Agent, Type: kind, Payload: r["payload"], SourceRun: run, Verbatim: true,
	}
	if n, ok := scan.Int64(r["step"]); ok && n >= 0 && n <= events.MaxStep {
		draft.Step, draft.HasStep = int(n), true
	}
	if ref := r.Str("reference_id"); len(ref) <= events.MaxReference {
		draft.Reference = ref
	}
	out.Event(draft)
	if kind == "tool_lifecycle" && bytes.Contains(draft.Payload, []byte("child_session_id")) {
		d.child(importer.ObjectOf(draft.Payload), run, out)
	}
}

// child links a Task call to the sub-agent that its result names.
func (d *decoder) child(payload importer.Object, run string, out *importer.Output) {
	id := childOf(payload)
	if _, err := events.ParseAgentID(id); err != nil || d.known[id] {
		return
	}
	d.known[strings.Clone(id)] = true
	args := payload.Object("args")
	var spawned, ended importer.Fields
	spawned.Str("subagentId", id).Opt("subagentName", args.Str("subagent_type")).
		Str("parentToolCallId", payload.Str("tool_call_id")).Opt("description", args.Str("description")).
		Bool("runInBackground", false)
	out.Event(importer.Draft{Agent: d.src.Agent, Type: events.TypeSubagentSpawned, Payload: spawned.Object(), SourceRun: run})
	ended.Str("subagentId", id)
	kind := events.TypeSubagentCompleted
	summary := importer.Clip(payload.Object("result").Str("text"))
	if payload.Str("status") == "failed" {
		kind = events.TypeSubagentFailed
		ended.Opt("error", summary)
	} else {
		ended.Opt("resultSummary", summary)
	}
	out.Event(importer.Draft{Agent: d.src.Agent, Type: kind, Payload: ended.Object(), SourceRun: run})
}

// pass lets the whole record through as an event that shows nothing.
func (d *decoder) pass(raw []byte, run, kind string, out *importer.Output) {
	kind = "foreign." + Name + "." + kind
	out.Passed(kind)
	out.Event(importer.Draft{Agent: d.src.Agent, Type: kind, Payload: raw, SourceRun: run})
}
