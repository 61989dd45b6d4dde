package facts

import (
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// userEvent reads what a person said in the live family.
func (r *Reader) userEvent(ev *events.Event) {
	o := read(ev.Payload)
	field, meta := "text", reducer.Raw("{}")
	switch ev.Type {
	case events.TypeTurnStarted:
		field = "prompt"
		if origin := o.opaque("origin"); origin != "" {
			meta = `{"origin":` + origin + `}`
		}
	case events.TypePromptSteered:
		field = "content"
	}
	if !o.isString(field) && (field != "content" || !o.has(field)) {
		return
	}
	f := r.add(Message)
	f.Role, f.Metadata, f.Live, f.Turn = "user", meta, true, r.turnOf()
	f.Content, f.Blobs = o.opaque(field), blobsAt(ev, "/"+field)
}

// factMessage reads a message as it is.
func (r *Reader) factMessage(ev *events.Event) {
	o := read(ev.Payload)
	role := o.text("role")
	switch role {
	case "user", "assistant", "tool", "system", "summary":
	default:
		return
	}
	meta := o.object("metadata")
	f := r.add(Message)
	f.Role, f.Content, f.Metadata, f.Turn = role, o.opaque("content"), "{}", r.turnOf()
	if meta != nil {
		f.Metadata = o.opaque("metadata")
	}
	f.Blobs = blobsAt(ev, "/content")
	f.Source, f.Action, f.CallID = meta.text("source"), meta.text("action_type"), meta.text("tool_call_id")
	f.Recovered = meta.flag("recovered")
	if role != "assistant" {
		return
	}
	f.CallID = ""
	for _, c := range meta.elements("tool_calls") {
		call := MessageCall{ID: c.text("id"), Name: c.text("name"), Args: c.opaque("arguments")}
		if fn := c.object("function"); fn != nil {
			call.Name, call.Args = fn.text("name"), fn.opaque("arguments")
		}
		if call.ID != "" {
			f.Calls = append(f.Calls, call)
		}
	}
	f.StepKey = r.messageStep()
	if f.StepKey != "" {
		s := r.open(f.StepKey)
		r.resize(s, -s.size)
		s.fact, s.frames, s.index = true, nil, nil
	}
}

// messageStep is the step that the tree put the message into.
func (r *Reader) messageStep() string {
	for i := len(r.in.Ops) - 1; i >= 0; i-- {
		switch op := &r.in.Ops[i]; op.Kind {
		case reducer.OpFrameUpsert:
			return op.StepID
		case reducer.OpStepUpsert:
			if op.Step.State == reducer.StepRunning {
				return op.Step.StepID
			}
		default:
		}
	}
	return ""
}

// loopEvent reads ends and transitions.
func (r *Reader) loopEvent(ev *events.Event) {
	o := read(ev.Payload)
	switch ev.Type {
	case events.TypeStateTransition:
		f := r.add(Transition)
		f.Text, f.Content = o.text("reason"), o.opaque("details")
	case events.TypeTerminal:
		f := r.add(Terminal)
		f.Text, f.Content = o.text("reason"), reducer.Raw(scan.Trim(ev.Payload))
	case events.TypeTurnEnded:
		f := r.add(Terminal)
		f.Text = o.text("reason")
		f.Content = reducer.Raw(append(scan.AppendQuote([]byte(`{"reason":`), f.Text), '}'))
	}
}

// checkpointEvent reads a checkpoint of either family.
func (r *Reader) checkpointEvent(ev *events.Event) {
	o := read(ev.Payload)
	f := r.add(Checkpoint)
	if ev.Type == events.TypeCheckpoint {
		f.ID, f.Text, f.Content = o.text("checkpoint_id"), o.text("summary"), reducer.Raw(scan.Trim(ev.Payload))
		if f.ID == "" {
			f.ID = f.EventID
		}
		f.RetainEvent, f.RetainIndex = o.text("retain_from_event_id"), o.number("retain_start_idx")
		if runtime := o.raw("runtime_state"); scan.KindOf(runtime) == scan.Object {
			f.Runtime = reducer.Raw(runtime)
		}
		return
	}
	f.ID, f.Text = f.EventID, o.text("contextSummary")
	if f.Text == "" {
		f.Text = o.text("summary")
	}
	f.RetainUsers = max(0, o.number("keptUserMessageCount"))
	dst := scan.AppendQuote([]byte(`{"checkpoint_id":`), f.ID)
	dst = scan.AppendQuote(append(dst, `,"summary":`...), f.Text)
	f.Content = reducer.Raw(append(dst, '}'))
}

// goalEvent reads goals and plans.
func (r *Reader) goalEvent(ev *events.Event) {
	o := read(ev.Payload)
	if ev.Type == events.TypePlanRevision {
		f := r.add(Plan)
		f.Text, f.Turn = o.text("path"), o.number("version")
		return
	}
	snapshot := o.object("snapshot")
	if snapshot == nil && o.has("snapshot") {
		return
	}
	f := r.add(Goal)
	f.Text, f.Status = snapshot.text("objective"), snapshot.text("status")
	if f.Status == "complete" || f.Text == "" {
		f.Status = ""
	}
}

// childEvent reads what is known of a sub-agent.
func (r *Reader) childEvent(ev *events.Event) {
	o := read(ev.Payload)
	id := o.text("subagentId")
	if id == "" || len(id) > maxName {
		return
	}
	f := r.add(Child)
	f.ID, f.Status = id, "running"
	switch ev.Type {
	case events.TypeSubagentSpawned:
		f.Status, f.CallID = "spawned", o.text("parentToolCallId")
		f.Name = o.text("subagentName")
		if f.Name == "" {
			f.Name = o.text("description")
		}
	case events.TypeSubagentCompleted:
		f.Status, f.Text = "completed", o.text("resultSummary")
	case events.TypeSubagentFailed:
		f.Status = "failed"
		if e := failure(o.raw("error"), nil); e != nil {
			f.Text = e.Message
		}
	}
}
