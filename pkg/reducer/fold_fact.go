package reducer

import "github.com/stenohq/steno/pkg/events/scan"

// The five facts of runtimes that write no live events.

// factMessage folds message.
func (f *Fold) factMessage(p *foldPayload) {
	role := p.oneOf("role", "user", "assistant", "tool", "system", "summary")
	if !p.has("role") {
		p.bad("role", "is missing")
	}
	meta, _ := p.object("metadata")
	meta.f, meta.prefix = f, p.prefix+"metadata."
	switch role {
	case "user":
		f.userFact(p, &meta)
	case "assistant":
		f.assistantFact(p, &meta)
	case "tool":
		f.toolFact(p, &meta)
	}
}

func (f *Fold) userFact(p, meta *foldPayload) {
	text, attachments := p.content("content")
	if meta.word("source") == "completion_gate" {
		s := f.contentStep(Opt[int]{}, Opt[int]{})
		f.flush()
		f.userText(s, text.V, "", f.blob("/content"), f.attach(s.turn, attachments))
		return
	}
	f.endLoopStep()
	t := f.newTurn(f.next)
	h := *t.head
	h.State, h.StartedAt, h.Origin = TurnRunning, f.now(), Origin{Kind: OriginUser}
	h.Prompt = text
	h.AttachmentIDs = f.attach(t, attachments)
	f.putTurn(t, h)
	f.run.active()
}

// endLoopStep completes the running step of a loop: one that has its message
// is whole, however its turn ends.
func (f *Fold) endLoopStep() {
	f.flush()
	if t := f.current; t != nil && t.current != nil && t.current.loop && t.current.head.State == StepRunning {
		f.endStep(t.current, StepCompleted)
	}
}

func (f *Fold) assistantFact(p, meta *foldPayload) {
	text, attachments := p.content("content")
	reasoning := meta.word("reasoning")
	calls := meta.objects("tool_calls")
	t := f.contentTurn(Opt[int]{})
	s := t.current
	if s == nil || s.head.State != StepRunning || s.loop {
		s = f.openStep(t, t.highest+1)
	}
	s.loop = true
	if reasoning != "" {
		f.putWhole(s, whole{kind: FrameThinking, text: reasoning})
	}
	// A message without content says nothing of the text: what was streamed
	// stays.
	if text.Set {
		f.putWhole(s, whole{kind: FrameText, text: text.V, blob: f.blob("/content"), attachments: f.attach(t, attachments)})
	}
	f.flush()
	for i := range calls {
		f.announce(s, &calls[i])
	}
}

// announce makes the frame of a tool call that an assistant message lists.
func (f *Fold) announce(s *foldStep, p *foldPayload) {
	id := p.key("id")
	function, nested := p.object("function")
	if !nested {
		function = *p
	}
	name, args := function.word("name"), parsedJSON(function.value("arguments"))
	if id != "" {
		f.announced(s, id, name, args)
	}
}

// announced finds or makes the running frame of a call, and fills in what it
// does not have.
func (f *Fold) announced(s *foldStep, id, name string, args Raw) *foldFrame {
	fr := f.callIn(s, id)
	if fr == nil {
		fr = f.newCall(s, id)
	}
	h := fr.now()
	fr.revive(&h)
	if h.Name == "" {
		h.Name = name
	}
	if h.Input == "" {
		h.Input = args
	}
	if isTodoWrite(h.Name, h.Input) {
		h.TodoID = todoID
	}
	if fr.size == 0 || !sameFrame(&h, fr.head) {
		f.putFrame(fr, h)
	}
	return fr
}

func (f *Fold) toolFact(p, meta *foldPayload) {
	id := meta.key("tool_call_id")
	failed := meta.flag("is_error").V || meta.flag("recovered").V
	fr := f.findCall(id)
	if fr == nil {
		return
	}
	r := callResult{output: fr.head.Output, blob: fr.head.OutputBlob, error: fr.head.Error}
	if r.output == "" {
		r.output, r.blob = p.raw("content"), f.blob("/content")
	}
	r.failed = fr.head.State == ToolError || fr.head.State == ToolRunning && failed
	if r.failed && !r.error.Set {
		if s, ok := foldString([]byte(r.output)); ok {
			r.error = Some(s)
		}
	}
	f.putResult(fr, r)
}

// factLifecycle folds tool_lifecycle.
func (f *Fold) factLifecycle(p *foldPayload) {
	id, name := p.key("tool_call_id"), p.word("tool_name")
	status := p.oneOf("status", "requested", "started", "completed", "failed")
	if !p.has("status") {
		p.bad("status", "is missing")
	}
	args, failure, text := parsedJSON(p.value("args")), p.failure("error"), p.value("result_text")
	if text != nil {
		p.text("result_text")
	}
	if id == "" || status == "" {
		return
	}
	fr := f.findCall(id)
	if fr != nil && fr.step.run != f.run.now && fr.head.Output != "" {
		fr = nil // another call, whose id an older run has used before
	}
	if fr == nil {
		s := f.contentStep(Opt[int]{}, Opt[int]{})
		f.flush()
		fr = f.announced(s, id, name, args)
	} else {
		f.announced(fr.step, id, name, args)
	}
	if status == "requested" || status == "started" {
		return
	}
	r := callResult{output: p.raw("result"), blob: f.blob("/result"), failed: status == "failed", error: failure}
	if r.output == "" && scan.KindOf(text) == scan.String {
		r.output = Raw(text)
	}
	if r.failed && !r.error.Set {
		r.error = innerError(r.output)
	}
	if r.output == "" {
		r.output, r.blob = fr.head.Output, fr.head.OutputBlob
	}
	f.putResult(fr, r)
}

// innerError finds the message of an error inside a tool's own result:
// {"error":{"message":…}}.
func innerError(result Raw) (message Opt[string]) {
	inner := []byte(result)
	for _, name := range [...]string{"error", "message"} {
		if scan.KindOf(inner) != scan.Object {
			return message
		}
		inner, _ = scan.Get(inner, name)
	}
	if s, ok := foldString(inner); ok {
		message = Some(s)
	}
	return message
}

// factCheckpoint folds checkpoint.
func (f *Fold) factCheckpoint(p *foldPayload) {
	p.text("checkpoint_id")
	f.addMarker("compaction", p.with("phase", "completed", "runtime_state"))
}

// factTransition folds state_transition.
func (f *Fold) factTransition(p *foldPayload) {
	reason, to := p.text("reason"), p.text("to_state")
	if t := f.current; t != nil {
		phase := &Phase{
			Kind: "running", TurnID: Some(float64(t.head.Ordinal)), Step: Some(0.0), StepID: Some(""),
			Since: Some(float64(f.millis())), Reason: reason,
		}
		if s := t.current; s != nil {
			phase.Step, phase.StepID = Some(float64(s.head.Ordinal)), Some(s.head.StepID)
		}
		f.putMeta(MetaPatch{Agent: &AgentMeta{Phase: phase}})
	}
	switch reason.V {
	case "model_recovery_failed", "unrecoverable_error":
		message := reason.V
		if to.V != "" {
			message += " (" + to.V + ")"
		}
		f.addMarker("notice", noticePayload(Notice{Level: LevelError, Message: message, Event: f.ev.Type, Detail: p.all()}, 0))
	}
}

// factTerminal folds terminal.
func (f *Fold) factTerminal(p *foldPayload) {
	reason := p.key("reason")
	f.run.ended()
	f.endLoopStep()
	t := f.current
	if t == nil || t.head.State != TurnRunning {
		return
	}
	end := turnEnd{state: TurnFailed, error: Some(reason)}
	switch reason {
	case "completed", "completed_unverified":
		end = turnEnd{state: TurnCompleted}
	case "cancelled", "interrupted", "user_abort":
		end = turnEnd{state: TurnCancelled}
	}
	f.endTurn(t, end)
}

// actionDecided folds action.decided: a person settled a call that was left
// uncertain.
func (f *Fold) actionDecided(p *foldPayload) {
	id, decision := p.key("toolCallId"), p.oneOf("decision", "done", "failed", "retry")
	if !p.has("decision") {
		p.bad("decision", "is missing")
	}
	run := p.word("run_id")
	by, note := p.word("by"), p.word("note")
	if id == "" || decision == "" {
		return
	}
	if fr := f.callOfRun(run, id); fr != nil && decision != "retry" {
		h := fr.now()
		f.finishInput(fr, &h)
		h.State, h.Error = ToolDone, Opt[string]{}
		if decision == "failed" {
			h.State, h.Error = ToolError, Some(note)
			if note == "" {
				h.Error = Some("a person decided that it failed")
			}
		}
		if result := p.raw("result"); result != "" {
			h.Output = result
		}
		f.putFrame(fr, h)
	}
	if by == "" {
		by = "someone"
	}
	message := by + " decided on " + id + ": " + decision
	if note != "" {
		message += " (" + note + ")"
	}
	f.addMarker("notice", noticePayload(Notice{Level: LevelInfo, Message: message, Event: f.ev.Type, Detail: p.all()}, 0))
}
