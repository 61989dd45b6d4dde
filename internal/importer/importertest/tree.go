package importertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// Fold is the transcript of one agent: what its events fold into, as a reader
// that applies every operation has it.
func Fold(t testing.TB, list []*events.Event, agent events.AgentID) *reducer.Snapshot {
	t.Helper()
	tree := reducer.NewTranscript(string(agent))
	var a *fold.Agent
	seq := uint64(0)
	for _, e := range list {
		if e.Agent != agent {
			continue
		}
		if a == nil {
			a = fold.New(e.Session, agent)
		}
		seq++
		batch := a.Step(fold.Record{Kind: fold.Event, Seq: seq, StreamSeq: seq, Data: events.AppendEvent(nil, e)})
		if res := tree.Apply(batch.Ops); res.Gap != nil {
			t.Fatalf("event %d (%s): gap %+v", seq, e.Type, res.Gap)
		}
	}
	return tree.Snapshot(-1)
}

// Trees shows the transcripts of all agents of a file as text.
func Trees(t testing.TB, list []*events.Event) []byte {
	t.Helper()
	agents := map[events.AgentID]bool{}
	for _, e := range list {
		agents[e.Agent] = true
	}
	var b bytes.Buffer
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		fmt.Fprintf(&b, "agent %s\n", agent)
		b.WriteString(Tree(Fold(t, list, agent)))
	}
	return b.Bytes()
}

// Tree shows a transcript as text, long values cut.
func Tree(s *reducer.Snapshot) string {
	var b strings.Builder
	for it := range s.Items() {
		switch {
		case it.Turn != nil:
			writeTurn(&b, it.Turn)
		case it.Marker != nil:
			fmt.Fprintf(&b, "  -- %s %s %s\n", it.Marker.Marker, it.Marker.At, cut(string(it.Marker.Payload)))
		case it.TaskRef != nil:
			fmt.Fprintf(&b, "  -- task %s %s\n", it.TaskRef.TaskID, it.TaskRef.At)
		}
	}
	for x := range s.Tasks() {
		fmt.Fprintf(&b, "  task %s %s %s detached=%v %s agent=%s %s..%s tail %s result %s\n", x.TaskID, x.Kind, x.State, x.Detached,
			opt(x.Description), x.AgentID, x.StartedAt, x.EndedAt, cut(x.OutputTail), opt(x.ResultSummary))
	}
	for x := range s.Interactions() {
		fmt.Fprintf(&b, "  interaction %s %s %s call=%s %s → %s\n", x.InteractionID, x.InteractionKind, x.State, x.ToolCallID, cut(string(x.Request)), cut(string(x.Response)))
	}
	for x := range s.Attachments() {
		fmt.Fprintf(&b, "  attachment %s %s %s %v %+v\n", x.AttachmentID, x.MediaType, opt(x.Name), x.Size, x.Source)
	}
	for x := range s.Todos() {
		fmt.Fprintf(&b, "  todo %s %v %s\n", x.TodoID, x.Items, x.UpdatedAt)
	}
	for x := range s.Prompts() {
		fmt.Fprintf(&b, "  prompt %s %s %s\n", x.PromptID, x.Status, cut(string(x.Content)))
	}
	meta := string(s.AppendJSON(nil))
	if i := strings.LastIndex(meta, `"meta":`); i >= 0 {
		fmt.Fprintf(&b, "  %s\n", cut(meta[i:]))
	}
	return b.String()
}

func writeTurn(b *strings.Builder, t *reducer.Turn) {
	fmt.Fprintf(b, "  %s %s %s%s %s..%s", t.TurnID, t.State, t.Origin.Kind, prefixed(":", t.Origin.TaskID), t.StartedAt, t.EndedAt)
	if t.Usage != nil {
		fmt.Fprintf(b, " in %v out %v cached %v", t.Usage.InputTokens.V, t.Usage.OutputTokens.V, t.Usage.CachedTokens.V)
	}
	if t.DurationMs.Set {
		fmt.Fprintf(b, " %vms", t.DurationMs.V)
	}
	if t.Error.Set {
		fmt.Fprintf(b, " error %s", cut(t.Error.V))
	}
	fmt.Fprintf(b, " %v\n    > %s\n", t.AttachmentIDs, opt(t.Prompt))
	for _, s := range t.Steps {
		fmt.Fprintf(b, "    %s %s %s %s %s\n", s.StepID, s.State, opt(s.FinishReason), opt(s.Model), opt(s.EndReason))
		if s.Retry != nil {
			fmt.Fprintf(b, "      retry %v %s\n", s.Retry.NextAttempt, cut(s.Retry.ErrorMessage))
		}
		for _, f := range s.Frames {
			writeFrame(b, f)
		}
	}
}

func writeFrame(b *strings.Builder, f *reducer.Frame) {
	switch f.Kind {
	case reducer.FrameText:
		fmt.Fprintf(b, "      %s %v: %s\n", f.Role, f.AttachmentIDs, cut(f.Text))
	case reducer.FrameThinking:
		fmt.Fprintf(b, "      thinks: %s\n", cut(f.Text))
	case reducer.FrameNotice:
		fmt.Fprintf(b, "      notice: %s\n", cut(f.Message))
	case reducer.FrameTool:
		fmt.Fprintf(b, "      %s %s %s in %s out %s", f.State, f.Name, f.ToolCallID, cut(string(f.Input)), cut(string(f.Output)))
		fmt.Fprintf(b, " %s%s%s%v\n", prefixed("task=", f.TaskID), prefixed(" approval=", f.ApprovalID), prefixed(" todo=", f.TodoID), f.AgentRefs)
	}
}

func opt(o reducer.Opt[string]) string {
	if !o.Set {
		return "-"
	}
	return cut(o.V)
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func cut(s string) string {
	s = fmt.Sprintf("%q", s)
	if len(s) <= 200 {
		return s
	}
	return strings.ToValidUTF8(s[:200], "") + fmt.Sprintf("… %d", len(s))
}
