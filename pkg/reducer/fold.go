package reducer

import "github.com/stenohq/steno/pkg/events"

// FoldVersion is raised with any change that alters the operations, snapshots
// or state of the fold.
const FoldVersion = 1

// Fold turns the admitted events of one agent into operations and keeps what
// can still change: the open turns, and the newest part of the timeline. It is
// a pure function of the calls made to it. One goroutine uses a Fold at a
// time; the operations and snapshots it returns are immutable.
//
// Begin starts the batch of one log record, the other methods add to it, and
// End settles what has to be closed and returns the batch's operations.
type Fold struct {
	agentID string
	sink    FoldSink

	foldTimeline
	foldEntities
	foldBatch
	foldBounds
	notices foldNotices
	run     foldRun
	meta    Meta
	roster  foldRoster
	stats   Stats
	view    *Transcript // what is held, for snapshots; nil when a batch has changed it
	undone  Opt[int]    // from which turn on the present batch took turns back
	shells  foldNames   // task ids of shell commands
	agents  foldNames   // task ids of sub-agents

	scratch []foldMember
}

// NewFold returns the fold of an empty log. A nil sink drops what closes.
func NewFold(agentID string, sink FoldSink) *Fold {
	f := &Fold{agentID: agentID, sink: sink}
	f.items = map[string]*foldItem{}
	f.initEntities()
	f.notices.init()
	return f
}

// ReuseOps makes the operations of a batch valid until the next Begin only.
func (f *Fold) ReuseOps() { f.reuse = true }

// Begin starts the batch of record seq, stored at storedAt (Unix
// milliseconds).
func (f *Fold) Begin(seq uint64, storedAt int64) {
	f.undone, f.view = Opt[int]{}, nil
	f.beginBatch(seq, storedAt)
}

// Event folds one admitted event. It reports whether the type is known.
func (f *Fold) Event(ev *events.Event) bool {
	f.ev = ev
	f.at = ""
	if f.deltaEvent(ev) {
		if len(f.notices.bad) > 0 {
			f.reportFields()
		}
		return true
	}
	fold, known := foldTable(ev.Type)
	if !known {
		return false
	}
	p := f.payload(ev)
	fold(f, &p)
	f.reportFields()
	return true
}

// End settles what has to be closed and returns the operations of the batch.
func (f *Fold) End() []Op {
	f.settle()
	ops := f.endBatch()
	f.ev = nil
	f.letGo()
	return ops
}

// letGo forgets the event's bytes, and buffers that one large event made.
func (f *Fold) letGo() {
	if cap(f.scratch) > 256 {
		f.scratch = nil
	}
	clear(f.scratch)
	f.scratch = f.scratch[:0]
	if cap(f.buf) > 1<<16 {
		f.buf = nil
	}
}

// Recover ends a batch in which the fold itself went wrong: what was done
// stays, a notice says so, and a reset tells readers the state, because the
// operations up to there may not say all of it.
func (f *Fold) Recover(eventType string) []Op {
	f.notices.bad = f.notices.bad[:0]
	f.count(Notice{
		Key: "panic\x00" + eventType, Level: LevelError, Event: eventType,
		Message: "an event of type " + eventType + " could not be folded and was left out",
	})
	f.settle()
	f.slab = f.slab[:f.start:f.start]
	f.reset()
	ops := f.endBatch()
	f.ev = nil
	return ops
}

type foldFunc func(*Fold, *foldPayload)

// foldTable names the function that folds an event type.
func foldTable(typ string) (fold foldFunc, known bool) {
	switch typ {
	case "agent.started":
		return (*Fold).agentStarted, true
	case "agent.disposed":
		return (*Fold).agentDisposed, true
	case "turn.started":
		return (*Fold).turnStarted, true
	case "turn.ended":
		return (*Fold).turnEnded, true
	case "turn.step.started":
		return (*Fold).stepStarted, true
	case "turn.step.completed":
		return (*Fold).stepCompleted, true
	case "turn.step.interrupted":
		return (*Fold).stepInterrupted, true
	case "turn.step.retrying":
		return (*Fold).stepRetrying, true
	case "assistant.message":
		return (*Fold).assistantMessage, true
	case "thinking.message":
		return (*Fold).thinkingMessage, true
	case "user.message":
		return (*Fold).userMessage, true
	case "tool.call.delta":
		return (*Fold).toolCallDelta, true
	case "tool.call.started":
		return (*Fold).toolCallStarted, true
	case "tool.call.executing":
		return (*Fold).toolCallExecuting, true
	case "tool.progress":
		return (*Fold).toolProgress, true
	case "tool.result":
		return (*Fold).toolResult, true
	case "todo.updated":
		return (*Fold).todoUpdated, true
	}
	if fold, known = foldTaskTable(typ); known {
		return fold, true
	}
	if fold, known = foldMarkerTable(typ); known {
		return fold, true
	}
	return foldStateTable(typ)
}

// foldTaskTable has the types about work beside the turns.
func foldTaskTable(typ string) (fold foldFunc, known bool) {
	switch typ {
	case "task.started":
		return (*Fold).taskStarted, true
	case "task.terminated":
		return (*Fold).taskTerminated, true
	case "task.notified":
		return (*Fold).taskNotified, true
	case "shell.started":
		return (*Fold).shellStarted, true
	case "shell.output":
		return (*Fold).shellOutput, true
	case "shell.completed":
		return (*Fold).shellCompleted, true
	case "subagent.spawned":
		return (*Fold).subagentSpawned, true
	case "subagent.started":
		return (*Fold).subagentStarted, true
	case "subagent.completed":
		return (*Fold).subagentCompleted, true
	case "subagent.failed":
		return (*Fold).subagentFailed, true
	case "subagent.suspended":
		return (*Fold).subagentSuspended, true
	}
	return nil, false
}

// foldMarkerTable has the types that leave a marker.
func foldMarkerTable(typ string) (fold foldFunc, known bool) {
	switch typ {
	case "plan_mode.enter":
		return (*Fold).planEnter, true
	case "plan_mode.exit", "plan_mode.cancel":
		return (*Fold).planExit, true
	case "swarm_mode.enter":
		return (*Fold).swarmEnter, true
	case "swarm_mode.exit":
		return (*Fold).swarmExit, true
	case "tower_mode.enter":
		return (*Fold).towerEnter, true
	case "tower_mode.exit":
		return (*Fold).towerExit, true
	case "plan.revision":
		return (*Fold).planRevision, true
	case "compaction.started", "compaction.blocked", "compaction.cancelled", "compaction.completed":
		return (*Fold).compaction, true
	case "hook.result":
		return (*Fold).hookResult, true
	case "skill.activated":
		return (*Fold).skillActivated, true
	case "plugin_command.activated":
		return (*Fold).pluginCommand, true
	case "cron.fired":
		return (*Fold).cronFired, true
	case "context.spliced":
		return (*Fold).contextSpliced, true
	case "context.undo":
		return (*Fold).contextUndo, true
	case "context.clear":
		return (*Fold).contextClear, true
	case "error", "warning":
		return (*Fold).errorReported, true
	case "steno.skipped":
		return (*Fold).skipped, true
	}
	return nil, false
}

// foldStateTable has the types about the agent's condition, what waits for
// people, and the five facts.
func foldStateTable(typ string) (fold foldFunc, known bool) {
	switch typ {
	case "goal.updated":
		return (*Fold).goalUpdated, true
	case "agent.status.updated":
		return (*Fold).statusUpdated, true
	case "agent.activity.updated":
		return (*Fold).activityUpdated, true
	case "prompt.submitted":
		return (*Fold).promptSubmitted, true
	case "prompt.completed":
		return (*Fold).promptCompleted, true
	case "prompt.aborted":
		return (*Fold).promptAborted, true
	case "prompt.steered":
		return (*Fold).promptSteered, true
	case "interaction.request":
		return (*Fold).interactionRequest, true
	case "interaction.resolved":
		return (*Fold).interactionResolved, true
	case "action.decided":
		return (*Fold).actionDecided, true
	case "message":
		return (*Fold).factMessage, true
	case "state_transition":
		return (*Fold).factTransition, true
	case "tool_lifecycle":
		return (*Fold).factLifecycle, true
	case "checkpoint":
		return (*Fold).factCheckpoint, true
	case "terminal":
		return (*Fold).factTerminal, true
	}
	return nil, false
}
