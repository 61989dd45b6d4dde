package reducer

// refs are the ids that the items of a page refer to.
type refs struct {
	attachments, tasks, agents, interactions, calls map[string]bool
}

func newRefs() *refs {
	return &refs{
		attachments: map[string]bool{}, tasks: map[string]bool{}, agents: map[string]bool{},
		interactions: map[string]bool{}, calls: map[string]bool{},
	}
}

func (r *refs) turn(n *turnNode) {
	r.add(r.attachments, n.head.AttachmentIDs...)
	r.add(r.tasks, n.head.Origin.TaskID)
	for s := n.steps.from(0); s.ok; s.next() {
		for f := s.val.frames.from(0); f.ok; f.next() {
			r.frame(f.val.head)
		}
	}
}

func (r *refs) frame(f *Frame) {
	r.add(r.attachments, f.AttachmentIDs...)
	r.add(r.tasks, f.TaskID)
	r.add(r.interactions, f.ApprovalID)
	if f.Kind == FrameTool {
		r.add(r.calls, f.ToolCallID)
	}
	for _, a := range f.AgentRefs {
		r.add(r.agents, a.AgentID)
	}
}

func (r *refs) mark(it Item) {
	if it.TaskRef != nil {
		r.add(r.tasks, it.TaskRef.TaskID)
	}
}

func (r *refs) add(set map[string]bool, ids ...string) {
	for _, id := range ids {
		if id != "" {
			set[id] = true
		}
	}
}

// entities copies the entities a page carries: the open ones, the todo
// documents, and those referred to.
func (r *refs) entities(t *Transcript, s *Snapshot) {
	for w := s.tasks.from(0); w.ok; w.next() {
		task := w.val.head
		if task.State == "running" || r.tasks[task.TaskID] || r.agents[task.TaskID] || r.agents[task.AgentID] {
			t.tasks.push(t.owner, t.ed, w.val)
		}
	}
	for w := s.interactions.from(0); w.ok; w.next() {
		i := w.val
		if i.State == InteractionPending || r.interactions[i.InteractionID] || r.calls[i.ToolCallID] {
			t.interactions.push(t.owner, t.ed, i)
		}
	}
	for w := s.attachments.from(0); w.ok; w.next() {
		if r.attachments[w.val.AttachmentID] {
			t.attachments.push(t.owner, t.ed, w.val)
		}
	}
	t.todos = s.todos
	for w := s.prompts.from(0); w.ok; w.next() {
		switch w.val.Status {
		case "running", "queued", "blocked":
			t.prompts.push(t.owner, t.ed, w.val)
		}
	}
}
