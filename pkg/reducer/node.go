package reducer

import (
	"slices"
	"strconv"
	"strings"
)

// The tree of one agent, as the Transcript keeps it. The heads (Turn without
// steps, Step without frames, Frame, Task) are the immutable values that came
// in operations; what changes in small pieces, the sequences and the growing
// texts, stands beside them.

type turnNode struct {
	ed    *edit
	head  *Turn // without Steps and HasMoreSteps
	more  bool  // HasMoreSteps
	steps list[*stepNode]

	shuffled bool // steps do not stand in the order of their ordinals
}

type stepNode struct {
	ed     *edit
	head   *Step // without Frames
	frames list[*frameNode]
}

// frameNode's text is the frame's Text, or a tool frame's InputText.
type frameNode struct {
	ed    *edit
	head  *Frame
	text  grown
	moved bool // text has grown since head came
}

type taskNode struct {
	ed    *edit
	head  *Task
	text  grown // OutputTail
	moved bool
}

func (n *turnNode) key() string    { return n.head.TurnID }
func (n *stepNode) key() string    { return n.head.StepID }
func (n *frameNode) key() string   { return n.head.FrameID }
func (n *taskNode) key() string    { return n.head.TaskID }
func (it Item) key() string        { return it.ID() }
func (i *Interaction) key() string { return i.InteractionID }
func (a *Attachment) key() string  { return a.AttachmentID }
func (t *Todo) key() string        { return t.TodoID }
func (p *Prompt) key() string      { return p.PromptID }

// turn builds the public value. It shares everything immutable.
func (n *turnNode) turn() *Turn {
	t := *n.head
	t.HasMoreSteps = n.more
	t.Steps = make([]*Step, 0, n.steps.n)
	for w := n.steps.from(0); w.ok; w.next() {
		t.Steps = append(t.Steps, w.val.step())
	}
	return &t
}

func (n *stepNode) step() *Step {
	s := *n.head
	s.Frames = make([]*Frame, 0, n.frames.n)
	for w := n.frames.from(0); w.ok; w.next() {
		s.Frames = append(s.Frames, w.val.frame())
	}
	return &s
}

func (n *frameNode) frame() *Frame {
	if !n.moved {
		return n.head
	}
	f := *n.head
	if f.Kind == FrameTool {
		f.InputText = Some(n.text.String())
	} else {
		f.Text = n.text.String()
	}
	return &f
}

func (n *taskNode) task() *Task {
	if !n.moved {
		return n.head
	}
	t := *n.head
	t.OutputTail = n.text.String()
	return &t
}

func newFrameNode(ed *edit, f *Frame) *frameNode {
	n := &frameNode{ed: ed, head: f}
	if f.Kind == FrameTool {
		n.text = textOf(f.InputText.V)
	} else {
		n.text = textOf(f.Text)
	}
	return n
}

func newTaskNode(ed *edit, t *Task) *taskNode {
	return &taskNode{ed: ed, head: t, text: textOf(t.OutputTail)}
}

// TurnOrdinal reads the ordinal out of a turn id, t<ordinal>; 0 when the id
// is not of this form.
func TurnOrdinal(id string) int {
	if !strings.HasPrefix(id, "t") {
		return 0
	}
	return digits(id[1:])
}

// StepOrdinal reads the ordinal out of a step id, <turnId>.<ordinal>; 0 when
// the id is not of this form.
func StepOrdinal(id string) int { return digits(id[strings.LastIndexByte(id, '.')+1:]) }

// maxOrdinal is the largest integer that every client holds exactly.
const maxOrdinal = 1<<53 - 1

func digits(s string) int {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > maxOrdinal {
		return 0
	}
	return int(n)
}

// sameTurn compares headers.
func sameTurn(a, b *Turn) bool {
	return a.TurnID == b.TurnID && a.Ordinal == b.Ordinal && a.State == b.State && a.Origin == b.Origin &&
		a.Prompt == b.Prompt && slices.Equal(a.AttachmentIDs, b.AttachmentIDs) &&
		a.StartedAt == b.StartedAt && a.EndedAt == b.EndedAt && same(a.Usage, b.Usage) &&
		a.DurationMs == b.DurationMs && a.Error == b.Error
}

// sameStep compares headers.
func sameStep(a, b *Step) bool {
	return a.StepID == b.StepID && a.TurnID == b.TurnID && a.Ordinal == b.Ordinal && a.State == b.State &&
		a.StartedAt == b.StartedAt && a.EndedAt == b.EndedAt && same(a.Usage, b.Usage) &&
		a.Model == b.Model && a.Cost == b.Cost && a.FinishReason == b.FinishReason &&
		same(a.Timing, b.Timing) && same(a.Retry, b.Retry) &&
		a.EndReason == b.EndReason && a.EndMessage == b.EndMessage
}

// sameFrame compares everything but the growing text.
func sameFrame(a, b *Frame) bool {
	return a.Kind == b.Kind && a.FrameID == b.FrameID && a.Role == b.Role &&
		slices.Equal(a.AttachmentIDs, b.AttachmentIDs) && same(a.TextBlob, b.TextBlob) && a.TaskID == b.TaskID &&
		a.ToolCallID == b.ToolCallID && a.Name == b.Name && a.View == b.View && a.State == b.State &&
		a.Input == b.Input && a.Output == b.Output && a.Display == b.Display && a.Error == b.Error &&
		a.InputText.Set == b.InputText.Set && same(a.Progress, b.Progress) &&
		a.ApprovalID == b.ApprovalID && a.TodoID == b.TodoID && slices.Equal(a.AgentRefs, b.AgentRefs) &&
		same(a.InputBlob, b.InputBlob) && same(a.OutputBlob, b.OutputBlob) &&
		a.Level == b.Level && a.Source == b.Source && a.Message == b.Message && a.Detail == b.Detail
}

// sameTask compares everything but the growing text.
func sameTask(a, b *Task) bool {
	return a.TaskID == b.TaskID && a.Kind == b.Kind && a.State == b.State && a.Detached == b.Detached &&
		a.Description == b.Description && a.AgentID == b.AgentID && a.StartedAt == b.StartedAt &&
		a.EndedAt == b.EndedAt && a.ResultSummary == b.ResultSummary && a.Error == b.Error &&
		a.StateReason == b.StateReason && same(a.Usage, b.Usage)
}

func sameAttachment(a, b *Attachment) bool {
	return a.AttachmentID == b.AttachmentID && a.MediaType == b.MediaType && a.Name == b.Name && a.Size == b.Size &&
		same(a.Source, b.Source) && a.Placeholder == b.Placeholder
}

func sameTodo(a, b *Todo) bool {
	return a.TodoID == b.TodoID && a.UpdatedAt == b.UpdatedAt && slices.Equal(a.Items, b.Items)
}

func sameItem(a, b Item) bool { return same(a.Marker, b.Marker) && same(a.TaskRef, b.TaskRef) }

// same compares optional values.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
