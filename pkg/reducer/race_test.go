package reducer

import (
	"fmt"
	"sync"
	"testing"
)

// TestReadersAndOneWriter is for the race detector: snapshots are read, and
// other transcripts go on from them, while the transcript they were taken of
// grows.
func TestReadersAndOneWriter(t *testing.T) {
	type taken struct {
		s    *Snapshot
		want string
	}
	snaps := make(chan taken, 16)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for c := range snaps {
				other := NewTranscript("main")
				other.Apply([]Op{{Kind: OpReset, Snapshot: c.s}})
				other.Apply([]Op{
					{Kind: OpAppend, Target: Target{TaskID: "k"}, Offset: UTF16Len(tailOf(c.s)), Text: "elsewhere"},
					benchTurn(1000),
				})
				if got := snapshotJSON(c.s); got != c.want {
					t.Errorf("%s\nwas %s", got, c.want)
				}
			}
		})
	}
	tr := NewTranscript("main")
	offset := 0
	for i := range 400 {
		step := fmt.Sprintf("t%d.1", i/10)
		tr.Apply([]Op{
			benchTurn(i / 10),
			{Kind: OpAppend, Target: Target{TaskID: "k"}, Offset: offset, Text: "more 😀 "},
			{Kind: OpFrameUpsert, TurnID: fmt.Sprint("t", i/10), StepID: step, Frame: &Frame{Kind: FrameThinking, FrameID: fmt.Sprint("f", i), Text: "x"}},
			{Kind: OpAppend, Target: Target{TurnID: fmt.Sprint("t", i/10), StepID: step, FrameID: fmt.Sprint("f", i)}, Offset: 1, Text: "y"},
		})
		offset += 8
		if i%3 == 0 {
			s := tr.Snapshot(-1)
			snaps <- taken{s, snapshotJSON(s)}
		}
	}
	close(snaps)
	readers.Wait()
	for k := range tr.Snapshot(-1).Tasks() {
		if UTF16Len(k.OutputTail) != offset {
			t.Errorf("%d units, want %d", UTF16Len(k.OutputTail), offset)
		}
	}
}

func tailOf(s *Snapshot) string {
	for k := range s.Tasks() {
		return k.OutputTail
	}
	return ""
}
