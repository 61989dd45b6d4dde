package reducer

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// turnStarted folds turn.started.
func (f *Fold) turnStarted(p *foldPayload) {
	id, ok := p.ordinal("turnId", 0)
	if !ok {
		return
	}
	origin, given := p.origin("origin")
	prompt := p.text("prompt")
	if !given && prompt.Set {
		origin.Kind = OriginUser
	}
	t := f.startTurn(id)
	h := *t.head
	fresh := h.State == ""
	h.State, h.EndedAt, h.DurationMs, h.Error = TurnRunning, "", Opt[float64]{}, Opt[string]{}
	unknown := h.Origin.Kind == OriginOther && h.Origin.Payload == ""
	if fresh || given || unknown && prompt.Set {
		h.Origin = origin
	}
	if fresh {
		h.StartedAt = f.now()
	}
	if prompt.Set {
		h.Prompt = prompt
	}
	if ids := f.attach(t, p.attachments()); ids != nil {
		h.AttachmentIDs = ids
	}
	f.putTurn(t, h)
	f.run.active()
}

// startTurn opens a new turn or reopens one that is held. Whatever runs ends.
func (f *Fold) startTurn(id Opt[int]) *foldTurn {
	f.flush()
	if !id.Set {
		return f.newTurn(f.next)
	}
	if t := f.findTurn(id.V); t != nil {
		f.alias = foldAlias{}
		for _, other := range f.runningTurns() {
			if other != t {
				f.endTurn(other, f.impliedEnd(other))
			}
		}
		if s := t.current; s != nil && s.head.State == StepRunning {
			f.endStep(s, StepCompleted)
		}
		t.floor, t.current = t.highest, nil
		f.current = t
		return t
	}
	n := id.V
	f.alias = foldAlias{}
	if n < f.used {
		n = f.next
		f.alias = foldAlias{true, id.V, n}
		f.count(Notice{
			Key: "turn number", Level: LevelWarning, Event: "turn.started", Field: "turnId",
			Message: "turn number " + strconv.Itoa(id.V) + " is closed already; turn " + turnID(n) + " begins instead",
		})
	}
	return f.newTurn(n)
}

// turnEnded folds turn.ended.
func (f *Fold) turnEnded(p *foldPayload) {
	id, ok := p.ordinal("turnId", 0)
	if !ok {
		return
	}
	reason := p.oneOf("reason", "completed", "cancelled", "failed", "blocked")
	if !p.has("reason") {
		p.bad("reason", "is missing")
	}
	duration, message, why := p.number("durationMs"), p.failure("error"), p.word("interruptReason")
	f.run.ended()
	t := f.namedTurn(id)
	if t == nil {
		return
	}
	ran := t.head.State == TurnRunning
	end := turnEnd{error: message, duration: duration}
	switch reason {
	case "completed":
		end.state = TurnCompleted
	case "cancelled":
		end.state = TurnCancelled
	case "failed", "blocked":
		end.state = TurnFailed
	default:
		end.state = t.head.State
		if ran {
			end.state = f.impliedEnd(t).state
		}
	}
	f.endTurn(t, end)
	if ran && end.state == TurnCancelled && why == "user_cancelled" {
		f.interruption(t, why)
	}
}

// interruption leaves the marker of a turn that a person stopped, once.
func (f *Fold) interruption(t *foldTurn, reason string) {
	dst := strconv.AppendInt([]byte(`{"turnId":`), int64(t.head.Ordinal), 10)
	dst = scan.AppendQuote(append(dst, `,"reason":`...), reason)
	f.addMarker("interruption", Raw(append(dst, '}')))
}

// turnEnd is how a turn ends.
type turnEnd struct {
	state    TurnState
	error    Opt[string]
	duration Opt[float64]
}

// impliedEnd is how a turn ends whose end nobody reported.
func (f *Fold) impliedEnd(t *foldTurn) turnEnd {
	if s := t.lastStep(); s != nil && s.head.State == StepCompleted {
		return turnEnd{state: TurnCompleted}
	}
	return turnEnd{state: TurnCancelled}
}

// endRunning ends every turn that runs.
func (f *Fold) endRunning() {
	f.flush()
	for _, t := range f.runningTurns() {
		f.endTurn(t, f.impliedEnd(t))
	}
}

func (f *Fold) runningTurns() []*foldTurn {
	var running []*foldTurn
	if f.stats.RunningTurns == 0 {
		return nil
	}
	for _, t := range f.turns {
		if t.head.State == TurnRunning {
			running = append(running, t)
		}
	}
	return running
}

// endTurn closes what the turn left open and puts its end.
func (f *Fold) endTurn(t *foldTurn, end turnEnd) {
	f.flush()
	f.interruptTools(t, false)
	stepEnd := StepInterrupted
	if end.state == TurnCompleted {
		stepEnd = StepCompleted
	}
	for _, s := range t.steps {
		if s.head.State == StepRunning {
			f.endStep(s, stepEnd)
		}
	}
	h := *t.head
	h.State, h.EndedAt, h.Error, h.DurationMs = end.state, f.now(), end.error, end.duration
	h.Usage = t.usage()
	f.putTurn(t, h)
}

// endStep puts the end of a running step.
func (f *Fold) endStep(s *foldStep, state StepState) {
	h := *s.head
	h.State, h.EndedAt, h.Retry = state, f.now(), nil
	f.putStep(s, h)
}

// usage is the sum over the turn's steps, nil when none reported any.
func (t *foldTurn) usage() *TurnUsage {
	sum := t.past
	for _, s := range t.steps {
		sum.add(s.head)
	}
	if sum == (TurnUsage{}) {
		return nil
	}
	return &sum
}

// add adds what a step used.
func (u *TurnUsage) add(s *Step) {
	if s.Usage != nil {
		u.InputTokens = Some(u.InputTokens.V + s.Usage.InputOther + s.Usage.InputCacheCreation)
		u.CachedTokens = Some(u.CachedTokens.V + s.Usage.InputCacheRead)
		u.OutputTokens = Some(u.OutputTokens.V + s.Usage.Output)
	}
	if s.Cost.Set {
		u.Cost = Some(u.Cost.V + s.Cost.V)
	}
}

// origin reads what opened a turn: an object, or its kind alone.
func (p *foldPayload) origin(name string) (origin Origin, given bool) {
	raw := p.value(name)
	if kind, ok := foldString(raw); ok {
		return Origin{Kind: originKind(kind, "")}, true
	}
	o, ok := p.object(name)
	if !ok {
		return Origin{Kind: OriginOther}, false
	}
	kind := o.word("kind")
	origin.Payload = Raw(raw)
	switch kind {
	case "cron", "cron_job", "cron_missed":
		origin.TaskID = o.word("jobId")
		if origin.TaskID == "" {
			origin.TaskID = o.word("taskId")
		}
	case "task", "background_task":
		if scan.KindOf(o.value("taskId")) == scan.String {
			origin.TaskID = o.word("taskId")
		}
	}
	origin.Kind = originKind(kind, origin.TaskID)
	return origin, true
}

// originKind maps the kinds that runtimes use to the closed set.
func originKind(kind, taskID string) OriginKind {
	switch kind {
	case "user", "shell_command":
		return OriginUser
	case "cron", "cron_job", "cron_missed":
		return OriginCron
	case "task", "background_task":
		if taskID != "" {
			return OriginTask
		}
	case "hook", "hook_result":
		return OriginHook
	case "compaction", "compaction_summary":
		return OriginCompaction
	case "side":
		return OriginSide
	}
	return OriginOther
}

// failure reads an error: an object with a message, or a string.
func (p *foldPayload) failure(name string) Opt[string] {
	raw := p.value(name)
	switch scan.KindOf(raw) {
	case scan.Object:
		e, _ := p.object(name)
		message := e.text("message")
		if code := e.value("code"); !message.Set && scan.KindOf(code) == scan.String {
			return e.text("code")
		}
		return message
	case scan.Invalid, scan.String:
		return p.text(name)
	default:
		p.wrong(name, "an object with a message, or a string", raw)
		return Opt[string]{}
	}
}
