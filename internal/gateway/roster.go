package gateway

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// view is an immutable picture of a session's agents.
type view struct {
	version uint64
	feeds   []*feed // by agent id
	roster  []rosterRow
	told    uint64 // version of the newest roster change
	rank    map[events.AgentID]int
}

// rosterRow is one agent's descriptor and the version at which it changed.
type rosterRow struct {
	desc    reducer.AgentDescriptor
	version uint64
}

func (v *view) feed(a events.AgentID) *feed {
	i := sort.Search(len(v.feeds), func(i int) bool { return v.feeds[i].agent >= a })
	if i < len(v.feeds) && v.feeds[i].agent == a {
		return v.feeds[i]
	}
	return nil
}

// with returns the next view: with one more feed, or (nil) with the roster
// read again.
func (v *view) with(f *feed) *view {
	next := &view{version: v.version + 1, feeds: v.feeds, told: v.told}
	if f != nil {
		next.feeds = append(slices.Clone(v.feeds), f)
		slices.SortFunc(next.feeds, func(a, b *feed) int { return strings.Compare(string(a.agent), string(b.agent)) })
	}
	next.roster = mergeRoster(next.feeds)
	old := map[string]rosterRow{}
	for _, r := range v.roster {
		old[r.desc.AgentID] = r
	}
	next.rank = make(map[events.AgentID]int, len(next.roster))
	for i := range next.roster {
		r := &next.roster[i]
		if was, ok := old[r.desc.AgentID]; ok && was.desc == r.desc {
			*r = was
		} else {
			r.version = next.version
			next.told = next.version
		}
	}
	next.order()
	return next
}

// order ranks the agents for baselines: main, then those still there, then the
// newest.
func (v *view) order() {
	rows := slices.Clone(v.roster)
	slices.SortStableFunc(rows, func(a, b rosterRow) int {
		am, bm := a.desc.AgentID == string(events.MainAgent), b.desc.AgentID == string(events.MainAgent)
		ar, br := a.desc.DisposedAt == "", b.desc.DisposedAt == ""
		switch {
		case am != bm:
			return less(am)
		case ar != br:
			return less(ar)
		}
		return strings.Compare(b.desc.CreatedAt, a.desc.CreatedAt)
	})
	for i, r := range rows {
		v.rank[events.AgentID(r.desc.AgentID)] = i
	}
}

func less(first bool) int {
	if first {
		return -1
	}
	return 1
}

// mergeRoster makes the session's roster of what each log says of its own
// agent and of those it has spawned. It depends on no order between the logs.
func mergeRoster(feeds []*feed) []rosterRow {
	rows := map[string]reducer.AgentDescriptor{}
	for _, f := range feeds {
		for _, child := range f.children() {
			if _, ok := rows[child.AgentID]; !ok {
				rows[child.AgentID] = child
			}
		}
	}
	for _, f := range feeds {
		own, told := f.descriptor()
		if _, spawned := rows[own.AgentID]; !spawned || told {
			rows[own.AgentID] = own
		} else {
			merged := rows[own.AgentID]
			merged.DisposedAt, merged.State, merged.Live = own.DisposedAt, own.State, own.Live
			if merged.CreatedAt == "" {
				merged.CreatedAt = own.CreatedAt
			}
			rows[own.AgentID] = merged
		}
	}
	out := make([]rosterRow, 0, len(rows))
	for _, d := range rows {
		out = append(out, rosterRow{desc: d})
	}
	slices.SortFunc(out, func(a, b rosterRow) int {
		am, bm := a.desc.AgentID == string(events.MainAgent), b.desc.AgentID == string(events.MainAgent)
		if am != bm {
			return less(am)
		}
		if c := strings.Compare(a.desc.CreatedAt, b.desc.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.desc.AgentID, b.desc.AgentID)
	})
	return out
}

// descriptors are those that changed behind a version.
func (v *view) descriptors(after uint64) []reducer.AgentDescriptor {
	var out []reducer.AgentDescriptor
	for _, r := range v.roster {
		if r.version > after {
			out = append(out, r.desc)
		}
	}
	return out
}

// docs are all descriptors as JSON.
func (v *view) docs() []json.RawMessage {
	out := make([]json.RawMessage, 0, len(v.roster))
	for i := range v.roster {
		out = append(out, v.roster[i].desc.AppendJSON(nil))
	}
	return out
}

// rosterMessage is agents.update with the descriptors changed behind a
// version.
func (s *session) rosterMessage(v *view, after uint64) message {
	update := protocol.AgentsUpdate{SessionID: string(s.id), Agents: v.descriptors(after)}
	enc := encoder{session: s.id, epoch: s.epoch}
	return enc.message(protocol.TypeAgentsUpdate, 0, update.AppendJSON)
}

// descriptor is what the log says of its own agent, and whether it says so
// itself.
func (f *feed) descriptor() (d reducer.AgentDescriptor, started bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fold.Descriptor(), f.fold.Started()
}

func (f *feed) children() []reducer.AgentDescriptor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fold.Children()
}

// facts is what of a feed the roster was last made of.
type facts struct {
	own     reducer.AgentDescriptor
	started bool
	spawned int
	newest  string
}

// rosterChanged tells whether the log says something new of its agents since
// the last call.
func (f *feed) rosterChanged() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	kids := f.fold.Children()
	is := facts{own: f.fold.Descriptor(), started: f.fold.Started(), spawned: len(kids)}
	if len(kids) > 0 {
		is.newest = kids[len(kids)-1].AgentID
	}
	changed := is != f.facts
	f.facts = is
	return changed
}
