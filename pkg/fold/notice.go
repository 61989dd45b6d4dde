package fold

import (
	"strconv"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/reducer"
)

// notices shows what admission found. Those that count have one marker for
// their kind and run.
func (a *Agent) notices(list []admit.Notice) {
	for _, n := range list {
		a.tree.Counted(noticeKey(n), int(n.Count), reducer.Notice{
			Level: reducer.LevelWarning, Event: "admission", Message: noticeText(n),
		})
	}
}

// noticeKey names the marker of a notice; those without a count have one each.
func noticeKey(n admit.Notice) string {
	if n.Count == 0 {
		return ""
	}
	return "admit\x00" + strconv.Itoa(int(n.Kind)) + "\x00" + n.Run
}

func noticeText(n admit.Notice) string {
	run, span := "run "+strconv.Quote(n.Run), rangeText(n.From, n.To)
	switch n.Kind {
	case admit.TwoWriters:
		return "two writers share " + run + ": events with the number of others were left out"
	case admit.HoleClosed:
		return span + " of " + run + " never came; the transcript goes on without them"
	case admit.LeftAhead:
		return span + " of " + run + " came before earlier ones that never came, and were left out when another run began"
	case admit.AfterLoss:
		return span + " of " + run + " may have been among lost records"
	case admit.LateRun:
		return "events of the older " + run + " came after another run had begun; they are not shown"
	}
	return "the log of " + run + " is irregular"
}

func rangeText(from, to uint64) string {
	if from == to {
		return "event " + strconv.FormatUint(from, 10)
	}
	return "events " + strconv.FormatUint(from, 10) + " to " + strconv.FormatUint(to, 10)
}
