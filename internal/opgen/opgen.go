// Package opgen generates operations for property tests.
package opgen

import (
	"fmt"

	"github.com/stenohq/steno/pkg/reducer"
)

// Source decides what is generated: Int returns a number from 0 to most.
type Source interface{ Int(most int) int }

// Options choose what a log may contain.
type Options struct {
	// Clean logs are as a fold emits them: headers before what they hold,
	// appends that fit, ids of one kind each, no surrogate halves, no resets.
	Clean bool
	// OwnOrdinals keeps turns and steps to the ordinals of their ids.
	OwnOrdinals bool
	// NoRemove leaves items.remove out.
	NoRemove bool
}

// Log draws up to n operations that make sense one after the other.
func Log(src Source, n int, o Options) []reducer.Op {
	g := &generator{Source: src, Options: o, state: reducer.NewTranscript("main")}
	for range src.Int(n) {
		g.add(g.op())
	}
	return g.log
}

type generator struct {
	Source
	Options
	state *reducer.Transcript
	log   []reducer.Op
}

func (g *generator) add(op reducer.Op) {
	g.state.Apply([]reducer.Op{op})
	g.log = append(g.log, op)
}

func (g *generator) pick(from ...string) string {
	return one(g, from...)
}

func (g *generator) coin() bool { return g.Int(1) == 1 }

// one picks a value; the first is the simplest.
func one[T any](g *generator, from ...T) T { return from[g.Int(len(from)-1)] }

func (g *generator) op() reducer.Op {
	kinds := reducer.OpKinds()
	kind := one(g, append(kinds, reducer.OpAppend, reducer.OpAppend, reducer.OpAppend,
		reducer.OpFrameUpsert, reducer.OpFrameUpsert, reducer.OpStepUpsert, reducer.OpTurnUpsert)...)
	op := reducer.Op{Kind: kind}
	switch kind {
	case reducer.OpReset:
		if g.Clean || g.Int(9) > 0 {
			return g.turnOp()
		}
		op.AgentID, op.Snapshot = "main", g.state.Snapshot(g.Int(3)-1)
	case reducer.OpTurnUpsert:
		return g.turnOp()
	case reducer.OpStepUpsert:
		op.Step = g.step()
		op.TurnID = op.Step.TurnID
	case reducer.OpFrameUpsert:
		op.TurnID, op.StepID, op.Frame = g.frame()
	case reducer.OpAppend:
		return g.appendOp()
	case reducer.OpMarkerUpsert:
		op.Marker = g.marker()
		op.BeforeTurn = g.before(op.Marker.MarkerID)
	case reducer.OpTaskRefUpsert:
		return g.taskRefOp(g.pick("k1", "k2", "k3"))
	case reducer.OpMetaMerge:
		op.Meta = g.metaPatch()
	case reducer.OpItemsRemove:
		if g.NoRemove {
			return g.turnOp()
		}
		for range g.Int(2) {
			op.IDs = append(op.IDs, g.pick("t0", "t1", "t2", "t3", "m1", "ref-k1", "nobody"))
		}
		if op.IDs == nil {
			op.IDs = []string{}
		}
	default:
		g.entity(&op)
	}
	return op
}

func (g *generator) taskRefOp(task string) reducer.Op {
	ref := &reducer.TaskRef{RefID: "ref-" + task, TaskID: task, At: g.time()}
	return reducer.Op{Kind: reducer.OpTaskRefUpsert, TaskRef: ref, BeforeTurn: g.before(ref.RefID)}
}

func (g *generator) turnOp() reducer.Op {
	return reducer.Op{Kind: reducer.OpTurnUpsert, Turn: g.turn(g.turnID())}
}

// before is absent or an ordinal. In a clean log what is sent again names the
// turn it stands before, and what is new comes at the end.
func (g *generator) before(id string) reducer.Opt[int] {
	if !g.Clean {
		if g.coin() {
			return reducer.Opt[int]{}
		}
		return reducer.Some(g.Int(6))
	}
	held, next := false, 0
	for it := range g.state.Snapshot(-1).Items() {
		if it.Turn != nil {
			if held {
				return reducer.Some(it.Turn.Ordinal)
			}
			next = it.Turn.Ordinal + 1
		}
		held = held || it.ID() == id
	}
	if !held {
		return reducer.Opt[int]{}
	}
	return reducer.Some(next)
}

// turnID names any turn; in a clean log one that is held, or the next one.
func (g *generator) turnID() string {
	if !g.Clean {
		return fmt.Sprint("t", g.Int(5))
	}
	held, next := []string{}, 0
	for t := range g.state.Snapshot(-1).Turns() {
		held, next = append(held, t.TurnID), max(next, t.Ordinal+1)
	}
	if len(held) == 0 || g.Int(4) == 0 {
		return fmt.Sprint("t", next)
	}
	return g.pick(held...)
}

func (g *generator) turn(id string) *reducer.Turn {
	t := &reducer.Turn{
		TurnID: id, Ordinal: reducer.TurnOrdinal(id),
		State: one(g, reducer.TurnQueued, reducer.TurnRunning, reducer.TurnCompleted, reducer.TurnFailed, reducer.TurnCancelled),
		Origin: reducer.Origin{
			Kind:   one(g, reducer.OriginUser, reducer.OriginTask, reducer.OriginOther),
			TaskID: "k1", Payload: g.raw(),
		},
		Prompt: g.optText(), StartedAt: g.time(), EndedAt: g.time(), DurationMs: g.optNumber(), Error: g.optText(),
	}
	if !g.Clean {
		t.HasMoreSteps = g.Int(9) == 0
		if !g.OwnOrdinals && g.Int(20) == 0 {
			t.Ordinal = g.Int(6) // not the one of its id
		}
	}
	if g.coin() {
		t.AttachmentIDs = []string{g.pick("a1", "a2")}
	}
	if g.coin() {
		t.Usage = &reducer.TurnUsage{InputTokens: g.optNumber(), OutputTokens: g.optNumber(), CachedTokens: g.optNumber(), Cost: g.optNumber()}
	}
	return t
}

// place draws a step, its turn held when the log is clean.
func (g *generator) place() (turnID, stepID string) {
	turnID = g.turnID()
	if g.Clean && !g.holds(turnID, "") {
		g.add(reducer.Op{Kind: reducer.OpTurnUpsert, Turn: g.turn(turnID)})
	}
	return turnID, fmt.Sprint(turnID, ".", 1+g.Int(3))
}

// holds looks for a turn, or for a step of it.
func (g *generator) holds(turnID, stepID string) bool {
	for t := range g.state.Snapshot(-1).Turns() {
		if t.TurnID != turnID {
			continue
		}
		for _, s := range t.Steps {
			if s.StepID == stepID {
				return true
			}
		}
		return stepID == ""
	}
	return false
}

func (g *generator) step() *reducer.Step {
	turnID, stepID := g.place()
	return g.stepOf(turnID, stepID)
}

func (g *generator) stepOf(turnID, stepID string) *reducer.Step {
	s := &reducer.Step{
		StepID: stepID, TurnID: turnID, Ordinal: reducer.StepOrdinal(stepID),
		State:     one(g, reducer.StepRunning, reducer.StepCompleted, reducer.StepInterrupted, reducer.StepFailed),
		StartedAt: g.time(), EndedAt: g.time(), Model: g.optText(), Cost: g.optNumber(),
		FinishReason: g.optText(), EndReason: g.optText(), EndMessage: g.optText(), Usage: g.stepUsage(),
	}
	if !g.Clean && !g.OwnOrdinals && g.Int(20) == 0 {
		s.Ordinal = 1 + g.Int(5)
	}
	if g.coin() {
		s.Timing = &reducer.StepTiming{LLMFirstTokenLatencyMs: g.optNumber(), LLMClientConsumeMs: g.optNumber()}
	}
	if g.coin() {
		s.Retry = &reducer.StepRetry{FailedAttempt: 1, NextAttempt: 2, MaxAttempts: 3, DelayMs: 4.5, ErrorName: g.text(), StatusCode: g.optNumber()}
	}
	return s
}

func (g *generator) stepUsage() *reducer.StepUsage {
	if g.coin() {
		return nil
	}
	return &reducer.StepUsage{InputOther: float64(g.Int(9)), Output: 1e21, InputCacheRead: 0.000001, InputCacheCreation: -0.5}
}

func (g *generator) frame() (turnID, stepID string, f *reducer.Frame) {
	turnID, stepID = g.place()
	if g.Clean && !g.holds(turnID, stepID) {
		g.add(reducer.Op{Kind: reducer.OpStepUpsert, TurnID: turnID, Step: g.stepOf(turnID, stepID)})
	}
	kind := one(g, reducer.FrameText, reducer.FrameThinking, reducer.FrameTool, reducer.FrameNotice)
	f = &reducer.Frame{Kind: kind}
	switch kind {
	case reducer.FrameText:
		f.FrameID, f.Role, f.Text, f.TextBlob = stepID+".f1", reducer.RoleAssistant, g.text(), g.blob()
		if g.coin() {
			f.Role, f.AttachmentIDs, f.TaskID = reducer.RoleUser, []string{"a1"}, "k1"
		}
	case reducer.FrameThinking:
		f.FrameID, f.Text, f.TextBlob = stepID+".f2", g.text(), g.blob()
	case reducer.FrameTool:
		g.tool(f, stepID)
	case reducer.FrameNotice:
		f.FrameID, f.Level, f.Message, f.Detail = stepID+".n", reducer.LevelWarning, g.text(), g.raw()
		f.Source = g.pick("", "hook")
	}
	if !g.Clean && g.Int(9) == 0 {
		f.FrameID = stepID + ".f1"
	}
	return turnID, stepID, f
}

func (g *generator) tool(f *reducer.Frame, stepID string) {
	f.ToolCallID = g.pick("c1", "c2")
	f.FrameID, f.Name, f.View = stepID+"."+f.ToolCallID, g.pick("Bash", "Read"), g.pick("", "diff")
	f.State = one(g, reducer.ToolRunning, reducer.ToolDone, reducer.ToolError)
	f.Input, f.Output, f.Display, f.Error, f.InputText = g.raw(), g.raw(), g.raw(), g.optText(), g.optText()
	f.TaskID, f.ApprovalID, f.TodoID = g.pick("", "k1"), g.pick("", "i1"), g.pick("", "todo")
	f.InputBlob, f.OutputBlob = g.blob(), g.blob()
	if g.coin() {
		f.Progress = &reducer.Progress{Kind: g.pick("stdout", "custom"), Text: g.optText(), Percent: g.optNumber(), CustomData: g.raw()}
	}
	if g.coin() {
		f.AgentRefs = []reducer.AgentRef{{AgentID: "sub", Role: g.pick("child", "member")}}
	}
}

func (g *generator) blob() *reducer.BlobRef {
	if g.Int(3) > 0 {
		return nil
	}
	return &reducer.BlobRef{SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Size: int64(g.Int(99)), MediaType: "text/plain"}
}

// targets are the appendable texts held, with their lengths.
func (g *generator) targets() (targets []reducer.Target, lengths []int) {
	s := g.state.Snapshot(-1)
	for t := range s.Turns() {
		for _, step := range t.Steps {
			for _, f := range step.Frames {
				target := reducer.Target{TurnID: t.TurnID, StepID: step.StepID, FrameID: f.FrameID}
				text := f.Text
				switch f.Kind {
				case reducer.FrameNotice:
					continue
				case reducer.FrameTool:
					target.InputText, text = true, f.InputText.V
				case reducer.FrameText, reducer.FrameThinking:
				}
				targets, lengths = append(targets, target), append(lengths, reducer.UTF16Len(text))
			}
		}
	}
	for k := range s.Tasks() {
		targets, lengths = append(targets, reducer.Target{TaskID: k.TaskID}), append(lengths, reducer.UTF16Len(k.OutputTail))
	}
	return targets, lengths
}

func (g *generator) appendOp() reducer.Op {
	op := reducer.Op{Kind: reducer.OpAppend, Text: g.text()}
	targets, lengths := g.targets()
	if !g.Clean && (len(targets) == 0 || g.Int(9) == 0) {
		op.Target, op.Offset = reducer.Target{TurnID: "t1", StepID: "t1.1", FrameID: "t1.1.f1"}, g.Int(3)
		if g.coin() {
			op.Target = reducer.Target{TaskID: "k3"}
		}
		return op
	}
	if len(targets) == 0 {
		return g.turnOp()
	}
	i := g.Int(len(targets) - 1)
	op.Target, op.Offset = targets[i], lengths[i]
	if !g.Clean && g.Int(3) == 0 {
		op.Offset = max(0, op.Offset+g.Int(4)-3)
	}
	return op
}

func (g *generator) marker() *reducer.Marker {
	ids := []string{"m1", "m2", "m3"}
	if !g.Clean && g.Int(9) == 0 {
		ids = []string{"t1", "t2"}
	}
	return &reducer.Marker{MarkerID: g.pick(ids...), Marker: g.pick("goal", "undo"), Payload: g.raw(), At: g.time()}
}

func (g *generator) entity(op *reducer.Op) {
	switch op.Kind {
	case reducer.OpTaskUpsert:
		op.Task = &reducer.Task{
			TaskID: g.pick("k1", "k2", "k3"), Kind: g.pick("shell", "subagent"), State: g.pick("running", "completed", "lost"),
			Detached: g.coin(), Description: g.optText(), AgentID: g.pick("", "sub"), OutputTail: g.text(), StartedAt: g.time(),
			EndedAt: g.time(), ResultSummary: g.optText(), Error: g.optText(), StateReason: g.optText(), Usage: g.stepUsage(),
		}
		if g.Clean {
			g.add(g.taskRefOp(op.Task.TaskID))
		}
	case reducer.OpInteractionUpsert:
		op.Interaction = &reducer.Interaction{
			InteractionID: g.pick("i1", "i2"), InteractionKind: g.pick("approval", "question"), ToolCallID: g.pick("", "c1", "c2"),
			State: g.pick("pending", "approved", "answered"), Request: g.raw(), Response: g.raw(),
		}
	case reducer.OpAttachmentUpsert:
		op.Attachment = &reducer.Attachment{AttachmentID: g.pick("a1", "a2", "a3"), MediaType: "image/*", Name: g.optText(), Size: g.optNumber(), Placeholder: g.optText()}
		if g.coin() {
			op.Attachment.Source = &reducer.AttachmentSource{Kind: "url", URL: g.text()}
		}
	case reducer.OpTodoUpsert:
		op.Todo = &reducer.Todo{TodoID: "todo", Items: []reducer.TodoItem{}, UpdatedAt: g.time()}
		for range g.Int(2) {
			op.Todo.Items = append(op.Todo.Items, reducer.TodoItem{Title: g.text(), Status: g.pick("pending", "done")})
		}
	default:
		op.Kind = reducer.OpPromptUpsert
		op.Prompt = &reducer.Prompt{
			PromptID: g.pick("p1", "p2"), Status: g.pick("queued", "running", "completed"), UserMessageID: g.pick("", "u"),
			Content: g.raw(), CreatedAt: "2026-01-02T03:04:05.000Z", FinishedAt: g.time(), SteeredAt: g.time(),
		}
	}
}

func (g *generator) metaPatch() *reducer.MetaPatch {
	p := &reducer.MetaPatch{Activity: g.pick("", "idle", "turn")}
	switch g.Int(2) {
	case 0:
		p.Goal.Clear = true
	case 1:
		p.Goal.To = &reducer.Goal{Objective: g.text(), Status: g.pick("active", "paused"), BudgetUsed: g.optNumber()}
	}
	if g.coin() {
		p.Modes = &reducer.ModesPatch{}
		p.Modes.Plan.Clear, p.Modes.Swarm.Clear = g.coin(), g.coin()
		if !p.Modes.Plan.Clear && g.coin() {
			p.Modes.Plan.To = &reducer.PlanMode{ReviewPath: g.optText(), Version: g.optNumber()}
		}
		if g.coin() {
			p.Modes.Tower.To = &reducer.TowerMode{}
		}
	}
	if g.coin() {
		p.Agent = &reducer.AgentMeta{Model: g.optText(), ContextTokens: g.optNumber(), Permission: g.pick("", "auto")}
		if g.coin() {
			p.Agent.Usage = &reducer.AgentUsage{Total: g.raw()}
		}
		if g.coin() {
			p.Agent.Phase = &reducer.Phase{Kind: "ended", TurnID: reducer.Some(1.0), Reason: reducer.Some("failed"), At: reducer.Some(1767323045000.0)}
		}
	}
	return p
}

func (g *generator) time() string { return g.pick("", "2026-01-02T03:04:05.678Z") }

func (g *generator) raw() reducer.Raw {
	return reducer.Raw(g.pick("", "1", `{"a":1}`, `{ "a" : 1 }`, "12345678901234567890", "1e400", `"<&>"`, `"\ud83d"`, "[]", "false", `""`))
}

func (g *generator) optNumber() reducer.Opt[float64] {
	if g.coin() {
		return reducer.Opt[float64]{}
	}
	return reducer.Some(one(g, 0, 1, 1.5, 1e21, 1e-7, -3, 9007199254740993.0))
}

func (g *generator) optText() reducer.Opt[string] {
	if g.coin() {
		return reducer.Opt[string]{}
	}
	return reducer.Some(g.cleanText())
}

// text may begin or end inside a surrogate pair, unless the log is clean.
func (g *generator) text() string {
	s := g.cleanText()
	if g.Clean {
		return s
	}
	return g.pick("", "", "", "\xED\xB8\x80") + s + g.pick("", "", "", "\xED\xA0\xBD")
}

func (g *generator) cleanText() string {
	return g.pick("", "a", "ab", "words ", "ä€", "😀", "\u2028<b>&\"\\\x00\n", "aaaa")
}
