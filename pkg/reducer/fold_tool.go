package reducer

import (
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
)

// findCall returns the newest frame of a tool call, a running one first; nil
// when no turn that is held has it.
func (f *Fold) findCall(id string) *foldFrame {
	newest := f.calls[id]
	for fr := newest; fr != nil; fr = fr.older {
		if fr.head.State == ToolRunning {
			return fr
		}
	}
	return newest
}

// callOfRun returns the newest frame of a call that began in that run, or in
// none; for a run without a name any run's.
func (f *Fold) callOfRun(run, id string) *foldFrame {
	if run == "" {
		return f.findCall(id)
	}
	number := f.run.number(run)
	for fr := f.calls[id]; fr != nil; fr = fr.older {
		if fr.step.run == number || fr.step.run == 0 {
			return fr
		}
	}
	return nil
}

// callIn returns the frame of a call in a step, or a running one elsewhere in
// its turn.
func (f *Fold) callIn(s *foldStep, id string) *foldFrame {
	for fr := f.calls[id]; fr != nil; fr = fr.older {
		if fr.step == s || fr.step.turn == s.turn && fr.head.State == ToolRunning {
			return fr
		}
	}
	return nil
}

// newCall adds a tool frame, not yet emitted.
func (f *Fold) newCall(s *foldStep, id string) *foldFrame {
	frameID := s.head.StepID + "." + id
	for mayCollide(id) && s.frame(frameID) != nil {
		frameID += "'"
	}
	f.born++
	fr := &foldFrame{step: s, older: f.calls[id], born: f.born}
	fr.head = &Frame{Kind: FrameTool, FrameID: frameID, ToolCallID: id, State: ToolRunning}
	s.frames = append(s.frames, fr)
	f.calls[id] = fr
	return fr
}

// mayCollide reports whether a call has the name of a text frame, or one made
// to differ from that.
func mayCollide(id string) bool { return strings.HasPrefix(id, "f") || strings.HasSuffix(id, "'") }

// whereCall finds or opens the step of a call; nil, and nothing opened, when
// the event does not name the call.
func (p *foldPayload) whereCall(id string) *foldStep {
	if id == "" {
		return nil
	}
	return p.where()
}

// toolCallDelta folds tool.call.delta.
func (f *Fold) toolCallDelta(p *foldPayload) {
	id, name := p.key("toolCallId"), p.word("name")
	p.text("argumentsPart")
	s := p.whereCall(id)
	if s == nil {
		return
	}
	f.flush()
	fr := f.callIn(s, id)
	if fr == nil {
		fr = f.newCall(s, id)
	}
	h := fr.now()
	changed := fr.size == 0 || fr.void || !h.InputText.Set || h.Name == "" && name != ""
	if h.Name == "" {
		h.Name = name
	}
	if !h.InputText.Set {
		h.InputText = Some("")
	}
	fr.revive(&h)
	if changed {
		f.putFrame(fr, h)
	}
	part, _ := scan.Unquote(p.value("argumentsPart"))
	if part = fr.text.take(part); part == "" {
		return
	}
	if fr.head.State == ToolRunning {
		f.grow(fr, part)
		return
	}
	// Nothing will re-send an ended call, so readers without appends get it
	// whole.
	fr.text.add(part)
	fr.growing = true
	f.putFrame(fr, fr.now())
}

// toolCallStarted folds tool.call.started.
func (f *Fold) toolCallStarted(p *foldPayload) {
	id := p.key("toolCallId")
	name := p.required("name")
	task, view := p.word("taskId"), p.word("view")
	s := p.whereCall(id)
	if s == nil {
		return
	}
	f.flush()
	fr := f.callIn(s, id)
	if fr == nil {
		fr = f.newCall(s, id)
	}
	h := fr.now()
	if name.V != "" {
		h.Name = name.V
	}
	fr.revive(&h)
	if args := parsedJSON(p.value("args")); args != "" {
		h.Input = args
	}
	if display := p.raw("display"); display != "" {
		h.Display = display
	}
	if view != "" {
		h.View = view
	}
	if task != "" {
		h.TaskID = task
	}
	if blob := f.blob("/args"); blob != nil {
		h.InputBlob = blob
	}
	if isTodoWrite(h.Name, h.Input) {
		h.TodoID = todoID
	}
	f.finishInput(fr, &h)
	f.putFrame(fr, h)
}

// revive lets a call that a retry had ended run again.
func (fr *foldFrame) revive(h *Frame) {
	if fr.void {
		fr.void, h.State, h.Error = false, ToolRunning, Opt[string]{}
	}
}

// finishInput shows what was held back of streamed arguments.
func (f *Fold) finishInput(fr *foldFrame, h *Frame) {
	if rest := fr.text.rest(); rest != "" {
		fr.text.add(rest)
		h.InputText = Some(fr.text.String())
	}
}

// parsedJSON returns the JSON that a string holds, where it holds one, else
// the value itself.
func parsedJSON(raw []byte) Raw {
	if scan.KindOf(raw) == scan.String {
		if s, ok := scan.Unquote(raw); ok {
			if inner := scan.Trim([]byte(s)); scan.Valid(inner) {
				return Raw(inner)
			}
		}
	}
	return Raw(raw)
}

// toolCallExecuting folds tool.call.executing: it matters to resume only.
func (f *Fold) toolCallExecuting(p *foldPayload) { p.key("toolCallId") }

// toolProgress folds tool.progress.
func (f *Fold) toolProgress(p *foldPayload) {
	id := p.key("toolCallId")
	progress := p.progress("update")
	fr := f.findCall(id)
	if fr == nil || progress == nil {
		return
	}
	h := fr.now()
	h.Progress = progress
	f.putFrame(fr, h)
}

func (p *foldPayload) progress(name string) *Progress {
	u, ok := p.object(name)
	if !ok {
		if !p.has(name) {
			p.bad(name, "is missing")
		}
		return nil
	}
	if !u.has("kind") {
		u.bad("kind", "is missing")
	}
	progress := &Progress{
		Kind: u.oneOf("kind", "stdout", "stderr", "progress", "status", "custom"),
		Text: u.text("text"), Percent: u.number("percent"),
		CustomKind: u.text("customKind"), CustomData: u.raw("customData"),
	}
	if progress.Kind == "" {
		return nil
	}
	return progress
}

// toolResult folds tool.result.
func (f *Fold) toolResult(p *foldPayload) {
	id := p.key("toolCallId")
	isError, synthetic := p.flag("isError").V, p.flag("synthetic").V
	output := p.value("output")
	fr := f.findCall(id)
	if fr == nil {
		return
	}
	r := callResult{output: Raw(output), blob: f.blob("/output"), failed: isError || synthetic}
	if r.failed {
		if s, ok := foldString(output); ok {
			r.error = Some(s)
		}
	}
	f.putResult(fr, r)
}

// callResult is how a tool call ended.
type callResult struct {
	output Raw
	blob   *BlobRef
	failed bool
	error  Opt[string]
}

// putResult settles a tool frame, and the todo document it wrote.
func (f *Fold) putResult(fr *foldFrame, r callResult) {
	h := fr.now()
	f.finishInput(fr, &h)
	h.State, h.Error = ToolDone, Opt[string]{}
	if r.failed {
		h.State, h.Error = ToolError, r.error
	}
	h.Output, h.OutputBlob = r.output, r.blob
	if !h.InputText.Set && sameFrame(&h, fr.head) {
		return // the same result in another form
	}
	f.putFrame(fr, h)
	if !r.failed && h.TodoID != "" {
		if items, ok := todoItems(h.Input); ok {
			f.putTodo(items)
		}
	}
}

// interruptTools ends the running tools of a turn; those with a task only when
// all is set.
func (f *Fold) interruptTools(t *foldTurn, all bool) {
	for _, s := range t.steps {
		if s.busy == 0 {
			continue
		}
		for _, fr := range s.frames {
			if fr.head.Kind != FrameTool || fr.head.State != ToolRunning || !all && f.hasTask(fr) {
				continue
			}
			h := fr.now()
			f.finishInput(fr, &h)
			h.State, h.Error = ToolError, Some("interrupted")
			f.putFrame(fr, h)
		}
	}
}

// hasTask reports whether a tool goes on as a running task.
func (f *Fold) hasTask(fr *foldFrame) bool {
	if fr.head.TaskID == "" {
		return false
	}
	e := f.tasks.find(fr.head.TaskID)
	return e == nil || e.task.State == taskRunning
}
