package reducer_test

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stenohq/steno/pkg/reducer"
)

// reference applies operations in the plainest way that docs/transcript.md
// allows: slices, copies and scans, texts as UTF-16 like in a browser. It is
// what Transcript is compared with.
type reference struct {
	items        []*refItem
	tasks        []*refTask
	interactions []*reducer.Interaction
	attachments  []*reducer.Attachment
	todos        []*reducer.Todo
	prompts      []*reducer.Prompt
	meta         reducer.Meta
	more         bool
}

type refItem struct {
	id    string
	mark  reducer.Item
	turn  *reducer.Turn // header
	more  bool
	steps []*refStep
}

type refStep struct {
	head   *reducer.Step
	frames []*refFrame
}

type refFrame struct {
	head *reducer.Frame
	text []uint16
}

type refTask struct {
	head *reducer.Task
	text []uint16
}

// units converts WTF-8.
func units(s string) []uint16 {
	var out []uint16
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 && len(s) >= i+3 && s[i] == 0xED {
			r, size = 0xD000|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3
			out = append(out, uint16(r))
		} else {
			out = utf16.AppendRune(out, r)
		}
		i += size
	}
	return out
}

func encoded(v interface{ AppendJSON([]byte) []byte }) string { return string(v.AppendJSON(nil)) }

func growing(f *reducer.Frame) []uint16 {
	if f.Kind == reducer.FrameTool {
		return units(f.InputText.V)
	}
	return units(f.Text)
}

func (m *reference) find(id string) int {
	return slices.IndexFunc(m.items, func(it *refItem) bool { return it.id == id })
}

func (m *reference) turnAt(id string) *refItem {
	if i := m.find(id); i >= 0 && m.items[i].turn != nil {
		return m.items[i]
	}
	return nil
}

func (m *reference) below(ordinal int) bool {
	if !m.more {
		return false
	}
	for _, it := range m.items {
		if it.turn != nil {
			return ordinal < it.turn.Ordinal
		}
	}
	return false
}

func (m *reference) insertTurn(head *reducer.Turn) *refItem {
	if i := m.find(head.TurnID); i >= 0 { // a mark with this id
		m.items = slices.Delete(m.items, i, i+1)
	}
	it := &refItem{id: head.TurnID, turn: head}
	at := slices.IndexFunc(m.items, func(o *refItem) bool { return o.turn != nil && o.turn.Ordinal > head.Ordinal })
	if at < 0 {
		at = len(m.items)
	}
	m.items = slices.Insert(m.items, at, it)
	return it
}

// place returns the turn, made if it is missing; nil below the floor.
func (m *reference) place(id string) *refItem {
	if it := m.turnAt(id); it != nil {
		return it
	}
	ordinal := reducer.TurnOrdinal(id)
	if m.below(ordinal) {
		return nil
	}
	return m.insertTurn(&reducer.Turn{TurnID: id, Ordinal: ordinal, State: reducer.TurnRunning, Origin: reducer.Origin{Kind: reducer.OriginOther}})
}

func (it *refItem) step(id string) *refStep {
	for _, s := range it.steps {
		if s.head.StepID == id {
			return s
		}
	}
	return nil
}

func (it *refItem) belowSteps(ordinal int) bool {
	return it.more && len(it.steps) > 0 && ordinal < it.steps[0].head.Ordinal
}

func (it *refItem) insertStep(head *reducer.Step) *refStep {
	s := &refStep{head: head}
	at := slices.IndexFunc(it.steps, func(o *refStep) bool { return o.head.Ordinal > head.Ordinal })
	if at < 0 {
		at = len(it.steps)
	}
	it.steps = slices.Insert(it.steps, at, s)
	return s
}

// apply returns whether the operation changed something and whether it left a
// gap.
func (m *reference) apply(op *reducer.Op) (changed, gap bool) {
	before := m.json(true)
	switch op.Kind {
	case reducer.OpReset:
		m.reset(op.Snapshot)
		return true, false
	case reducer.OpTurnUpsert:
		m.upsertTurn(op.Turn)
	case reducer.OpStepUpsert:
		m.upsertStep(op)
	case reducer.OpFrameUpsert:
		m.upsertFrame(op)
	case reducer.OpAppend:
		return m.grow(op)
	case reducer.OpMarkerUpsert:
		m.upsertMark(reducer.Item{Marker: op.Marker}, op.BeforeTurn)
	case reducer.OpTaskRefUpsert:
		m.upsertMark(reducer.Item{TaskRef: op.TaskRef}, op.BeforeTurn)
	case reducer.OpItemsRemove:
		m.remove(op.IDs)
	case reducer.OpMetaMerge:
		m.merge(op.Meta)
	case reducer.OpTaskUpsert:
		m.upsertTask(op.Task)
	case reducer.OpInteractionUpsert:
		put(&m.interactions, op.Interaction, func(v *reducer.Interaction) string { return v.InteractionID })
	case reducer.OpAttachmentUpsert:
		put(&m.attachments, op.Attachment, func(v *reducer.Attachment) string { return v.AttachmentID })
	case reducer.OpTodoUpsert:
		put(&m.todos, op.Todo, func(v *reducer.Todo) string { return v.TodoID })
	case reducer.OpPromptUpsert:
		put(&m.prompts, op.Prompt, func(v *reducer.Prompt) string { return v.PromptID })
	}
	return m.json(true) != before, false
}

func put[T any](list *[]T, v T, id func(T) string) {
	for i, old := range *list {
		if id(old) == id(v) {
			(*list)[i] = v
			return
		}
	}
	*list = append(*list, v)
}

func (m *reference) upsertTurn(t *reducer.Turn) {
	it := m.turnAt(t.TurnID)
	if it == nil {
		if !m.below(t.Ordinal) {
			m.insertTurn(t).more = t.HasMoreSteps
		}
		return
	}
	it.turn, it.more = t, it.more || t.HasMoreSteps
}

func (m *reference) upsertStep(op *reducer.Op) {
	it := m.place(op.TurnID)
	if it == nil {
		return
	}
	if s := it.step(op.Step.StepID); s != nil {
		s.head = op.Step
	} else if !it.belowSteps(op.Step.Ordinal) {
		it.insertStep(op.Step)
	}
}

func (m *reference) upsertFrame(op *reducer.Op) {
	it := m.place(op.TurnID)
	if it == nil {
		return
	}
	s := it.step(op.StepID)
	if s == nil {
		ordinal := reducer.StepOrdinal(op.StepID)
		if it.belowSteps(ordinal) {
			return
		}
		s = it.insertStep(&reducer.Step{StepID: op.StepID, TurnID: op.TurnID, Ordinal: ordinal, State: reducer.StepRunning})
	}
	f := &refFrame{op.Frame, growing(op.Frame)}
	put(&s.frames, f, func(f *refFrame) string { return f.head.FrameID })
}

func (m *reference) upsertTask(t *reducer.Task) {
	put(&m.tasks, &refTask{t, units(t.OutputTail)}, func(t *refTask) string { return t.head.TaskID })
}

func (m *reference) grow(op *reducer.Op) (changed, gap bool) {
	chunk := units(op.Text)
	if op.Target.TaskID != "" {
		i := slices.IndexFunc(m.tasks, func(t *refTask) bool { return t.head.TaskID == op.Target.TaskID })
		if i < 0 {
			if m.more {
				return false, false
			}
			if op.Offset != 0 || len(chunk) == 0 {
				return false, op.Offset != 0
			}
			m.tasks = append(m.tasks, &refTask{&reducer.Task{TaskID: op.Target.TaskID, Kind: "other", State: "running"}, chunk})
			return true, false
		}
		m.tasks[i].text, changed, gap = growText(m.tasks[i].text, op.Offset, chunk)
		return changed, gap
	}
	it := m.turnAt(op.Target.TurnID)
	if it == nil {
		return false, !m.below(reducer.TurnOrdinal(op.Target.TurnID))
	}
	s := it.step(op.Target.StepID)
	if s == nil {
		return false, !it.belowSteps(reducer.StepOrdinal(op.Target.StepID))
	}
	for _, f := range s.frames {
		if f.head.FrameID == op.Target.FrameID && f.head.Kind != reducer.FrameNotice &&
			(f.head.Kind == reducer.FrameTool) == op.Target.InputText {
			f.text, changed, gap = growText(f.text, op.Offset, chunk)
			if changed && f.head.Kind == reducer.FrameTool && !f.head.InputText.Set {
				h := *f.head
				h.InputText = reducer.Some("")
				f.head = &h
			}
			return changed, gap
		}
	}
	return false, true
}

func growText(local []uint16, offset int, chunk []uint16) (text []uint16, changed, gap bool) {
	if offset > len(local) {
		return local, false, true
	}
	tail := local[offset:]
	if len(tail) >= len(chunk) {
		return local, false, !slices.Equal(tail[:len(chunk)], chunk)
	}
	if !slices.Equal(tail, chunk[:len(tail)]) {
		return local, false, true
	}
	return append(slices.Clone(local), chunk[len(tail):]...), true, false
}

func (m *reference) upsertMark(mark reducer.Item, before reducer.Opt[int]) {
	it := &refItem{id: mark.ID(), mark: mark}
	if i := m.find(it.id); i >= 0 {
		m.items[i] = it
		return
	}
	if before.Set && m.more && m.below(before.V) {
		return
	}
	at := len(m.items)
	if before.Set {
		if i := slices.IndexFunc(m.items, func(o *refItem) bool { return o.turn != nil && o.turn.Ordinal >= before.V }); i >= 0 {
			first := slices.IndexFunc(m.items, func(o *refItem) bool { return o.turn != nil })
			if m.more && m.items[first].turn.Ordinal == before.V {
				return // at the floor
			}
			at = i
		}
	}
	m.items = slices.Insert(m.items, at, it)
}

func (m *reference) remove(ids []string) {
	for _, id := range ids {
		i := m.find(id)
		if i < 0 {
			continue
		}
		for _, s := range m.items[i].steps {
			for _, f := range s.frames {
				m.interactions = slices.DeleteFunc(m.interactions, func(in *reducer.Interaction) bool {
					return f.head.Kind == reducer.FrameTool && in.ToolCallID != "" && in.ToolCallID == f.head.ToolCallID
				})
			}
		}
		m.items = slices.Delete(m.items, i, i+1)
	}
}

func (m *reference) merge(p *reducer.MetaPatch) {
	set(&m.meta.Goal, p.Goal)
	if p.Modes != nil {
		modes := reducer.Modes{}
		if m.meta.Modes != nil {
			modes = *m.meta.Modes
		}
		set(&modes.Plan, p.Modes.Plan)
		set(&modes.Swarm, p.Modes.Swarm)
		set(&modes.Tower, p.Modes.Tower)
		m.meta.Modes = &modes
		if modes == (reducer.Modes{}) {
			m.meta.Modes = nil
		}
	}
	if p.Activity != "" {
		m.meta.Activity = p.Activity
	}
	if p.Agent != nil {
		m.mergeAgent(p.Agent)
	}
}

func (m *reference) mergeAgent(p *reducer.AgentMeta) {
	a := reducer.AgentMeta{}
	if m.meta.Agent != nil {
		a = *m.meta.Agent
	}
	if p.Model.Set {
		a.Model = p.Model
	}
	if p.ContextTokens.Set {
		a.ContextTokens = p.ContextTokens
	}
	if p.Permission != "" {
		a.Permission = p.Permission
	}
	if p.Usage != nil {
		a.Usage = p.Usage
	}
	if p.Phase != nil {
		a.Phase = p.Phase
	}
	m.meta.Agent = &a
}

func set[T any](field **T, p reducer.Patch[T]) {
	if p.Clear {
		*field = nil
	}
	if p.To != nil {
		*field = p.To
	}
}

func (m *reference) reset(s *reducer.Snapshot) {
	*m = reference{meta: s.Meta(), more: s.HasMoreOlder()}
	for it := range s.Items() {
		item := &refItem{id: it.ID(), mark: it}
		if it.Turn != nil {
			item = &refItem{id: it.ID(), turn: it.Turn, more: it.Turn.HasMoreSteps}
			for _, step := range it.Turn.Steps {
				st := &refStep{head: step}
				for _, f := range step.Frames {
					st.frames = append(st.frames, &refFrame{f, growing(f)})
				}
				item.steps = append(item.steps, st)
			}
		}
		m.items = append(m.items, item)
	}
	for t := range s.Tasks() {
		m.tasks = append(m.tasks, &refTask{t, units(t.OutputTail)})
	}
	m.interactions = slices.Collect(s.Interactions())
	m.attachments = slices.Collect(s.Attachments())
	m.todos = slices.Collect(s.Todos())
	m.prompts = slices.Collect(s.Prompts())
}

// json writes the state as a snapshot. With exact texts every code unit shows;
// else halves are U+FFFD, as on the wire.
func (m *reference) json(exact bool) string {
	text := func(u []uint16) string {
		if !exact {
			return string(utf16.Decode(u))
		}
		var b strings.Builder
		for _, c := range u {
			b.WriteRune(rune(c)&0xFF | 0x4E00)
			b.WriteRune(rune(c)>>8 | 0x4E00)
		}
		return b.String()
	}
	var items, tasks []string
	for _, it := range m.items {
		if it.turn == nil {
			items = append(items, encoded(it.mark))
			continue
		}
		t := *it.turn
		t.HasMoreSteps, t.Steps = it.more, nil
		for _, s := range it.steps {
			step := *s.head
			step.Frames = nil
			for _, f := range s.frames {
				frame := *f.head
				switch {
				case frame.Kind != reducer.FrameTool:
					frame.Text = text(f.text)
				case frame.InputText.Set:
					frame.InputText.V = text(f.text)
				}
				step.Frames = append(step.Frames, &frame)
			}
			t.Steps = append(t.Steps, &step)
		}
		items = append(items, encoded(&t))
	}
	for _, k := range m.tasks {
		task := *k.head
		task.OutputTail = text(k.text)
		tasks = append(tasks, encoded(&task))
	}
	return `{"items":[` + strings.Join(items, ",") + `],"tasks":[` + strings.Join(tasks, ",") +
		`],"interactions":` + array(m.interactions) + `,"attachments":` + array(m.attachments) +
		`,"todos":` + array(m.todos) + `,"prompts":` + array(m.prompts) + `,"meta":` + encoded(&m.meta) +
		`,"hasMoreOlder":` + map[bool]string{true: "true", false: "false"}[m.more] + `}`
}

func array[T interface{ AppendJSON([]byte) []byte }](vs []T) string {
	var out []string
	for _, v := range vs {
		out = append(out, encoded(v))
	}
	return "[" + strings.Join(out, ",") + "]"
}
