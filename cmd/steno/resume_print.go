package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stenohq/steno/cmd/internal/term"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/resume"
)

const (
	argsShown    = 200 // characters of a call's arguments
	messageShown = 100 // and of a message
	lastMessages = 5
)

// resumePrinter writes a resume state for people. All that comes from a log
// goes through term.Line.
type resumePrinter struct {
	*bufio.Writer
	style term.Style
}

func printResume(w io.Writer, style term.Style, st *resume.State) error {
	p := &resumePrinter{bufio.NewWriter(w), style}
	asked := map[int]bool{}
	for i, c := range st.ToolCalls {
		asked[i] = c.Class == resume.ClassUncertain && !c.ReplayAllowed
	}
	p.calls("Uncertain: began, and nobody recorded an end", st.ToolCalls, func(i int) bool { return asked[i] })
	p.calls("Uncertain, but only reads: may be done again", st.ToolCalls, func(i int) bool {
		return st.ToolCalls[i].Class == resume.ClassUncertain && !asked[i]
	})
	p.calls("Pending: never began, to be planned again", st.ToolCalls, func(i int) bool { return st.ToolCalls[i].Class == resume.ClassPending })
	p.children(st.Children)
	p.where(st)
	p.messages(st.History)
	return p.Flush()
}

func (p *resumePrinter) title(s string) { fmt.Fprintln(p, p.style.Bold(s)) }

func (p *resumePrinter) calls(title string, list []resume.ToolCall, pick func(int) bool) {
	first := true
	for i := range list {
		if !pick(i) {
			continue
		}
		if first {
			p.title(title)
			first = false
		}
		p.call(&list[i])
	}
	if !first {
		fmt.Fprintln(p)
	}
}

func (p *resumePrinter) call(c *resume.ToolCall) {
	fmt.Fprintf(p, "  %s  %s\n", p.style.Red(term.Line(c.ToolName)), term.Line(c.ToolCallID))
	if len(c.Args) > 0 && string(c.Args) != "null" {
		fmt.Fprintf(p, "    with     %s\n", term.Cut(term.Line(string(c.Args)), argsShown))
	}
	last := "announced"
	seq := c.RequestedSeq
	if c.StartedSeq > 0 {
		last, seq = "started", c.StartedSeq
	}
	if c.SettledBy != "" {
		last, seq = "to be done again, says "+term.Line(c.SettledBy), c.SettledSeq
	}
	fmt.Fprintf(p, "    last     %s at seq %d, step %d\n", last, seq, c.Step)
	fmt.Fprintf(p, "    run      %s\n", term.Line(c.RunID))
}

func (p *resumePrinter) children(list []resume.Child) {
	first := true
	for _, c := range list {
		if c.State == "completed" || c.State == "failed" {
			continue
		}
		if first {
			p.title("Agents whose end this one has not seen")
			first = false
		}
		fmt.Fprintf(p, "  %s  %s", term.Line(c.AgentID), term.Line(c.State))
		if c.ChildState != "" {
			fmt.Fprintf(p, ", by its own log %s", term.Line(c.ChildState))
		}
		fmt.Fprintln(p)
	}
	if !first {
		fmt.Fprintln(p)
	}
}

func (p *resumePrinter) where(st *resume.State) {
	p.title("Session " + term.Line(string(st.SessionID)) + ", agent " + term.Line(string(st.AgentID)))
	state := "ended"
	if st.Open {
		state = "open: it has not said that it ended"
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(p, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("run", "%s", term.Line(st.RunID))
	row("state", "%s", state)
	row("log", "up to seq %d", st.LastSeq)
	row("actions", "%d completed, %d failed, %d pending, %d uncertain",
		st.ToolCounts.Completed, st.ToolCounts.Failed, st.ToolCounts.Pending, st.ToolCounts.Uncertain)
	if t := st.OpenTurn; t != nil {
		row("open turn", "t%d, next step %d: %s", t.TurnID, t.NextStep, term.Cut(term.Line(t.Prompt), messageShown))
	}
	if n := len(st.PendingInteractions); n > 0 {
		row("waits for", "%d answers of a person", n)
	}
	if reason := st.LoopState.Transition.Reason; reason != "" {
		row("last change", "%s", term.Line(reason))
	}
	row("history", "%d messages, %d before them; a model should see %d", len(st.History), st.HistoryDropped, len(st.Model))
	if st.LeftOut > 0 {
		row("defect", "%d events could not be folded whole", st.LeftOut)
	}
}

func (p *resumePrinter) messages(list []resume.Message) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(p)
	p.title("The last messages")
	for _, m := range list[max(0, len(list)-lastMessages):] {
		fmt.Fprintf(p, "  %-10s %s\n", term.Line(m.Role), term.Cut(term.Line(textOf(&m)), messageShown))
	}
}

// textOf is what a message says, or which tools it calls.
func textOf(m *resume.Message) string {
	text, ok := scan.Unquote(m.Content)
	if !ok {
		return string(m.Content)
	}
	var meta struct {
		Calls []struct{ Name string } `json:"tool_calls"`
	}
	if err := json.Unmarshal(m.Metadata, &meta); text != "" || err != nil || len(meta.Calls) == 0 {
		return text
	}
	names := make([]string, len(meta.Calls))
	for i, c := range meta.Calls {
		names[i] = c.Name
	}
	return "(calls " + strings.Join(names, ", ") + ")"
}
