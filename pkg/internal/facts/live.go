package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/reducer"
)

// operations reads what the tree did.
func (r *Reader) operations(ops []reducer.Op) {
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case reducer.OpAppend:
			r.grow(op)
		case reducer.OpFrameUpsert:
			r.putFrame(op)
		case reducer.OpStepUpsert:
			r.putStep(op.Step)
		case reducer.OpTurnUpsert:
			r.putTurn(op.Turn)
		case reducer.OpInteractionUpsert:
			r.putInteraction(op.Interaction)
		case reducer.OpTodoUpsert:
			r.add(Todos).Todos = op.Todo.Items
		default: // makes no facts
		}
	}
}

func (r *Reader) find(key string) *step {
	for _, v := range slices.Backward(r.steps) {
		if v.key == key {
			return v
		}
	}
	return nil
}

// open finds a step or makes it.
func (r *Reader) open(key string) *step {
	if s := r.find(key); s != nil {
		return s
	}
	turnID, number, _ := strings.Cut(key, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 0
	}
	s := &step{key: key, turn: turnOrdinal(turnID), ordinal: n}
	if len(r.steps) >= maxSteps {
		r.forget()
	}
	r.steps = append(r.steps, s)
	return s
}

// forget drops the oldest step, an ended one where there is one.
func (r *Reader) forget() {
	i := max(0, slices.IndexFunc(r.steps, func(s *step) bool { return s.ended }))
	r.size -= r.steps[i].size
	r.steps = slices.Delete(r.steps, i, i+1)
}

func (r *Reader) putStep(h *reducer.Step) {
	s := r.open(h.StepID)
	r.step, r.settle = h.Ordinal, true
	if t := r.turn(s.turn); t != nil {
		t.highest = max(t.highest, h.Ordinal)
	}
	if h.State == reducer.StepRunning {
		if s.ended {
			s.ended = false
		}
		return
	}
	if !s.ended {
		s.ended, s.changed = true, true
	}
}

// begin marks where the step's message will stand.
func (r *Reader) begin(s *step) {
	s.changed = true
	if s.begun {
		return
	}
	s.begun = true
	s.run, s.seq, s.eventID = strings.Clone(r.in.Run), r.in.Seq, strings.Clone(eventID(r.in))
	f := r.add(Begun)
	f.StepKey, f.Turn = s.key, s.turn
}

func (r *Reader) putFrame(op *reducer.Op) {
	f := op.Frame
	if f.Kind == reducer.FrameNotice || f.Kind == reducer.FrameText && f.Role == reducer.RoleUser {
		return
	}
	s := r.find(op.StepID)
	var one *frame
	if s != nil {
		one = s.frame(f.FrameID)
	}
	r.settle = true
	if one == nil {
		if !content(r.in.Event.Type) || s != nil && s.fact {
			return
		}
		if s = r.open(op.StepID); s.over {
			return
		}
		one = &frame{id: f.FrameID, kind: f.Kind}
		s.add(one)
		r.resize(s, one.overhead())
		r.begin(s)
	}
	if f.Kind == reducer.FrameTool {
		r.putCall(s, one, f)
		return
	}
	if string(one.text) != f.Text && !s.over {
		r.resize(s, len(f.Text)-len(one.text))
		one.text = append(one.text[:0], f.Text...)
		s.changed = true
		r.bound(s)
	}
	one.blob = f.TextBlob
}

// content reports whether an event brings content of the live family. Other
// events change frames, but make no message.
func content(typ string) bool {
	switch typ {
	case events.TypeAssistantDelta, events.TypeThinkingDelta, events.TypeAssistantMessage, events.TypeThinkingMessage,
		events.TypeToolCallDelta, events.TypeToolCallStarted:
		return true
	}
	return false
}

// putCall keeps what a message says of a call; a call that a retry took back
// is not in it.
func (r *Reader) putCall(s *step, one *frame, f *reducer.Frame) {
	if r.in.Event.Type == events.TypeStepRetrying && f.State == reducer.ToolError && f.Error.V == "retried" {
		s.frames = slices.DeleteFunc(s.frames, func(o *frame) bool { return o == one })
		s.index, s.changed = nil, true
		r.resize(s, -one.overhead()-len(one.text)-len(one.input))
		r.add(Withdrawn).CallID = f.ToolCallID
		return
	}
	if s.over || one.callID == f.ToolCallID && one.name == f.Name && one.input == f.Input && string(one.text) == f.InputText.V {
		return
	}
	r.resize(s, len(f.InputText.V)+len(f.Input)-len(one.text)-len(one.input))
	one.callID, one.name, one.input = f.ToolCallID, f.Name, f.Input
	one.text = append(one.text[:0], f.InputText.V...)
	s.changed = true
	r.bound(s)
}

func (r *Reader) grow(op *reducer.Op) {
	if op.Target.TaskID != "" {
		return
	}
	s := r.find(op.Target.StepID)
	if s == nil || s.fact || s.over {
		return
	}
	if f := s.frame(op.Target.FrameID); f != nil {
		f.text = append(f.text, op.Text...)
		r.resize(s, len(op.Text))
		s.changed = true
		r.settle = r.settle || s.ended
		r.bound(s)
	}
}

// resize counts what a step's content takes.
func (r *Reader) resize(s *step, by int) {
	s.size += by
	r.size += by
}

// bound gives up the content of a step that is longer than a history may be,
// and, where several are open, of the oldest when all of them are far longer.
func (r *Reader) bound(s *step) {
	limit := r.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if s.size > limit {
		r.giveUp(s)
	}
	for _, o := range r.steps {
		if r.size <= 4*limit {
			return
		}
		if o.size > 0 {
			r.giveUp(o)
		}
	}
}

func (r *Reader) giveUp(s *step) {
	r.resize(s, -s.size)
	s.over, s.changed, r.settle = true, true, true
	s.frames, s.index = nil, nil
}

func (r *Reader) turn(ordinal int) *turn {
	for _, v := range slices.Backward(r.turns) {
		if v.ordinal == ordinal {
			return v
		}
	}
	return nil
}

func (r *Reader) putTurn(h *reducer.Turn) {
	t := r.turn(h.Ordinal)
	if t == nil {
		if len(r.turns) >= maxTurns {
			r.turns = slices.Delete(r.turns, 0, 1)
		}
		t = &turn{ordinal: h.Ordinal}
		i := len(r.turns)
		for i > 0 && r.turns[i-1].ordinal > h.Ordinal {
			i--
		}
		r.turns = slices.Insert(r.turns, i, t)
	}
	r.nextTurn = max(r.nextTurn, h.Ordinal+1)
	was := t.running
	t.running, t.prompt = h.State == reducer.TurnRunning, ""
	if t.running {
		for _, o := range r.turns {
			o.prompt = ""
		}
		t.prompt = h.Prompt.V
	}
	switch r.in.Event.Type {
	case events.TypeTurnEnded, events.TypeTerminal:
	default:
		return
	}
	switch {
	case h.State == reducer.TurnCompleted:
		r.finalStep(h.Ordinal)
	case h.State == reducer.TurnFailed && was:
		f := r.add(TurnFailed)
		if f.ID, f.Text = h.TurnID, h.Error.V; f.Text == "" {
			f.Text = read(r.in.Event.Payload).text("reason")
		}
	}
}

// finalStep marks the last step of a turn that ended completed.
func (r *Reader) finalStep(ordinal int) {
	for _, v := range slices.Backward(r.steps) {
		if s := v; s.turn == ordinal {
			if s.begun && !s.fact && !s.hasCalls() && !s.final {
				s.final, s.changed, r.settle = true, true, true
			}
			return
		}
	}
}

// undo forgets what was taken back.
func (r *Reader) undo(from int) {
	r.steps = slices.DeleteFunc(r.steps, func(s *step) bool {
		if s.turn >= from {
			r.size -= s.size
		}
		return s.turn >= from
	})
	r.turns = slices.DeleteFunc(r.turns, func(t *turn) bool { return t.ordinal >= from })
	r.add(Undone).Turn = from
}

// finish reports the messages of steps that have ended or changed since, and
// lets go of what only the newest step can still need.
func (r *Reader) finish() {
	if !r.settle {
		return
	}
	r.settle = false
	for i, s := range r.steps {
		if !s.ended || s.fact {
			continue
		}
		if s.changed && s.begun {
			s.changed = false
			r.facts = append(r.facts, s.message())
			if s.final {
				f := r.add(Final)
				f.StepKey, f.Turn = s.key, s.turn
				f.Text = s.text(reducer.FrameText)
			}
		}
		if i < len(r.steps)-1 {
			r.resize(s, -s.size)
			s.fact, s.frames, s.index = true, nil, nil
		}
	}
}
