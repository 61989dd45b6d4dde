package reducer

import (
	"fmt"
	"strings"
	"testing"
)

// The targets stand in docs/transcript.md.

func benchTurn(i int) Op {
	return Op{Kind: OpTurnUpsert, Turn: &Turn{TurnID: fmt.Sprint("t", i), Ordinal: i, State: TurnRunning, Origin: Origin{Kind: OriginUser}}}
}

// streaming is a transcript of so many turns, the last one with a text of size
// bytes, and the append that makes it grow.
func streaming(turns, size int) (*Transcript, []Op) {
	t := NewTranscript("main")
	for i := range turns {
		t.Apply([]Op{benchTurn(i)})
	}
	turn := fmt.Sprint("t", turns-1)
	target := Target{TurnID: turn, StepID: turn + ".1", FrameID: turn + ".1.f1"}
	t.Apply([]Op{{Kind: OpFrameUpsert, TurnID: turn, StepID: target.StepID, Frame: &Frame{
		Kind: FrameText, FrameID: target.FrameID, Role: RoleAssistant, Text: strings.Repeat("x", size),
	}}})
	return t, []Op{{Kind: OpAppend, Target: target, Offset: size, Text: "about 20 bytes more "}}
}

// BenchmarkApplyAppend: at least 5 million a second, no allocation, the same
// with 100,000 turns and in a 10 MB frame. The frame is emptied now and then,
// so that its length stays near the one named.
func BenchmarkApplyAppend(b *testing.B) {
	for _, c := range []struct {
		name        string
		turns, size int
		snapshots   bool
	}{
		{"turns=10", 10, 100, false},
		{"turns=100000", 100_000, 100, false},
		{"frame=10MB", 10, 10 << 20, false},
		{"turns=10/snapshot-between", 10, 100, true},
		{"turns=100000/snapshot-between", 100_000, 100, true},
		{"frame=10MB/snapshot-between", 10, 10 << 20, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			t, op := streaming(c.turns, c.size)
			fresh := t.Snapshot(-1)
			const round = 50_000 // a megabyte
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if i%round == round-1 {
					b.StopTimer()
					t.Apply([]Op{{Kind: OpReset, Snapshot: fresh}})
					op[0].Offset = c.size
					// The first append after a reset copies the text once.
					t.Apply(op)
					op[0].Offset += len(op[0].Text)
					b.StartTimer()
				}
				if t.Apply(op).Gap != nil {
					b.Fatal("gap")
				}
				op[0].Offset += len(op[0].Text)
				if c.snapshots {
					t.Snapshot(-1)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mops/s")
		})
	}
}

// BenchmarkSnapshot: constant.
func BenchmarkSnapshot(b *testing.B) {
	for _, turns := range []int{10, 100_000} {
		for _, tail := range []int{-1, 20} {
			b.Run(fmt.Sprintf("turns=%d/tail=%d", turns, tail), func(b *testing.B) {
				t, _ := streaming(turns, 100)
				b.ReportAllocs()
				for b.Loop() {
					t.Snapshot(tail)
				}
			})
		}
	}
}

// BenchmarkManyTools: the time a tool takes does not grow with their number.
func BenchmarkManyTools(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			ops := make([]Op, 0, 2*n)
			for _, state := range []ToolState{ToolRunning, ToolDone} {
				for i := range n {
					id := fmt.Sprint("t1.1.c", i)
					ops = append(ops, Op{Kind: OpFrameUpsert, TurnID: "t1", StepID: "t1.1", Frame: &Frame{
						Kind: FrameTool, FrameID: id, ToolCallID: id, Name: "Bash", State: state,
					}})
				}
			}
			b.ResetTimer()
			for b.Loop() {
				NewTranscript("main").Apply(ops)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ops)), "ns/tool-op")
		})
	}
}

// BenchmarkClear removes all turns at once, and one by one from the end.
func BenchmarkClear(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		for _, single := range []bool{false, true} {
			b.Run(fmt.Sprintf("turns=%d/single=%v", n, single), func(b *testing.B) {
				base, _ := streaming(n, 100)
				var ids []string
				for i := range n {
					ids = append(ids, fmt.Sprint("t", n-1-i))
				}
				for b.Loop() {
					t := base.Clone()
					if !single {
						t.Apply([]Op{{Kind: OpItemsRemove, IDs: ids}})
						continue
					}
					for i := range ids {
						t.Apply([]Op{{Kind: OpItemsRemove, IDs: ids[i : i+1]}})
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/turn")
			})
		}
	}
}

// BenchmarkPage cuts and writes the newest page.
func BenchmarkPage(b *testing.B) {
	t := NewTranscript("main")
	for i := range 40 {
		t.Apply([]Op{benchTurn(i)})
		for s := range 10 {
			step := fmt.Sprintf("t%d.%d", i, s+1)
			t.Apply([]Op{{Kind: OpFrameUpsert, TurnID: fmt.Sprint("t", i), StepID: step, Frame: &Frame{
				Kind: FrameText, FrameID: step + ".f1", Role: RoleAssistant, Text: strings.Repeat("some text ", 200),
			}}})
		}
	}
	s := t.Snapshot(-1)
	b.ReportAllocs()
	for b.Loop() {
		p, err := Paginate(s, PageQuery{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(p.AppendJSON(nil))))
	}
}

// BenchmarkPageOfHistory pages through 100,000 turns.
func BenchmarkPageOfHistory(b *testing.B) {
	t, _ := streaming(100_000, 100)
	s := t.Snapshot(-1)
	for _, q := range []PageQuery{{}, {Before: "t50000"}, {After: "t50000"}, {Turn: "t50000"}} {
		b.Run(fmt.Sprintf("%+v", q), func(b *testing.B) {
			for b.Loop() {
				if _, err := Paginate(s, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode reads a snapshot and a batch of appends.
func BenchmarkDecode(b *testing.B) {
	t := NewTranscript("main")
	for i := range 20 {
		t.Apply([]Op{benchTurn(i)})
		for s := range 20 {
			step := fmt.Sprintf("t%d.%d", i, s+1)
			t.Apply([]Op{{Kind: OpFrameUpsert, TurnID: fmt.Sprint("t", i), StepID: step, Frame: &Frame{
				Kind: FrameText, FrameID: step + ".f1", Role: RoleAssistant, Text: strings.Repeat("some text ", 200),
			}}})
		}
	}
	snapshot := t.Snapshot(-1).AppendJSON(nil)
	_, op := streaming(1, 100)
	ops := AppendOps(nil, op)
	b.Run("snapshot", func(b *testing.B) {
		b.SetBytes(int64(len(snapshot)))
		for b.Loop() {
			if _, err := DecodeSnapshot(snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeOps(ops); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUTF16Len measures ASCII and text that is not.
func BenchmarkUTF16Len(b *testing.B) {
	for name, s := range map[string]string{"ascii": strings.Repeat("plain text ", 1000), "mixed": strings.Repeat("gemischt äöü 日本 😀 ", 500)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				UTF16Len(s)
			}
		})
	}
}
