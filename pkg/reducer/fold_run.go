package reducer

import (
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/events"
)

// foldRun is what the fold knows of the runs.
type foldRun struct {
	clean bool // the present run's last turn has ended and nothing has begun since
	ids   []string
	past  int // runs numbered before the first of ids
	now   int // number of the present one, from 1; 0 before the first
}

// maxRuns bounds the runs whose ids are remembered, as admission does.
const maxRuns = 256

// enter makes a run the present one. Steps remember the number of their run,
// because call ids repeat across runs.
func (r *foldRun) enter(id string) {
	r.clean = false
	if r.now = r.number(id); r.now > 0 {
		return
	}
	if len(r.ids) >= maxRuns {
		r.ids = append(r.ids[:0], r.ids[1:]...)
		r.past++
	}
	r.ids = append(r.ids, strings.Clone(id))
	r.now = r.past + len(r.ids)
}

// number returns the number of a run that is remembered, else 0.
func (r *foldRun) number(id string) int {
	if i := slices.Index(r.ids, id); i >= 0 {
		return r.past + i + 1
	}
	return 0
}

func (r *foldRun) active() { r.clean = false }
func (r *foldRun) ended()  { r.clean = true }

// NewRun closes what the former run left running, as of the time of the event
// that begins the new one. first says that there was none: then nothing is
// closed.
func (f *Fold) NewRun(ev *events.Event, first bool) {
	f.ev, f.at = ev, ""
	clean := f.run.clean
	f.run.enter(ev.Run())
	if first {
		return
	}
	f.flush()
	for _, t := range f.runningTurns() {
		f.endTurn(t, turnEnd{state: TurnCancelled})
	}
	f.interruptAll()
	if !clean {
		f.cancelInteractions(anyInteraction)
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
	f.cancelInteractions(anyInteraction)
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
