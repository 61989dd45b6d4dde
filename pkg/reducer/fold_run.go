package reducer

import "github.com/stenohq/steno/pkg/events"

// foldRun is what the fold knows of the present run.
type foldRun struct {
	clean bool // its last turn has ended and nothing has begun since
}

func (r *foldRun) active() { r.clean = false }
func (r *foldRun) ended()  { r.clean = true }

// NewRun closes what the former run left running, as of the time of the event
// that begins the new one. first says that there was none: then nothing is
// closed.
func (f *Fold) NewRun(ev *events.Event, first bool) {
	f.ev, f.at = ev, ""
	clean := f.run.clean
	f.run = foldRun{}
	if first {
		return
	}
	f.flush()
	for _, t := range f.runningTurns() {
		f.endTurn(t, turnEnd{state: TurnCancelled})
	}
	f.interruptAll()
	if !clean {
		f.cancelInteractions()
		f.orphanTasks()
	}
	f.current, f.alias = nil, foldAlias{}
}

// interruptAll ends every running tool.
func (f *Fold) interruptAll() {
	if f.stats.RunningTools == 0 {
		return
	}
	for _, t := range f.turns {
		if t.busy > 0 {
			f.interruptTools(t, true)
		}
	}
}

// orphanTasks marks the running tasks of a run that died: lost, but those that
// go on without it.
func (f *Fold) orphanTasks() {
	for e := f.tasks.first; e != nil; e = e.next {
		if e.task.State != taskRunning {
			continue
		}
		h := e.nowTask()
		switch {
		case h.Kind == "subagent":
			h.StateReason = Some("parent restarted")
		case h.Detached:
			continue
		default:
			h.State, h.EndedAt = taskLost, f.now()
			f.endOutput(e, &h)
		}
		f.putTask(e, h, nil)
	}
}

// agentDisposed folds agent.disposed.
func (f *Fold) agentDisposed(p *foldPayload) {
	p.text("reason")
	f.flush()
	for _, t := range f.runningTurns() {
		f.endTurn(t, turnEnd{state: TurnCancelled})
	}
	f.interruptAll()
	f.cancelInteractions()
	for e := f.tasks.first; e != nil; e = e.next {
		if e.task.State == taskRunning {
			h := e.nowTask()
			h.State, h.EndedAt = taskLost, f.now()
			f.endOutput(e, &h)
			f.putTask(e, h, nil)
		}
	}
	f.roster.self.DisposedAt = f.now()
	f.run.ended()
}
