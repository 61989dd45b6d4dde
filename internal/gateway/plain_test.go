package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// A client without append_input sees a tool's arguments grow by whole frames,
// each time their length passes a power of two, so that the bytes stay linear;
// one with it sees every append.
func TestStreamedArguments(t *testing.T) {
	r := newRig(t, nil)
	part := strings.Repeat("x", 10)
	for range 300 {
		r.publish("s", "main", "tool.call.delta", fmt.Sprintf(`{"toolCallId":"c","name":"Write","argumentsPart":%q}`, part))
	}
	r.publish("s", "main", "tool.call.started", `{"toolCallId":"c","name":"Write","args":{"a":1}}`)
	look := func(params string) (frames []int, appends, bytes int) {
		_, data := r.get("/v1/sessions/s/transcript/ops?since_seq=0" + params)
		c, err := protocol.DecodeCatchUp(data)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range c.Batches {
			if b.Seq != uint64(i+1) || b.PrevSeq != uint64(i) {
				t.Fatalf("batch %d is %d behind %d", i, b.Seq, b.PrevSeq)
			}
			for _, op := range b.Ops {
				bytes += len(op.Text)
				switch {
				case op.Kind == reducer.OpAppend && op.Target.InputText:
					appends++
				case op.Kind == reducer.OpFrameUpsert:
					frames = append(frames, len(op.Frame.InputText.V))
					bytes += len(op.Frame.InputText.V)
				}
			}
		}
		return frames, appends, bytes
	}
	frames, appends, bytes := look("")
	if want := "[0 70 130 260 520 1030 2050 3000]"; fmt.Sprint(frames) != want || appends != 0 {
		t.Errorf("frames with %v characters, want %s; %d appends", frames, want, appends)
	}
	if bytes > 4*3000 {
		t.Errorf("%d bytes for 3000 characters", bytes)
	}
	frames, appends, _ = look("&capabilities=append_input")
	if want := "[0 3000]"; fmt.Sprint(frames) != want || appends != 300 {
		t.Errorf("frames with %v characters, want %s; %d appends", frames, want, appends)
	}
}

func TestPasses(t *testing.T) {
	for _, tc := range []struct {
		from, to int
		want     bool
	}{
		{0, 63, false}, {0, 64, true}, {63, 64, true}, {64, 127, false}, {64, 128, true}, {100, 1000, true}, {0, 0, false},
	} {
		if got := passes(tc.from, tc.to); got != tc.want {
			t.Errorf("passes(%d, %d) = %t", tc.from, tc.to, got)
		}
	}
}
