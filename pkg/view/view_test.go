package view

import (
	"testing"

	"github.com/stenohq/steno/pkg/reducer"
)

func TestRegistry(t *testing.T) {
	r := New(Fallbacks[string]{Tool: "any tool", Input: "any input", Marker: "any marker"}).
		Tool("Read", "read").Tool("diff", "diff").
		Input(reducer.OriginCron, "cron").
		Marker("compaction", "compaction")
	t.Run("L17 resolution", func(t *testing.T) {
		for _, c := range []struct{ what, got, want string }{
			{"name", r.ForTool(&reducer.Frame{Name: "Read"}), "read"},
			{"name in another case", r.ForTool(&reducer.Frame{Name: "rEAD"}), "read"},
			{"view before name", r.ForTool(&reducer.Frame{Name: "Read", View: "DIFF"}), "diff"},
			{"unknown view hides the name", r.ForTool(&reducer.Frame{Name: "Read", View: "x"}), "any tool"},
			{"unknown name", r.ForTool(&reducer.Frame{Name: "x"}), "any tool"},
			{"origin", r.ForInput(reducer.Origin{Kind: reducer.OriginCron}), "cron"},
			{"unknown origin", r.ForInput(reducer.Origin{Kind: reducer.OriginHook}), "any input"},
			{"marker", r.ForMarker(&reducer.Marker{Marker: "compaction"}), "compaction"},
			{"unknown marker", r.ForMarker(&reducer.Marker{Marker: "x"}), "any marker"},
		} {
			if c.got != c.want {
				t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
			}
		}
	})
}
