package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// truncated ends a text that was cut to a budget.
const truncated = "[truncated]"

// Render writes the memory for a model, in at most budget code points; a
// budget of 0 or less has no room for anything. Whatever an item holds, it
// cannot begin a line. Without anything to say it is empty.
func Render(m *Memory, budget int) string {
	groups := m.groups()
	if m.CurrentGoal == nil && len(groups) == 0 || budget <= 0 {
		return ""
	}
	head := []string{
		"## Session Memory",
		"Source: transcript events " + oneLine(m.Source.StartEventID) + ".." + oneLine(m.Source.EndEventID),
	}
	if m.CurrentGoal != nil {
		head = append(head, "Current Goal: "+oneLine(m.CurrentGoal.Text))
	}
	text := assemble(head, groups, false)
	if utf8.RuneCountInString(text) <= budget {
		return text
	}
	for i := len(groups) - 1; i >= 0; i-- {
		for len(groups[i].lines) > 0 {
			groups[i].lines = groups[i].lines[1:]
			if text = assemble(head, groups, true); utf8.RuneCountInString(text) <= budget {
				return text
			}
		}
	}
	return squeeze(text, budget)
}

// group is a heading with its items, oldest first.
type group struct {
	title string
	lines []string
}

func (m *Memory) groups() []group {
	var groups []group
	for _, g := range []struct {
		title string
		items []Item
	}{
		{"Todo:", m.Todos},
		{"Verification:", m.Verification},
		{"Key Decisions:", m.KeyDecisions},
		{"Failed Attempts:", m.Failed},
		{"Completed Work:", m.CompletedWork},
	} {
		if len(g.items) == 0 {
			continue
		}
		one := group{title: g.title}
		for _, it := range g.items {
			one.lines = append(one.lines, "- "+oneLine(it.Text))
		}
		groups = append(groups, one)
	}
	return groups
}

func assemble(head []string, groups []group, cutShort bool) string {
	lines := append([]string(nil), head...)
	for _, g := range groups {
		if len(g.lines) > 0 {
			lines = append(append(lines, g.title), g.lines...)
		}
	}
	if cutShort {
		lines = append(lines, truncated)
	}
	return strings.Join(lines, "\n")
}

// squeeze cuts a text that is too long without any item.
func squeeze(text string, budget int) string {
	runes := []rune(strings.TrimSuffix(text, "\n"+truncated))
	end := []rune("\n" + truncated)
	if budget <= len(end) {
		return string([]rune(truncated)[:min(budget, len(truncated))])
	}
	return string(runes[:min(len(runes), budget-len(end))]) + string(end)
}

// oneLine turns every run of line breaks and control characters into one
// space.
func oneLine(s string) string {
	var sb strings.Builder
	broken := false
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			if !broken {
				sb.WriteByte(' ')
			}
			broken = true
			continue
		}
		broken = false
		sb.WriteRune(r)
	}
	return sb.String()
}
