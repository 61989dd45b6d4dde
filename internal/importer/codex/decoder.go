package codex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// decoder is the state of one file, which is one agent's.
type decoder struct {
	src     importer.Source
	session events.SessionID
	run     string // the source's run; one for the whole file
	begun   bool   // a record was read

	start    start
	fork     fork
	settings settings
	turns    turns
	usage    usage
	texts    texts
	calls    calls
	agents   map[events.AgentID]string // sub-agents: their state as told
	compacts int                       // compacted records whose event has not come
}

func newDecoder(src importer.Source) *decoder {
	if src.Agent == "" {
		src.Agent = events.MainAgent
	}
	return &decoder{
		src:    src,
		turns:  turns{turn: -1, asking: make(map[string]bool)},
		texts:  texts{said: make(map[string]int)},
		calls:  newCalls(),
		agents: make(map[events.AgentID]string),
	}
}

// Session implements importer.Decoder.
func (d *decoder) Session() events.SessionID { return d.session }

// Record implements importer.Decoder.
func (d *decoder) Record(rec importer.Record, out *importer.Output) {
	r := recordOf(rec, out)
	if !out.From(r.id(), r.time) {
		return
	}
	first := !d.begun
	if first {
		d.first(r)
	}
	d.fork.passes(r)
	d.told(r, d.start.learn(d, r, first))
	switch r.kind {
	case "session_meta":
		d.meta(r, first)
	case "turn_context":
		d.context(r, r.object)
	case "response_item":
		d.item(r)
	case "event_msg":
		d.event(r)
	case "compacted":
		d.compacts++
		d.compacted(r, r.Str("message"))
	case "":
		r.out.Skip("a record without a type")
		d.pass(r, "untyped")
	default:
		d.pass(r, r.kind)
	}
	if d.turns.open && r.now() != "" {
		d.turns.last = r.now()
	}
}

// first settles what the file is called: by its first record, else by its name.
func (d *decoder) first(r *record) {
	d.begun = true
	id, err := events.ParseSessionID(r.Str("id"))
	if r.kind != "session_meta" || err != nil {
		if id, err = events.ParseSessionID(d.src.Name); err != nil || !uuid(d.src.Name) {
			return
		}
	}
	d.session = events.SessionID(strings.Clone(string(id)))
	d.run = string(d.session)
}

// item takes a response item.
func (d *decoder) item(r *record) {
	switch r.sub {
	case "message":
		d.message(r)
	case "agent_message":
		d.mail(r)
	case "reasoning":
		d.reasoning(r)
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
		d.call(r)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		d.output(r)
	case "web_search_call":
		d.search(r)
	case "image_generation_call":
		d.image(r)
	default:
		d.pass(r, strings.TrimSuffix("response_item."+r.sub, "."))
	}
}

// event takes an event; what is not known passes.
func (d *decoder) event(r *record) {
	switch r.sub {
	case "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content":
		d.twin(r, r.sub, r.Either("message", "text"))
	case "agent_reasoning_section_break":
	case "task_started", "turn_started", "turn.started":
		d.taskStarted(r)
	case "task_complete", "turn_complete", "turn.completed":
		d.taskComplete(r)
	case "turn_aborted":
		d.aborted(r)
	case "token_count":
		d.tokenCount(r)
	case "error", "stream_error", "warning":
		d.trouble(r)
	case "context_compacted":
		d.compactedEvent(r)
	case "thread_rolled_back":
		d.rolledBack(r)
	case "thread_settings_applied":
		d.context(r, r.Object("thread_settings"))
	case "thread_name_updated":
	case "thread_goal_updated", "thread_goal_cleared":
		d.goal(r)
	case "sub_agent_activity":
		d.activity(r)
	case "item_completed":
		d.completed(r, r.Object("item"))
	default:
		if e, ok := endOf(r); ok {
			d.ended(r, e)
			return
		}
		d.pass(r, strings.TrimSuffix("event_msg."+r.sub, "."))
	}
}

// emit adds an event.
func (d *decoder) emit(r *record, kind string, p *importer.Fields) { d.emitAt(r, "", kind, p) }

// emitAt is emit with a time of its own.
func (d *decoder) emitAt(r *record, at, kind string, p *importer.Fields) {
	draft := importer.Draft{Agent: d.src.Agent, Type: kind, Payload: p.Object(), SourceRun: d.run, Time: at}
	if r.origin != r.out.Origin() {
		draft.Origin = r.origin
	}
	r.out.Event(draft)
}

// pass lets the whole record through as an event that shows nothing.
func (d *decoder) pass(r *record, kind string) {
	kind = "foreign." + Name + "." + kind
	r.out.Passed(kind)
	r.out.Event(importer.Draft{Agent: d.src.Agent, Type: kind, Payload: importer.WithoutBytes(r.raw), SourceRun: d.run})
}

// unused is pass for a record whose content should have shown but could not.
func (d *decoder) unused(r *record, kind, reason string) {
	r.out.Skip(reason)
	d.pass(r, kind)
}

// Held implements importer.Decoder.
func (d *decoder) Held() []importer.Finding {
	all := append(d.texts.waiting(), d.calls.waiting()...)
	slices.SortFunc(all, func(x, y importer.Finding) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), strings.Compare(x.Reason, y.Reason))
	})
	return all
}
