package reducer

import (
	"slices"
	"strconv"
)

// Each function here changes the state and emits the operation that says so,
// so that the operations applied in order always give the state.

// putTurn replaces a turn's header.
func (f *Fold) putTurn(t *foldTurn, h Turn) {
	h.Steps = nil
	if sameTurn(&h, t.head) && t.size > 0 {
		return
	}
	f.stats.turnChanged(t.head, &h)
	t.head = &h
	f.resize(&t.size, f.jsonSize(&h))
	f.tally(t)
	f.push(OpTurnUpsert).Turn = &h
}

// putStep replaces a step's header.
func (f *Fold) putStep(s *foldStep, h Step) {
	h.Frames = nil
	if sameStep(&h, s.head) && s.size > 0 {
		return
	}
	f.stats.stepChanged(s.head, &h)
	s.head = &h
	f.resize(&s.size, f.jsonSize(&h))
	f.tallyStep(s)
	op := f.push(OpStepUpsert)
	op.TurnID, op.Step = s.turn.head.TurnID, &h
}

// putFrame replaces a frame with its whole text.
func (f *Fold) putFrame(fr *foldFrame, h Frame) { f.putSized(fr, h, f.jsonSize(&h)) }

// putSized is putFrame for a frame whose size is known.
func (f *Fold) putSized(fr *foldFrame, h Frame, size int) {
	f.busyTool(fr, fr.head.Kind == FrameTool && fr.head.State == ToolRunning && fr.size > 0,
		h.Kind == FrameTool && h.State == ToolRunning)
	fr.head = &h
	fr.growing = false
	f.resize(&fr.size, size)
	op := f.push(OpFrameUpsert)
	op.TurnID, op.StepID, op.Frame = fr.step.turn.head.TurnID, fr.step.head.StepID, &h
}

// now returns the frame as it is, for the one who will put another.
func (fr *foldFrame) now() Frame {
	h := *fr.head
	if fr.growing {
		fr.fill(&h)
	}
	return h
}

func (fr *foldFrame) fill(h *Frame) {
	if h.Kind == FrameTool {
		h.InputText = Some(fr.text.String())
	} else {
		h.Text = fr.text.String()
	}
}

// busyTool counts the running tools of a step and its turn.
func (f *Fold) busyTool(fr *foldFrame, was, is bool) {
	switch {
	case is && !was:
		fr.step.busy++
		fr.step.turn.busy++
		f.tally(fr.step.turn)
		f.tallyStep(fr.step)
		f.stats.RunningTools++
	case was && !is:
		fr.step.busy--
		f.release(fr.step.turn)
		f.tallyStep(fr.step)
		f.stats.RunningTools--
	}
}

// release takes away one thing that kept a turn from being closed.
func (f *Fold) release(t *foldTurn) {
	t.busy--
	f.tally(t)
}

// grow appends to a frame's text and emits the append.
func (f *Fold) grow(fr *foldFrame, chunk string) {
	if chunk == "" {
		return
	}
	offset := fr.text.units
	chunk = fr.text.add(chunk)
	fr.growing = true
	f.resize(&fr.size, fr.size+escapedLen(chunk))
	op := f.push(OpAppend)
	op.Target = Target{
		TurnID: fr.step.turn.head.TurnID, StepID: fr.step.head.StepID, FrameID: fr.head.FrameID,
		InputText: fr.head.Kind == FrameTool,
	}
	op.Offset, op.Text = offset, chunk
}

// addMarker adds a marker at the end of the timeline and returns its id.
func (f *Fold) addMarker(name string, payload Raw) string {
	m := &Marker{MarkerID: f.markerID(), Marker: name, Payload: payload, At: f.now()}
	item := &foldItem{marker: m}
	f.addLoose(m.MarkerID, item)
	f.resize(&item.size, f.jsonSize(m))
	op := f.push(OpMarkerUpsert)
	op.Marker, op.BeforeTurn = m, f.atEnd()
	return m.MarkerID
}

// replaceMarker replaces a marker that is held.
func (f *Fold) replaceMarker(item *foldItem, m *Marker) {
	item.marker = m
	f.resize(&item.size, f.jsonSize(m))
	op := f.push(OpMarkerUpsert)
	op.Marker, op.BeforeTurn = m, Some(f.before(item))
}

// addTaskRef shows where a task began, once.
func (f *Fold) addTaskRef(taskID string) {
	id := "ref-" + taskID
	if f.items[id] != nil {
		return
	}
	if f.refsClosed {
		// A task id that is used again after its reference has closed: readers
		// that still have it would leave it in its old place.
		f.push(OpItemsRemove).IDs = []string{id}
	}
	r := &TaskRef{RefID: id, TaskID: taskID, At: f.now()}
	item := &foldItem{ref: r}
	f.addLoose(id, item)
	f.resize(&item.size, f.jsonSize(r))
	op := f.push(OpTaskRefUpsert)
	op.TaskRef, op.BeforeTurn = r, f.atEnd()
}

// atEnd is the place of a new item as readers get it: behind every turn so
// far. A reader who gets it late, or again after it has let it go, then does
// not put it behind turns that began since.
func (f *Fold) atEnd() Opt[int] { return Some(f.next) }

func (f *Fold) addLoose(id string, item *foldItem) {
	f.link(item, nil)
	f.items[id] = item
	if len(f.queue) > 2*f.loose+64 {
		f.queue = slices.DeleteFunc(f.queue, func(i *foldItem) bool { return i.gone })
	}
	f.queue = append(f.queue, item)
	f.loose++
	f.stir()
}

// newTurn makes a turn and ends the one that runs. The caller puts the header.
func (f *Fold) newTurn(ordinal int) *foldTurn {
	f.endRunning()
	t := &foldTurn{head: &Turn{TurnID: turnID(ordinal), Ordinal: ordinal, Origin: Origin{Kind: OriginOther}}}
	f.insertTurn(t)
	f.current = t
	f.stats.Turns++
	f.stir()
	return t
}

// newStep makes a step in a turn and completes the one that runs. The caller
// puts the header.
func (f *Fold) newStep(t *foldTurn, n int) *foldStep {
	f.flush()
	if s := t.current; s != nil && s.head.State == StepRunning {
		f.endStep(s, StepCompleted)
	}
	s := &foldStep{turn: t, run: f.run.now, head: &Step{StepID: t.head.TurnID + "." + strconv.Itoa(n), TurnID: t.head.TurnID, Ordinal: n}}
	t.insertStep(s)
	t.current = s
	f.stir()
	return s
}

// newFrame adds a text or thinking frame, not yet emitted.
func (f *Fold) newFrame(s *foldStep, kind FrameKind, role FrameRole) *foldFrame {
	id := ""
	for taken := true; taken; taken = f.calls[id[len(s.head.StepID)+1:]] != nil && s.frame(id) != nil {
		s.texts++
		id = s.head.StepID + ".f" + strconv.Itoa(s.texts)
	}
	fr := &foldFrame{step: s, head: &Frame{Kind: kind, FrameID: id, Role: role}}
	s.frames = append(s.frames, fr)
	return fr
}

// frame finds a frame by id.
func (s *foldStep) frame(id string) *foldFrame {
	for _, fr := range s.frames {
		if fr.head.FrameID == id {
			return fr
		}
	}
	return nil
}
