package reducer

// Parts are the contents of a snapshot as plain values, in their orders.
type Parts struct {
	AgentID      string
	Items        []Item // turns with their steps
	Tasks        []*Task
	Interactions []*Interaction
	Attachments  []*Attachment
	Todos        []*Todo
	Prompts      []*Prompt
	Meta         Meta
	HasMoreOlder bool
}

// NewSnapshot builds a snapshot in time linear in its parts, whose values it
// takes over. The order of the items is kept as it is. Of entries with the
// same id the last one takes the first one's place.
func NewSnapshot(p Parts) *Snapshot {
	t := NewTranscript(p.AgentID)
	for _, it := range p.Items {
		t.addItem(it)
	}
	for _, task := range p.Tasks {
		t.upsertTask(task)
	}
	addAll(t, &t.interactions, p.Interactions)
	addAll(t, &t.attachments, p.Attachments)
	addAll(t, &t.todos, p.Todos)
	addAll(t, &t.prompts, p.Prompts)
	t.meta = p.Meta
	t.hasMoreOlder = p.HasMoreOlder
	t.sorted = t.turnsSorted()
	return &Snapshot{state: t.state}
}

func addAll[T keyed](t *Transcript, l *list[T], vs []T) {
	for _, v := range vs {
		upsert(t, l, v, func(_, _ T) bool { return false })
	}
}

// addItem adds an item at the end, or in the place of the one with its id.
func (t *Transcript) addItem(it Item) {
	id := it.ID()
	turnKey, _ := t.turns.find(t.owner, id)
	markKey, _ := t.marks.find(t.owner, id)
	key := max(turnKey, markKey)
	switch {
	case it == Item{}:
		return
	case key == 0:
		key = t.endLabel()
	case turnKey != 0:
		t.turns.remove(t.owner, t.ed, key, id)
	default:
		t.marks.remove(t.owner, t.ed, key, id)
	}
	if it.Turn == nil {
		t.marks.insert(t.owner, t.ed, key, it)
		return
	}
	t.turns.insert(t.owner, t.ed, key, t.turnNode(it.Turn))
}

// turnNode builds the tree of a turn.
func (t *Transcript) turnNode(turn *Turn) *turnNode {
	n := &turnNode{ed: t.ed, head: headOf(turn), more: turn.HasMoreSteps}
	for _, s := range turn.Steps {
		if _, last, ok := n.steps.last(); ok && s.Ordinal < last.head.Ordinal {
			n.shuffled = true
		}
		upsert(t, &n.steps, t.stepNode(s), func(_, _ *stepNode) bool { return false })
	}
	return n
}

func (t *Transcript) stepNode(s *Step) *stepNode {
	n := &stepNode{ed: t.ed, head: stepHead(s)}
	for _, f := range s.Frames {
		upsert(t, &n.frames, newFrameNode(t.ed, f), func(_, _ *frameNode) bool { return false })
	}
	return n
}
