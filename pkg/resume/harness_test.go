package resume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/internal/facttest"
	"github.com/stenohq/steno/pkg/memory"
	"github.com/stenohq/steno/pkg/resume"
)

func state(l *facttest.Log, opts ...fold.Option) *resume.State {
	return l.Fold(opts...).Resume(resume.ReadOptions{})
}

// shape writes messages as "role:content", tool messages as "tool id:code".
func shape(list []resume.Message) string {
	var out []string
	for _, m := range list {
		text, _ := scan.Unquote(m.Content)
		if m.Role == "tool" {
			id, _ := scan.Get(m.Metadata, "tool_call_id")
			if e, ok := scan.Get([]byte(text), "error"); ok && m.Recovered {
				code, _ := scan.Get(e, "code")
				text = strings.Trim(string(code), `"`)
			}
			out = append(out, "tool "+strings.Trim(string(id), `"`)+":"+text)
			continue
		}
		out = append(out, m.Role+":"+text)
	}
	return strings.Join(out, " | ")
}

// calls writes tool calls as "run/id name class".
func calls(s *resume.State) string {
	var out []string
	for _, c := range s.ToolCalls {
		out = append(out, fmt.Sprintf("%s/%s %s %s", c.RunID, c.ToolCallID, c.ToolName, c.Class))
	}
	return strings.Join(out, ", ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

func texts(items []memory.Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Text)
	}
	return strings.Join(out, " | ")
}
