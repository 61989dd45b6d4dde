package reducer

import "github.com/stenohq/steno/pkg/events/scan"

// shellTask finds or makes the task of a command; "" when none is named.
func (f *Fold) shellTask(p *foldPayload) *foldEntity {
	command, id := p.key("commandId"), p.word("taskId")
	if command == "" {
		return nil
	}
	if learnt := f.shells.get(command); learnt != "" {
		id = learnt
	}
	if id == "" {
		id = "shell-" + command
	}
	e := f.task(id)
	if e.size == 0 {
		h := *e.task
		h.Kind, h.StartedAt = "shell", f.now()
		f.putTask(e, h, nil)
	}
	f.addTaskRef(id)
	return e
}

// shellStarted folds shell.started.
func (f *Fold) shellStarted(p *foldPayload) {
	if command, id := p.word("commandId"), p.word("taskId"); command != "" && id != "" {
		f.shells.set(command, id)
	}
	e := f.shellTask(p)
	if e == nil || e.task.State == taskRunning {
		return
	}
	h := e.nowTask()
	h.State, h.EndedAt = taskRunning, ""
	f.putTask(e, h, nil)
}

// shellOutput folds shell.output; an update without text does nothing.
func (f *Fold) shellOutput(p *foldPayload) {
	update, ok := p.object("update")
	if !ok {
		if !p.has("update") {
			p.bad("update", "is missing")
		}
		return
	}
	text := update.text("text")
	if !text.Set || text.V == "" {
		return
	}
	if e := f.shellTask(p); e != nil {
		chunk, _ := scan.Unquote(update.value("text"))
		f.growTask(e, chunk)
	}
}

// shellCompleted folds shell.completed.
func (f *Fold) shellCompleted(p *foldPayload) {
	failed := p.flag("isError").V
	e := f.shellTask(p)
	if e == nil {
		return
	}
	h := e.nowTask()
	h.State, h.EndedAt = taskCompleted, f.now()
	if failed {
		h.State = taskFailed
	}
	f.endOutput(e, &h)
	f.putTask(e, h, nil)
}

// endOutput shows what was held back of a task's output.
func (f *Fold) endOutput(e *foldEntity, h *Task) {
	if rest := e.text.rest(); rest != "" {
		e.text.add(rest)
		e.total++
		e.trim()
		h.OutputTail = e.text.String()
	}
}
