package reducer

import "testing"

func BenchmarkApplyAppend(b *testing.B) {
	for _, history := range []int{10, 100_000} {
		for _, snap := range []bool{false, true} {
			name := map[int]string{10: "turns=10", 100_000: "turns=100000"}[history]
			if snap {
				name += "/snapshots"
			}
			b.Run(name, func(b *testing.B) {
				t := NewTranscript("main")
				for i := range history {
					t.Apply([]Op{{Kind: OpTurnUpsert, Turn: &Turn{TurnID: tid(i), Ordinal: i, State: TurnRunning, Origin: Origin{Kind: OriginUser}}}})
				}
				id := tid(history - 1)
				t.Apply([]Op{{Kind: OpFrameUpsert, TurnID: id, StepID: id + ".1", Frame: &Frame{Kind: FrameText, FrameID: id + ".1.f1", Role: RoleAssistant}}})
				op := []Op{{Kind: OpAppend, Target: Target{TurnID: id, StepID: id + ".1", FrameID: id + ".1.f1"}, Text: "some words of text "}}
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					if t.Apply(op).Gap != nil {
						b.Fatal("gap")
					}
					op[0].Offset += 19
					if snap {
						t.Snapshot(-1)
					}
				}
			})
		}
	}
}

func tid(i int) string {
	if i == 0 {
		return "t0"
	}
	var d []byte
	for ; i > 0; i /= 10 {
		d = append([]byte{byte('0' + i%10)}, d...)
	}
	return "t" + string(d)
}
