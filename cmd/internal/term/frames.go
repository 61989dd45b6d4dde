package term

import (
	"fmt"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// frame writes what a frame adds to what was written of it.
func (p *Printer) frame(agent string, a *agentView, turnID string, f *reducer.Frame) {
	t := a.turn(turnID)
	if t == nil {
		return
	}
	v := t.frames[f.FrameID]
	if v == nil {
		v = &frameView{}
		t.frames[f.FrameID] = v
	}
	switch f.Kind {
	case reducer.FrameText, reducer.FrameThinking:
		p.text(agent, v, f)
	case reducer.FrameTool:
		p.tool(agent, v, f)
	case reducer.FrameNotice:
		if !v.called {
			v.called = true
			p.line(agent, p.opts.Style.Red("! "+Line(string(f.Level))+": "+Line(f.Message)))
		}
	}
}

// marginOf tells texts apart.
func marginOf(kind reducer.FrameKind, role reducer.FrameRole) string {
	switch {
	case kind == reducer.FrameThinking:
		return "~ "
	case role == reducer.RoleUser:
		return "> "
	}
	return "  "
}

// text writes a text frame that came whole: the rest of it, or all of it when
// it is not a continuation of what was written.
func (p *Printer) text(agent string, v *frameView, f *reducer.Frame) {
	units := reducer.UTF16Len(f.Text)
	margin := marginOf(f.Kind, f.Role)
	v.margin = margin
	rest, fits := after(f.Text, v.units)
	if !fits || hash(f.Text[:len(f.Text)-len(rest)]) != v.sum && v.units > 0 {
		if f.Text == "" {
			p.line(agent, p.opts.Style.Dim(margin+"(taken back)"))
		} else {
			p.line(agent, p.opts.Style.Dim(margin+"(replaced)"))
		}
		rest = f.Text
	}
	v.units, v.sum = units, hash(f.Text)
	p.stream(agent, "frame "+f.FrameID, margin, rest)
}

// after cuts the first units UTF-16 units off; it reports false when the text
// is shorter.
func after(text string, units int) (string, bool) {
	if units == 0 {
		return text, true
	}
	n := 0
	for i, r := range text {
		if n >= units {
			return text[i:], n == units
		}
		n++
		if r > 0xffff {
			n++
		}
	}
	return "", n == units
}

// grow writes an append. The sum of what was written is kept by continuing
// the hash, so the text itself is not.
func (p *Printer) grow(agent string, a *agentView, op *reducer.Op) {
	if op.Target.TaskID != "" {
		p.stream(agent, "task "+op.Target.TaskID, "│ ", op.Text)
		return
	}
	t := a.turn(op.Target.TurnID)
	if t == nil || op.Target.InputText {
		return
	}
	v := t.frames[op.Target.FrameID]
	if v == nil { // its frame was not seen: written when it comes whole
		return
	}
	text, fits := op.Text, op.Offset == v.units
	if op.Offset < v.units {
		text, fits = after(op.Text, v.units-op.Offset)
	}
	if !fits {
		return
	}
	if v.units == 0 {
		v.sum = hash("")
	}
	v.units += reducer.UTF16Len(text)
	v.sum = hashOn(v.sum, text)
	p.stream(agent, "frame "+op.Target.FrameID, v.margin, text)
}

// hashOn continues an FNV-1a hash.
func hashOn(sum uint64, s string) uint64 {
	for i := range len(s) {
		sum = (sum ^ uint64(s[i])) * 1099511628211
	}
	return sum
}

// tool writes a call when its arguments are known, and its result.
func (p *Printer) tool(agent string, v *frameView, f *reducer.Frame) {
	settled := f.State != reducer.ToolRunning
	if !v.called && (f.Input != "" || settled) {
		v.called = true
		p.line(agent, p.opts.Style.Cyan("● "+Line(f.Name))+" "+Cut(Line(string(f.Input)), 300))
	}
	if !settled || v.state == f.State {
		return
	}
	v.state = f.State
	if f.State == reducer.ToolError {
		p.output(agent, "  ✗ ", textOf(f.Output, f.Error.Or("")), p.opts.Style.Red)
		return
	}
	p.output(agent, "  ⎿ ", textOf(f.Output, ""), p.opts.Style.Dim)
}

// textOf is a value as text.
func textOf(raw reducer.Raw, otherwise string) string {
	if raw == "" {
		return otherwise
	}
	if s, ok := scan.Unquote([]byte(raw)); ok {
		return s
	}
	return string(raw)
}

func (p *Printer) output(agent, margin, text string, paint func(string) string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if p.opts.Lines > 0 && i == p.opts.Lines {
			p.line(agent, p.opts.Style.Dim(fmt.Sprintf("    … %d more lines", len(lines)-i)))
			return
		}
		line = Safe(line)
		if p.opts.Lines > 0 {
			line = Cut(line, 300)
		}
		p.line(agent, margin+paint(line))
		margin = "    "
	}
}
