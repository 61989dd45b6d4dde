package memory

import "slices"

// Memory returns the session memory as of the last event.
func (f *Fold) Memory() *Memory {
	m := &Memory{
		SchemaVersion: SchemaVersion, Version: f.events, EventCount: f.events,
		LastEventID: string(f.lastID), LastSeq: f.lastSeq,
		Source: Source{
			StartEventID: f.firstID, EndEventID: string(f.lastID), StartStep: f.firstStep, EndStep: f.lastStep,
			StartSeq: f.firstSeq, EndSeq: f.lastSeq,
		},
		CompletedWork: f.completed.items(), KeyDecisions: f.decisions.items(), Failed: f.failed.items(),
		Todos: []Item{}, Verification: f.verified.items(),
		Dropped: Dropped{
			CompletedWork: f.completed.dropped, KeyDecisions: f.decisions.dropped, Failed: f.failed.dropped,
			Todos: f.todoDropped, Verification: f.verified.dropped,
		},
	}
	if goal := f.goal; goal.text != "" {
		m.CurrentGoal = &Item{Text: goal.text, Source: goal.source}
	} else if f.asked.text != "" {
		m.CurrentGoal = &Item{Text: f.asked.text, Source: f.asked.source}
	}
	for _, one := range f.todos {
		m.Todos = append(m.Todos, one.item())
	}
	for _, u := range f.unsettled {
		name := label(u.name, u.id)
		text := "Replan pending tool call " + name + "."
		if u.uncertain {
			text = "Resolve uncertain action for " + name + " before claiming completion."
			m.Verification = append(m.Verification, Item{Text: cut("Uncertain tool action detected for "+name+".", MaxItem), Source: u.source})
		}
		m.Todos = append(m.Todos, Item{Text: cut(text, MaxItem), Source: u.source})
	}
	newest(&m.Todos, &m.Dropped.Todos, MaxTodos)
	newest(&m.Verification, &m.Dropped.Verification, MaxItems)
	m.fit()
	return m
}

func (l *list) items() []Item {
	out := make([]Item, 0, len(l.marks))
	for _, one := range l.marks {
		out = append(out, one.item())
	}
	return out
}

func (m *mark) item() Item {
	it := Item{Text: m.text, Source: m.source}
	if m.count > 1 {
		it.Count = m.count
	}
	return it
}

// newest drops the oldest items beyond the limit.
func newest(items *[]Item, dropped *int, limit int) {
	if extra := len(*items) - limit; extra > 0 {
		*items = slices.Clone((*items)[extra:])
		*dropped += extra
	}
}

// fit drops items until the memory fits into its bound as JSON: the oldest of
// completed work, failed attempts, key decisions and verification in turn,
// then the oldest todos, then the end of the goal.
func (m *Memory) fit() {
	size := len(m.AppendJSON(nil))
	lists := []struct {
		items   *[]Item
		dropped *int
	}{
		{&m.CompletedWork, &m.Dropped.CompletedWork},
		{&m.Failed, &m.Dropped.Failed},
		{&m.KeyDecisions, &m.Dropped.KeyDecisions},
		{&m.Verification, &m.Dropped.Verification},
	}
	for turn := 0; size > MaxJSON; turn++ {
		l := lists[turn%len(lists)]
		if len(*l.items) == 0 {
			if m.empty() {
				break
			}
			continue
		}
		newest(l.items, l.dropped, len(*l.items)-1)
		size = len(m.AppendJSON(nil))
	}
	for size > MaxJSON && len(m.Todos) > 0 {
		newest(&m.Todos, &m.Dropped.Todos, len(m.Todos)-1)
		size = len(m.AppendJSON(nil))
	}
	for limit := MaxGoal / 2; size > MaxJSON && m.CurrentGoal != nil && limit > 0; limit /= 2 {
		m.CurrentGoal.Text = cut(m.CurrentGoal.Text, limit)
		size = len(m.AppendJSON(nil))
	}
}

func (m *Memory) empty() bool {
	return len(m.CompletedWork)+len(m.Failed)+len(m.KeyDecisions)+len(m.Verification) == 0
}
