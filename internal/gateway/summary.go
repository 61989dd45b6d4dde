package gateway

import (
	"time"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

// summary is a session's row while the index has none, made of its logs.
func (v *view) summary(id events.SessionID) map[string]any {
	var (
		all     fold.Info
		open    int
		failed  bool
		labels  map[string]string
		pending int
		turns   int
		records uint64
		title   string
	)
	for _, f := range v.feeds {
		f.mu.Lock()
		info := f.fold.Info()
		records += f.fold.Seq()
		f.mu.Unlock()
		if info.Open {
			open++
		}
		if f.agent == events.MainAgent || len(v.feeds) == 1 {
			title, labels, failed = info.Title, info.Labels, info.Failed
		}
		pending += info.Pending
		turns += info.Turns
		all.InputTokens += info.InputTokens
		all.OutputTokens += info.OutputTokens
		all.CachedTokens += info.CachedTokens
		all.Cost += info.Cost
		if all.First == 0 || info.First > 0 && info.First < all.First {
			all.First = info.First
		}
		all.Last = max(all.Last, info.Last)
	}
	if labels == nil {
		labels = map[string]string{}
	}
	doc := map[string]any{
		"session_id": id, "title": title, "state": stateOf(pending, open, failed, all.Last),
		"agents": len(v.feeds), "turns": turns, "events": records, "pending_interactions": pending,
		"tokens": map[string]float64{"input": all.InputTokens, "output": all.OutputTokens, "cached": all.CachedTokens},
		"cost":   all.Cost, "labels": labels,
	}
	if all.First > 0 {
		doc["started_at"] = events.FormatTime(all.First)
		doc["last_activity"] = events.FormatTime(all.Last)
	}
	return doc
}

func stateOf(pending, open int, failed bool, last int64) string {
	switch {
	case pending > 0:
		return "waiting"
	case open > 0 && time.Since(time.UnixMilli(last)) > staleAfter:
		return "stale"
	case open > 0:
		return "running"
	case failed:
		return "failed"
	}
	return "done"
}
