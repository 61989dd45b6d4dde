package codex

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// collab reads the event of a tool call about other agents.
func (e *end) collab(o object) {
	var args importer.Fields
	switch e.kind {
	case "collab_agent_spawn_end":
		e.name = "spawn_agent"
		args.Raw("prompt", o["prompt"]).Raw("agent_type", o["new_agent_role"])
	case "collab_agent_interaction_end":
		e.name = "send_input"
		args.Raw("id", o["receiver_thread_id"]).Raw("message", o["prompt"])
	case "collab_waiting_end":
		e.name = "wait"
	case "collab_close_end":
		e.name = "close_agent"
		args.Raw("id", o["receiver_thread_id"])
	default:
		e.name = "resume_agent"
		args.Raw("id", o["receiver_thread_id"])
	}
	e.args = args.Object()
	e.res.output = importer.WithoutBytes(firstRaw(o["status"], o["agent_statuses"], o["statuses"], []byte(`""`)))
}

func firstRaw(values ...[]byte) []byte {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// collaborates follows the other agents through such events.
func (d *decoder) collaborates(r *record, e end) {
	switch e.kind {
	case "collab_agent_spawn_end":
		d.spawned(r, e.id, r.Str("new_thread_id"), r.Either("new_agent_nickname", "new_agent_role"), r.Str("prompt"))
		d.agentStatus(r, r.Str("new_thread_id"), r.object["status"])
	case "collab_agent_interaction_end", "collab_close_end", "collab_resume_end":
		d.agentStatus(r, r.Str("receiver_thread_id"), r.object["status"])
	case "collab_waiting_end":
		list := scan.ArrayOf(r.object["agent_statuses"])
		for scan.KindOf(r.object["agent_statuses"]) == scan.Array && list.Next() {
			each := importer.ObjectOf(list.Value())
			d.agentStatus(r, each.Str("thread_id"), each["status"])
		}
		if scan.KindOf(r.object["statuses"]) == scan.Object {
			m := scan.ObjectOf(r.object["statuses"])
			for m.Next() {
				d.agentStatus(r, m.Key(), m.Value())
			}
		}
	}
}

// spawned links a call to the agent it started, once.
func (d *decoder) spawned(r *record, callID, thread, name, prompt string) {
	id, err := events.ParseAgentID(thread)
	if err != nil || id == events.MainAgent {
		return
	}
	if _, known := d.agents[id]; known {
		return
	}
	d.agents[events.AgentID(strings.Clone(thread))] = ""
	if c := d.calls.byID[callID]; c != nil {
		callID = c.name
	}
	var p importer.Fields
	p.Str("subagentId", thread).Opt("subagentName", name).Opt("parentToolCallId", callID).
		Opt("description", importer.Clip(prompt)).Bool("runInBackground", true)
	d.emit(r, "subagent.spawned", &p)
}

// agentStatus tells what became of an agent when that is new: a status is a
// word, or an object with one member of that name.
func (d *decoder) agentStatus(r *record, thread string, status []byte) {
	id, err := events.ParseAgentID(thread)
	before, known := d.agents[id]
	if err != nil || !known {
		return
	}
	word, _ := scan.Unquote(status)
	detail := ""
	if scan.KindOf(status) == scan.Object {
		m := scan.ObjectOf(status)
		if m.Next() {
			word = m.Key()
			detail, _ = scan.Unquote(m.Value())
		}
	}
	if word == before {
		return
	}
	var p importer.Fields
	p.Str("subagentId", thread)
	switch word {
	case "completed":
		d.emit(r, "subagent.completed", p.Opt("resultSummary", importer.Clip(detail)))
	case "errored":
		d.emit(r, "subagent.failed", p.Str("error", importer.First(importer.Clip(detail), word)))
	case "running", "pending_init":
		if before != "" {
			d.emit(r, "subagent.started", &p)
		}
	case "interrupted", "shutdown":
		if before != "completed" && before != "errored" {
			d.emit(r, "subagent.suspended", p.Str("reason", word))
		}
	default:
		return
	}
	d.agents[id] = strings.Clone(word)
}

// activity is how newer versions tell of other agents.
func (d *decoder) activity(r *record) {
	thread := r.Str("agent_thread_id")
	if _, err := events.ParseAgentID(thread); err != nil {
		d.pass(r, "event_msg.sub_agent_activity")
		return
	}
	switch r.Str("kind") {
	case "started":
		d.spawned(r, r.Str("event_id"), thread, r.Str("agent_path"), "")
	case "interacted":
		d.agentStatus(r, thread, []byte(`"running"`))
	case "interrupted":
		d.agentStatus(r, thread, []byte(`"interrupted"`))
	case "completed":
		d.agentStatus(r, thread, []byte(`"completed"`))
	default:
		d.pass(r, "event_msg.sub_agent_activity")
	}
}

// completed is a third form in which newer versions tell the same: an item of
// the thread.
func (d *decoder) completed(r *record, item object) {
	parts, _ := partsOf(item["content"])
	e := end{id: item.Str("id")}
	switch kind := item.Str("type"); kind {
	case "UserMessage":
		d.twin(r, "user_message", textOf(parts))
		return
	case "AgentMessage":
		for _, p := range parts {
			d.twin(r, "agent_message", p.text())
		}
		return
	case "Reasoning":
		for _, raw := range [...][]byte{item["summary_text"], item["raw_content"]} {
			for _, text := range stringsOf(raw) {
				d.twin(r, "agent_reasoning", text)
			}
		}
		return
	case "CommandExecution":
		e.kind = "exec_command_end"
		e.exec(item)
	case "FileChange":
		e.kind = "patch_apply_end"
		e.patch(item)
	case "McpToolCall":
		e.kind = "mcp_tool_call_end"
		e.mcp(item)
	default:
		if item["action"] == nil {
			d.pass(r, strings.TrimSuffix("event_msg.item_completed."+kind, "."))
			return
		}
		e.kind, e.name, e.args, e.res.output = "web_search_end", "web_search", item["action"], nonEmpty(item["results"])
	}
	if e.id == "" {
		d.pass(r, "event_msg.item_completed")
		return
	}
	d.ended(r, e)
}

func stringsOf(raw []byte) []string {
	if scan.KindOf(raw) != scan.Array {
		return nil
	}
	var texts []string
	list := scan.ArrayOf(raw)
	for list.Next() {
		if s, ok := scan.Unquote(list.Value()); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
