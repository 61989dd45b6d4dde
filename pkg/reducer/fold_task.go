package reducer

import (
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// The states of a task.
const (
	taskRunning   = "running"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskTimedOut  = "timed_out"
	taskKilled    = "killed"
	taskLost      = "lost"
)

// taskStarted folds task.started.
func (f *Fold) taskStarted(p *foldPayload) {
	info, ok := f.taskInfo(p)
	if !ok {
		return
	}
	e := f.putInfo(p, info, taskRunning)
	if e == nil {
		return
	}
	f.addTaskRef(e.id)
	if e.task.AgentID != "" {
		f.agents.set(e.task.AgentID, e.id)
	}
}

// taskTerminated folds task.terminated.
func (f *Fold) taskTerminated(p *foldPayload) {
	info, ok := f.taskInfo(p)
	if !ok {
		return
	}
	f.putInfo(p, info, taskCompleted)
}

func (f *Fold) taskInfo(p *foldPayload) (info foldPayload, ok bool) {
	if !p.has("info") {
		p.bad("info", "is missing")
		return info, false
	}
	return p.object("info")
}

// putInfo folds the info of a task into it; state is what it has when the
// info does not say.
func (f *Fold) putInfo(p *foldPayload, info foldPayload, state string) *foldEntity {
	tail := p.text("outputTail")
	if !tail.Set {
		tail = info.text("outputTail")
	}
	id, call := info.key("taskId"), info.word("toolCallId")
	t := Task{Kind: infoKind(info.word("kind")), Detached: true, AgentID: info.word("agentId")}
	t.State = info.taskState("status", state)
	t.Description, t.StartedAt, t.EndedAt = info.text("description"), info.time("startedAt"), info.time("endedAt")
	detached := info.flag("detached")
	if id == "" {
		return nil
	}
	e := f.task(id)
	h := e.nowTask()
	if !info.has("kind") && e.size > 0 {
		t.Kind = h.Kind
	}
	if e.size > 0 {
		t.Detached = h.Detached
	}
	if detached.Set {
		t.Detached = detached.V
	}
	h.Kind, h.State, h.Detached = t.Kind, t.State, t.Detached
	over(&h.Description, t.Description)
	overWord(&h.AgentID, t.AgentID)
	overWord(&h.StartedAt, t.StartedAt)
	overWord(&h.EndedAt, t.EndedAt)
	if h.StartedAt == "" {
		h.StartedAt = f.now()
	}
	if h.EndedAt == "" && h.State != taskRunning {
		h.EndedAt = f.now()
	}
	if tail.Set {
		e.setOutput(tail.V)
		h.OutputTail = e.text.String()
	}
	f.putTask(e, h, f.anchor(call, id))
	return e
}

// anchor links the frame of a call to a task and returns its turn.
func (f *Fold) anchor(call, taskID string) *foldTurn {
	fr := f.findCall(call)
	if call == "" || fr == nil {
		return nil
	}
	if fr.head.TaskID != taskID {
		h := fr.now()
		h.TaskID = taskID
		f.putFrame(fr, h)
	}
	return fr.step.turn
}

// task finds a task that is held, or makes one that is not yet emitted.
func (f *Fold) task(id string) *foldEntity {
	if e := f.tasks.find(id); e != nil {
		return e
	}
	return f.tasks.add(&foldEntity{id: id, task: &Task{TaskID: id, Kind: "other", State: taskRunning}})
}

// nowTask returns the task as it is, for the one who will put another.
func (e *foldEntity) nowTask() Task {
	t := *e.task
	if e.growing {
		t.OutputTail = e.text.String()
	}
	return t
}

// putTask replaces a task; t is the turn that began it, nil for the current
// one.
func (f *Fold) putTask(e *foldEntity, h Task, t *foldTurn) {
	fresh := e.size == 0
	e.task, e.growing = &h, false
	f.resize(&e.size, f.jsonSize(&h))
	f.push(OpTaskUpsert).Task = &h
	if h.State != taskRunning {
		f.endEntity(&f.tasks, e, nil)
		return
	}
	if e.ended != stillOpen {
		f.openEntity(&f.tasks, e)
		fresh = true
	}
	if t == nil && fresh && f.current != nil && f.current.head.State == TurnRunning {
		t = f.current
	}
	f.hold(e, t)
}

// infoKind maps the kinds that runtimes use to the closed set.
func infoKind(kind string) string {
	switch kind {
	case "process", "shell":
		return "shell"
	case "agent", "subagent":
		return "subagent"
	case "tool":
		return "tool"
	}
	return "other"
}

func (p *foldPayload) taskState(name, absent string) string {
	if !p.has(name) {
		return absent
	}
	s := p.oneOf(name, taskRunning, taskCompleted, taskFailed, taskTimedOut, taskKilled, taskLost)
	if s == "" {
		return absent
	}
	return s
}

// time reads a time in Unix milliseconds, or in RFC 3339.
func (p *foldPayload) time(name string) string {
	raw := p.value(name)
	if scan.KindOf(raw) == scan.String {
		s := p.word(name)
		ms, ok := events.ParseTime(s)
		if !ok {
			p.bad(name, "should be a time")
			return ""
		}
		return events.FormatTime(ms)
	}
	v := p.number(name)
	if !v.Set {
		return ""
	}
	if v.V < events.MinMillis || v.V > events.MaxMillis {
		p.bad(name, "should be a time in milliseconds")
		return ""
	}
	return events.FormatTime(int64(v.V))
}

func overWord(field *string, v string) {
	if v != "" {
		*field = v
	}
}

// taskNotified folds task.notified: seen only while a step runs.
func (f *Fold) taskNotified(p *foldPayload) {
	title, body, task := p.word("title"), p.word("body"), p.word("sourceId")
	if s := f.runningStep(); s != nil {
		f.flush()
		f.userText(s, strings.TrimSpace(title+"\n"+body), task, nil, nil)
	}
}

func (f *Fold) runningStep() *foldStep {
	if f.current == nil || f.current.head.State != TurnRunning {
		return nil
	}
	if s := f.current.current; s != nil && s.head.State == StepRunning {
		return s
	}
	return nil
}
