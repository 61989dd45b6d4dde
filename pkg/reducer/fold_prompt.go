package reducer

// promptSubmitted folds prompt.submitted.
func (f *Fold) promptSubmitted(p *foldPayload) {
	id := p.key("promptId")
	status := p.oneOf("status", "running", "queued", "blocked")
	if !p.has("status") {
		p.bad("status", "is missing")
	}
	created, message := p.time("createdAt"), p.word("userMessageId")
	if id == "" {
		return
	}
	if status == "" {
		status = "queued"
	}
	h := f.prompt(id, created)
	h.Status, h.FinishedAt = status, ""
	overWord(&h.UserMessageID, message)
	overWord(&h.CreatedAt, created)
	if content := p.raw("content"); content != "" {
		h.Content = content
	}
	f.putPrompt(h)
}

// promptCompleted folds prompt.completed.
func (f *Fold) promptCompleted(p *foldPayload) {
	status := p.oneOf("reason", "completed", "failed", "blocked")
	if !p.has("reason") {
		p.bad("reason", "is missing")
	}
	if status == "" {
		status = "completed"
	}
	f.finishPrompt(p.key("promptId"), status, p.time("finishedAt"))
}

// promptAborted folds prompt.aborted.
func (f *Fold) promptAborted(p *foldPayload) {
	f.finishPrompt(p.key("promptId"), "aborted", p.time("abortedAt"))
}

func (f *Fold) finishPrompt(id, status, at string) {
	if id == "" {
		return
	}
	if at == "" {
		at = f.now()
	}
	h := f.prompt(id, at)
	h.Status, h.FinishedAt = status, at
	f.putPrompt(h)
}

// promptSteered folds prompt.steered: the active prompt takes the others in.
func (f *Fold) promptSteered(p *foldPayload) {
	active, at := p.key("activePromptId"), p.time("steeredAt")
	absorbed := p.ids("promptIds")
	if at == "" {
		at = f.now()
	}
	if active != "" {
		h := f.prompt(active, at)
		if h.Status == "" {
			h.Status = "running"
		}
		h.SteeredAt = at
		if content := p.raw("content"); content != "" {
			h.Content = content
		}
		f.putPrompt(h)
	}
	for _, id := range absorbed {
		if id != active {
			f.finishPrompt(id, "completed", at)
		}
	}
}

// ids reads an array of strings that name something.
func (p *foldPayload) ids(field string) []string {
	if !p.has(field) {
		p.bad(field, "is missing")
	}
	elements, _ := p.list(field)
	var ids []string
	for _, raw := range elements {
		if s, ok := foldString(raw); ok && s != "" {
			ids = append(ids, s)
		} else {
			p.wrong(field+"[]", "a string that is not empty", raw)
		}
	}
	return ids
}

// prompt returns a prompt as it is, or a new one.
func (f *Fold) prompt(id, created string) Prompt {
	if e := f.prompts.find(id); e != nil {
		return *e.prompt
	}
	if created == "" {
		created = f.now()
	}
	return Prompt{PromptID: id, CreatedAt: created}
}

// putPrompt replaces a prompt.
func (f *Fold) putPrompt(h Prompt) {
	e := f.prompts.find(h.PromptID)
	if e == nil {
		e = f.prompts.add(&foldEntity{id: h.PromptID})
	}
	e.prompt = &h
	f.resize(&e.size, f.jsonSize(&h))
	f.push(OpPromptUpsert).Prompt = &h
	switch {
	case h.FinishedAt != "":
		f.endEntity(&f.prompts, e, nil)
	default:
		f.openEntity(&f.prompts, e)
	}
}
