package term

import (
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/reducer"
)

// A notice is read by people: its message shows, not its JSON.
func TestNotices(t *testing.T) {
	for _, c := range []struct{ marker, payload, want string }{
		{"notice", `{"level":"warning","message":"a stored message is no valid event","event":"invalid","count":16}`, "◆ notice a stored message is no valid event (16 times)"},
		{"notice", `{"level":"warning","message":"once","count":1}`, "◆ notice once"},
		{"notice", `{"level":"warning","message":"a\u001b[2Jb"}`, "◆ notice a␛[2Jb"},
		{"notice", `{"text":"of another shape"}`, `◆ notice {"text":"of another shape"}`},
		{"notice", `{"message":7}`, `◆ notice {"message":7}`},
		{"compaction", `{"message":"x"}`, `◆ compaction {"message":"x"}`},
	} {
		var out strings.Builder
		p := NewPrinter(&out, Options{})
		p.Item("main", reducer.Item{Marker: &reducer.Marker{MarkerID: "m", Marker: c.marker, Payload: reducer.Raw(c.payload)}})
		if err := p.End(); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.marker, c.payload, got, c.want)
		}
	}
}
