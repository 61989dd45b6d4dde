package codex_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// folded is the transcript that a reader has after all events of the file's
// agent. It fails when the fold complains of an event or a batch does not fit.
func folded(t testing.TB, list []*events.Event) *reducer.Snapshot {
	t.Helper()
	agent := fold.New(list[0].Session, list[0].Agent)
	reader := reducer.NewTranscript(string(list[0].Agent))
	for i, e := range list {
		seq := uint64(i + 1)
		batch := agent.Step(fold.Record{Kind: fold.Event, Seq: seq, StreamSeq: seq, Data: events.AppendEvent(nil, e)})
		if res := reader.Apply(batch.Ops); res.Gap != nil {
			t.Fatalf("event %d (%s): gap %+v", seq, e.Type, res.Gap)
		}
	}
	snapshot := reader.Snapshot(-1)
	for item := range snapshot.Items() {
		if item.Marker != nil && item.Marker.Marker == "notice" && strings.Contains(string(item.Marker.Payload), `"field"`) {
			t.Errorf("the fold complains: %s", item.Marker.Payload)
		}
	}
	return snapshot
}

// tree writes a transcript down as a person sees it, long texts cut.
func tree(t testing.TB, list []*events.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	for item := range folded(t, list).Items() {
		switch {
		case item.Turn != nil:
			writeTurn(&b, item.Turn)
		case item.Marker != nil:
			fmt.Fprintf(&b, "marker %s %s\n", item.Marker.Marker, cut(string(item.Marker.Payload)))
		}
	}
	return b.Bytes()
}

func writeTurn(b *bytes.Buffer, turn *reducer.Turn) {
	fmt.Fprintf(b, "turn %s %s %s %q", turn.TurnID, turn.State, turn.Origin.Kind, cut(turn.Prompt.V))
	if turn.Error.Set {
		fmt.Fprintf(b, " error %q", turn.Error.V)
	}
	if turn.Usage != nil {
		fmt.Fprintf(b, " in %v out %v cached %v", turn.Usage.InputTokens.V, turn.Usage.OutputTokens.V, turn.Usage.CachedTokens.V)
	}
	b.WriteByte('\n')
	for _, step := range turn.Steps {
		fmt.Fprintf(b, "  step %d %s %s", step.Ordinal, step.State, step.Model.V)
		if u := step.Usage; u != nil {
			fmt.Fprintf(b, " other %v out %v read %v written %v", u.InputOther, u.Output, u.InputCacheRead, u.InputCacheCreation)
		}
		b.WriteByte('\n')
		for _, f := range step.Frames {
			writeFrame(b, f)
		}
	}
}

func writeFrame(b *bytes.Buffer, f *reducer.Frame) {
	if f.Kind != reducer.FrameTool {
		fmt.Fprintf(b, "    %s %s %q\n", f.Kind, f.Role, cut(f.Text))
		return
	}
	fmt.Fprintf(b, "    %s %s %s in %s out %s", f.State, f.Name, f.ToolCallID, cut(string(f.Input)), cut(string(f.Output)))
	if f.Progress != nil {
		fmt.Fprintf(b, " %s %s", f.Progress.CustomKind.V, cut(string(f.Progress.CustomData)))
	}
	b.WriteByte('\n')
}

func cut(text string) string {
	if len(text) <= 100 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s… %d bytes %x", strings.ToValidUTF8(text[:90], ""), len(text), sum[:3])
}
