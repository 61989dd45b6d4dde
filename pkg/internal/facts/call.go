package facts

import (
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// callEvent reads the lifecycle of a call out of one event.
func (r *Reader) callEvent(ev *events.Event) {
	o := read(ev.Payload)
	if r.in.Event.Type == events.TypeToolLifecycle {
		r.lifecycle(o)
		return
	}
	id := o.text("toolCallId")
	if id == "" {
		return
	}
	switch ev.Type {
	case events.TypeToolCallDelta:
		r.call(id, Requested).Name = o.text("name")
	case events.TypeToolCallStarted:
		f := r.call(id, Requested)
		f.Name, f.Args = o.text("name"), parsed(o.raw("args"))
		if r.in.Late || !r.executing {
			r.begins(id)
		}
	case events.TypeToolCallExecuting:
		if !r.in.Late {
			r.executing = true
		}
		r.begins(id)
	case events.TypeToolResult:
		f := r.call(id, Completed)
		f.Result = o.opaque("output")
		if o.flag("isError") || o.flag("synthetic") {
			f.Status, f.Error = Failed, failure(nil, o.raw("output"))
		}
	case events.TypeActionDecided:
		r.decided(o, id)
	}
}

func (r *Reader) call(id, status string) *Fact {
	f := r.add(Call)
	f.CallID, f.Status = id, status
	if n := r.callStep(id); n >= 0 && !r.in.Event.HasStep {
		f.Step = n
	}
	return f
}

// callStep is the step in which a call stands; -1 when that is not known.
func (r *Reader) callStep(id string) int {
	for i := range r.in.Ops {
		op := &r.in.Ops[i]
		if op.Kind == reducer.OpFrameUpsert && op.Frame.ToolCallID == id {
			if s := r.find(op.StepID); s != nil {
				return s.ordinal
			}
		}
	}
	return -1
}

// begins says that the call's effect begins, unless it waits for an approval:
// then it begins when that is given.
func (r *Reader) begins(id string) {
	key := callKey{r.in.Run, id}
	for _, p := range r.pending {
		if p.kind == "approval" && p.call == id && p.run == key.run {
			if !slices.Contains(r.withheld, key) && len(r.withheld) < maxPending && len(id) <= maxName {
				r.withheld = append(r.withheld, callKey{strings.Clone(key.run), strings.Clone(id)})
			}
			return
		}
	}
	r.call(id, Started)
}

func (r *Reader) decided(o object, id string) {
	decision := o.text("decision")
	switch decision {
	case "done", "failed", "retry":
	default:
		return
	}
	f := r.add(Decided)
	f.CallID, f.OfRun, f.Status = id, o.text("run_id"), decision
	f.Result, f.By, f.Text = o.opaque("result"), o.text("by"), o.text("note")
}

// lifecycle reads a tool_lifecycle.
func (r *Reader) lifecycle(o object) {
	id, status := o.text("tool_call_id"), o.text("status")
	if id == "" {
		return
	}
	switch status {
	case Requested, Started, Completed, Failed:
	default:
		return
	}
	f := r.call(id, status)
	f.Name, f.Args = o.text("tool_name"), parsed(o.raw("args"))
	if status == Requested || status == Started {
		return
	}
	f.Result = o.opaque("result")
	if f.Result == "" && o.isString("result_text") {
		f.Result = o.opaque("result_text")
	}
	if status == Failed {
		f.Error = failure(o.raw("error"), []byte(f.Result))
	}
}

// putInteraction keeps what waits.
func (r *Reader) putInteraction(n *reducer.Interaction) {
	i := slices.IndexFunc(r.pending, func(p pending) bool { return p.id == n.InteractionID })
	switch {
	case n.State == reducer.InteractionPending && i < 0 && len(n.InteractionID)+len(n.ToolCallID) <= maxName:
		if len(r.pending) >= maxPending {
			r.pending = slices.Delete(r.pending, 0, 1)
		}
		r.pending = append(r.pending, pending{
			id: n.InteractionID, kind: n.InteractionKind, call: n.ToolCallID, run: strings.Clone(r.in.Run),
		})
	case n.State != reducer.InteractionPending && i >= 0:
		p := r.pending[i]
		r.pending = slices.Delete(r.pending, i, i+1)
		if p.kind == "approval" {
			r.approval(p, n)
		}
	}
}

// approval ends the wait of a call. Only an answer refuses it: what a crash
// left unanswered may be planned again.
func (r *Reader) approval(p pending, n *reducer.Interaction) {
	key := callKey{p.run, p.call}
	waits := slices.ContainsFunc(r.pending, func(o pending) bool {
		return o.kind == "approval" && o.call == p.call && o.run == p.run
	})
	answered := r.in.Event.Type == events.TypeInteractionResolved
	held := slices.Index(r.withheld, key)
	if held >= 0 && !waits {
		r.withheld = slices.Delete(r.withheld, held, held+1)
	}
	if !answered {
		return
	}
	f := r.add(Approval)
	f.CallID, f.ID, f.Run, f.Status = p.call, p.id, p.run, "refused"
	if n.State == "approved" {
		f.Status = "approved"
	}
	switch {
	case p.call == "":
	case n.State != "approved":
		f := r.call(p.call, Failed)
		f.Run = p.run
		f.Error = &Error{Code: "EXECUTION_REFUSED", Message: refusal(n.Response)}
	case held >= 0 && !waits:
		r.call(p.call, Started).Run = p.run
	}
}

// refusal is the reason a person gave, where there is one.
func refusal(response reducer.Raw) string {
	o := read([]byte(response))
	for _, name := range [...]string{"feedback", "reason", "message"} {
		if s := o.text(name); s != "" {
			return s
		}
	}
	return "Execution was refused."
}

// resultMessage is the message that a tool.result stands for.
func (r *Reader) resultMessage(ev *events.Event) {
	o := read(ev.Payload)
	id := o.text("toolCallId")
	if id == "" {
		return
	}
	f := r.add(Message)
	f.Role, f.CallID, f.Live, f.Blobs = "tool", id, true, blobsAt(ev, "/output")
	f.Content = textOr(o.raw("output"))
	f.Status = Completed
	if o.flag("isError") || o.flag("synthetic") {
		f.Status = Failed
	}
}

// textOr returns a value that is a string, else its bytes as a string.
func textOr(raw []byte) reducer.Raw {
	if scan.KindOf(raw) == scan.String {
		return reducer.Raw(raw)
	}
	return quote(string(raw))
}

// TextOr is textOr for other packages: the content of a message that carries a
// value.
func TextOr(raw reducer.Raw) reducer.Raw { return textOr([]byte(raw)) }

// ResultMetadata is the metadata of the message that a tool.result stands for.
func ResultMetadata(id, name string, isError bool) reducer.Raw {
	dst := scan.AppendQuote([]byte(`{"tool_call_id":`), id)
	dst = scan.AppendQuote(append(dst, `,"tool_name":`...), name)
	if isError {
		return reducer.Raw(append(dst, `,"is_error":true}`...))
	}
	return reducer.Raw(append(dst, `,"is_error":false}`...))
}
