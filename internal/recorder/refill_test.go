package recorder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/pkg/events"
)

// The stream knows no numbers: they come from the bounds of the gap.
func TestRefillNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		gap  wirelog.Gap
		trim uint64
		want string
	}{
		{"all", wirelog.Gap{Seq: 1, SeqTo: 6, Before: 7}, 0, "1=1 2=2 3=3 4=4 5=5 6=6"},
		{"inside", wirelog.Gap{Seq: 3, SeqTo: 4, After: 2, Before: 5}, 0, "3=3 4=4"},
		{"its beginning was trimmed", wirelog.Gap{Seq: 3, SeqTo: 5, After: 2, Before: 6}, 4, "5=5"},
		{"too many", wirelog.Gap{Seq: 3, SeqTo: 3, After: 2, Before: 5}, 0, "error"},
		{"a restored stream, the part begins with the gap", wirelog.Gap{Seq: 5, SeqTo: 6, Before: 7}, 0, "5=5 6=6"},
		{"recorded elsewhere before, in a former stream", wirelog.Gap{Seq: 15, SeqTo: 16, Before: 5}, 0, "15=3 16=4"},
		{"the same, trimmed", wirelog.Gap{Seq: 15, SeqTo: 16, Before: 5}, 3, "16=4"},
		{"without bounds", wirelog.Gap{Seq: 3, SeqTo: 4}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := memlog.New(1)
			for i := range 6 {
				if _, err := log.Append(t.Context(), "s-1", events.MainAgent, fmt.Appendf(nil, "%d", i+1), ""); err != nil {
					t.Fatal(err)
				}
			}
			if tt.trim > 0 {
				log.Trim(tt.trim)
			}
			var got []string
			src := source{log: log, session: "s-1", agent: events.MainAgent}
			for m, err := range src.Refill(t.Context(), tt.gap) {
				if err != nil {
					got = append(got, "error")
					break
				}
				got = append(got, fmt.Sprintf("%d=%s", m.Seq, m.Data))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}
