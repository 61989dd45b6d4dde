package term

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stenohq/steno/pkg/reducer"
)

// Ops writes what operations add.
func (p *Printer) Ops(agent string, ops []reducer.Op) {
	a := p.agent(agent)
	for i := range ops {
		p.op(agent, a, &ops[i])
	}
}

func (p *Printer) op(agent string, a *agentView, op *reducer.Op) {
	switch op.Kind {
	case reducer.OpReset:
		p.Note("the transcript was cut back")
		p.Snapshot(agent, op.Snapshot)
	case reducer.OpTurnUpsert:
		p.turn(agent, a, op.Turn)
	case reducer.OpStepUpsert:
		p.step(agent, a, op.TurnID, op.Step)
	case reducer.OpFrameUpsert:
		p.frame(agent, a, op.TurnID, op.Frame)
	case reducer.OpAppend:
		p.grow(agent, a, op)
	case reducer.OpMarkerUpsert:
		p.marker(agent, a, op.Marker)
	case reducer.OpTaskUpsert:
		p.task(agent, a, op.Task)
	case reducer.OpInteractionUpsert:
		p.interaction(agent, a, op.Interaction)
	case reducer.OpTodoUpsert:
		p.todo(agent, a, op.Todo)
	case reducer.OpPromptUpsert:
		p.prompt(agent, a, op.Prompt)
	case reducer.OpItemsRemove:
		p.line(agent, p.opts.Style.Dim("✂ taken back: "+Line(strings.Join(op.IDs, ", "))))
	case reducer.OpTaskRefUpsert, reducer.OpAttachmentUpsert, reducer.OpMetaMerge:
		// Tasks show themselves, attachments with their turn; meta is a
		// dashboard's.
	}
}

// Snapshot writes what a whole adds.
func (p *Printer) Snapshot(agent string, s *reducer.Snapshot) {
	a := p.agent(agent)
	for item := range s.Items() {
		p.item(agent, a, item)
	}
	for t := range s.Tasks() {
		p.task(agent, a, t)
	}
	for i := range s.Interactions() {
		p.interaction(agent, a, i)
	}
	for t := range s.Todos() {
		p.todo(agent, a, t)
	}
	for t := range s.Prompts() {
		p.prompt(agent, a, t)
	}
}

// Item writes what an item of the timeline adds.
func (p *Printer) Item(agent string, item reducer.Item) { p.item(agent, p.agent(agent), item) }

func (p *Printer) item(agent string, a *agentView, item reducer.Item) {
	switch {
	case item.Marker != nil:
		p.marker(agent, a, item.Marker)
	case item.Turn != nil:
		head := *item.Turn
		head.State = reducer.TurnRunning // its end is written behind its steps
		p.turn(agent, a, &head)
		for _, s := range item.Turn.Steps {
			for _, f := range s.Frames {
				p.frame(agent, a, item.Turn.TurnID, f)
			}
			p.step(agent, a, item.Turn.TurnID, s)
		}
		p.turn(agent, a, item.Turn)
	}
}

// turn writes how a turn begins and how it ends.
func (p *Printer) turn(agent string, a *agentView, t *reducer.Turn) {
	v := a.turn(t.TurnID)
	if v == nil {
		return
	}
	prompt := t.Prompt.Or("")
	if !v.begun && (prompt != "" || t.State != reducer.TurnQueued) {
		v.begun = true
		p.line(agent, p.opts.Style.Bold("▶ "+Line(t.TurnID)+" "+Line(string(t.Origin.Kind))))
	}
	if prompt != "" && a.news("prompt of "+t.TurnID, prompt) {
		p.whole(agent, "> ", prompt)
	}
	for _, id := range t.AttachmentIDs {
		if a.news("attachment "+id, "") {
			p.line(agent, p.opts.Style.Dim("> attachment "+Line(id)))
		}
	}
	end := p.turnEnd(t)
	if end == "" || end == v.ended {
		return
	}
	v.ended = end
	p.line(agent, end)
}

func (p *Printer) turnEnd(t *reducer.Turn) string {
	if t.State == reducer.TurnRunning || t.State == reducer.TurnQueued {
		return ""
	}
	text := "■ " + Line(t.TurnID) + " " + Line(string(t.State))
	if t.DurationMs.Set {
		text += fmt.Sprintf(" after %.1f s", t.DurationMs.V/1000)
	}
	if u := t.Usage; u != nil {
		text += fmt.Sprintf(", tokens %.0f in, %.0f cached, %.0f out", u.InputTokens.Or(0), u.CachedTokens.Or(0), u.OutputTokens.Or(0))
	}
	if t.Error.Set {
		return p.opts.Style.Red(text + ": " + Line(t.Error.V))
	}
	return p.opts.Style.Dim(text)
}

// step writes what went wrong in a step.
func (p *Printer) step(agent string, a *agentView, turnID string, s *reducer.Step) {
	v := a.turn(turnID)
	if v == nil {
		return
	}
	text := ""
	switch {
	case s.State == reducer.StepFailed || s.State == reducer.StepInterrupted:
		text = fmt.Sprintf("✗ step %s %s %s %s", Line(s.StepID), Line(string(s.State)), Line(s.EndReason.Or("")), Line(s.EndMessage.Or("")))
	case s.State == reducer.StepRunning && s.Retry != nil:
		text = fmt.Sprintf("↻ step %s retry %.0f of %.0f: %s %s", Line(s.StepID), s.Retry.NextAttempt, s.Retry.MaxAttempts,
			Line(s.Retry.ErrorName), Line(s.Retry.ErrorMessage))
	}
	if text == "" || v.steps[s.StepID] == text {
		return
	}
	v.steps[s.StepID] = text
	p.line(agent, p.opts.Style.Red(strings.TrimRight(text, " ")))
}

func (p *Printer) marker(agent string, a *agentView, m *reducer.Marker) {
	if a.news("marker "+m.MarkerID, string(m.Payload)) {
		p.line(agent, p.opts.Style.Cyan("◆ "+Line(m.Marker))+" "+Cut(Line(markerText(m)), 300))
	}
}

// markerText is what a notice says, and the payload of any other marker.
func markerText(m *reducer.Marker) string {
	var notice struct {
		Message string  `json:"message"`
		Count   float64 `json:"count"`
	}
	if m.Marker != "notice" || json.Unmarshal([]byte(m.Payload), &notice) != nil || notice.Message == "" {
		return string(m.Payload)
	}
	if notice.Count > 1 {
		return fmt.Sprintf("%s (%.0f times)", notice.Message, notice.Count)
	}
	return notice.Message
}

func (p *Printer) task(agent string, a *agentView, t *reducer.Task) {
	text := fmt.Sprintf("%s %s: %s", Line(t.Kind), Line(t.State), Line(t.Description.Or(t.TaskID)))
	if t.ResultSummary.Set {
		text += " → " + Cut(Line(t.ResultSummary.V), 300)
	}
	if t.Error.Set {
		text += " ✗ " + Cut(Line(t.Error.V), 300)
	}
	if a.news("task "+t.TaskID, text) {
		p.line(agent, "▣ "+text)
	}
}

func (p *Printer) interaction(agent string, a *agentView, i *reducer.Interaction) {
	text := fmt.Sprintf("%s %s %s", Line(i.InteractionKind), Line(i.State), Cut(Line(string(i.Request)), 300))
	if a.news("interaction "+i.InteractionID, text) {
		p.line(agent, "? "+text)
	}
}

func (p *Printer) todo(agent string, a *agentView, t *reducer.Todo) {
	var lines []string
	for _, item := range t.Items {
		box := map[string]string{"done": "☑", "in_progress": "◐"}[item.Status]
		if box == "" {
			box = "☐"
		}
		lines = append(lines, "  "+box+" "+Line(item.Title))
	}
	if len(lines) > 0 && a.news("todo "+t.TodoID, strings.Join(lines, "\n")) {
		for _, l := range lines {
			p.line(agent, l)
		}
	}
}

func (p *Printer) prompt(agent string, a *agentView, t *reducer.Prompt) {
	text := fmt.Sprintf("prompt %s %s %s", Line(t.PromptID), Line(t.Status), Cut(Line(string(t.Content)), 200))
	if a.news("queued "+t.PromptID, text) {
		p.line(agent, p.opts.Style.Dim("◇ "+text))
	}
}

// whole writes a text of several lines.
func (p *Printer) whole(agent, margin, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		p.line(agent, margin+Safe(strings.TrimSuffix(line, "\n")))
	}
}
