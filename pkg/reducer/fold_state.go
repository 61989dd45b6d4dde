package reducer

import (
	"errors"
	"slices"
)

// ErrFoldState is returned for bytes that AppendState did not write.
var ErrFoldState = errors.New("no state of this fold")

// AppendState appends the fold's state in a deterministic form: equal folds
// have equal bytes. It is called between batches.
func (f *Fold) AppendState(dst []byte) []byte {
	c := foldCoder{w: dst}
	f.code(&c)
	return c.w
}

// DecodeFold returns the fold whose AppendState gave data, which is not kept.
// The error is ErrFoldState.
func DecodeFold(agentID string, sink FoldSink, data []byte) (*Fold, error) {
	f := NewFold(agentID, sink)
	c := foldCoder{decode: true, r: string(data)}
	f.code(&c)
	if c.bad || len(c.r) > 0 || !f.rebuild() {
		return nil, ErrFoldState
	}
	return f, nil
}

// code codes the whole state but for what rebuild derives.
func (f *Fold) code(c *foldCoder) {
	c.int(&f.next)
	c.int(&f.used)
	c.alias(&f.alias)
	c.bool(&f.refsClosed)
	codeList(c, &f.closed.runs, func(r *closedRun) { c.int(&r.first); c.int(&r.last); c.bool(&r.user) })
	c.uint(&f.born)
	c.uint(&f.ends)
	f.codeItems(c)
	f.codeRefs(c)
	for i, set := range f.sets() {
		f.codeSet(c, set, i)
	}
	codePtr(c, &f.todo, c.todoDoc)
	c.int(&f.todoSize)
	c.metaData(&f.meta)
	c.bool(&f.run.clean)
	codeList(c, &f.run.ids, c.text)
	c.int(&f.run.past)
	c.int(&f.run.now)
	c.bool(&f.roster.started)
	c.descriptor(&f.roster.self)
	codeList(c, &f.roster.children, c.descriptor)
	codeWord(c, &f.roster.labels)
	c.text(&f.roster.source)
	c.statsData(&f.stats)
	c.names(&f.shells)
	c.names(&f.agents)
	codeList(c, &f.notices.order, func(n **foldNotice) {
		if c.decode {
			*n = new(foldNotice)
		}
		c.text(&(*n).key)
		c.int(&(*n).count)
		c.text(&(*n).markerID)
	})
}

func (c *foldCoder) alias(a *foldAlias) {
	c.bool(&a.set)
	c.int(&a.from)
	c.int(&a.to)
}

func (c *foldCoder) names(n *foldNames) {
	if c.decode {
		n.to = map[string]string{}
	}
	n.bytes = 0
	codeList(c, &n.order, func(name *string) {
		c.text(name)
		to := n.to[*name]
		c.text(&to)
		if c.decode {
			n.to[*name] = to
		}
		n.bytes += len(*name) + len(to)
	})
}

// codeItems codes the timeline.
func (f *Fold) codeItems(c *foldCoder) {
	var list []*foldItem
	for item := f.first; item != nil; item = item.next {
		list = append(list, item)
	}
	codeList(c, &list, func(item **foldItem) {
		if c.decode {
			*item = new(foldItem)
		}
		f.codeItem(c, *item)
		if c.decode && !c.bad && !f.adopt(*item) {
			c.fail()
		}
	})
}

func (f *Fold) codeItem(c *foldCoder, item *foldItem) {
	kind := uint64(0)
	switch {
	case item.marker != nil:
		kind = 1
	case item.ref != nil:
		kind = 2
	}
	c.uint(&kind)
	c.int(&item.size)
	switch kind {
	case 0:
		if c.decode {
			item.turn = &foldTurn{item: item, head: new(Turn)}
		}
		f.codeTurn(c, item.turn)
	case 1:
		if c.decode {
			item.marker = new(Marker)
		}
		c.marker(item.marker)
	case 2:
		if c.decode {
			item.ref = new(TaskRef)
		}
		c.taskRef(item.ref)
	default:
		c.fail()
	}
}

func (f *Fold) codeTurn(c *foldCoder, t *foldTurn) {
	c.turn(t.head)
	c.int(&t.highest)
	c.int(&t.shut)
	c.int(&t.floor)
	c.alias(&t.alias)
	c.bool(&t.pruned)
	c.turnUsage(&t.past)
	c.int(&t.atts)
	c.int(&t.size)
	codeList(c, &t.steps, func(s **foldStep) {
		if c.decode {
			*s = &foldStep{turn: t, head: new(Step)}
		}
		c.codeStep(*s)
	})
	current := 0
	if t.current != nil {
		current = t.current.head.Ordinal
	}
	c.int(&current)
	if c.decode {
		t.current = t.findStep(current)
	}
}

func (c *foldCoder) codeStep(s *foldStep) {
	c.step(s.head)
	c.int(&s.texts)
	c.int(&s.run)
	c.bool(&s.loop)
	c.int(&s.size)
	open := -1
	codeList(c, &s.frames, func(fr **foldFrame) {
		if c.decode {
			*fr = &foldFrame{step: s, head: new(Frame)}
		}
		c.codeFrame(*fr)
	})
	for i, fr := range s.frames {
		if fr == s.open {
			open = i
		}
	}
	c.int(&open)
	if !c.decode || open < 0 {
		return
	}
	if open >= len(s.frames) || s.frames[open].head.Kind == FrameTool {
		c.fail()
		return
	}
	s.open = s.frames[open]
	high := s.open.text.high
	s.open.text.reset(s.open.head.Text)
	s.open.text.high = high
}

func (c *foldCoder) codeFrame(fr *foldFrame) {
	if !c.decode {
		h := fr.now()
		c.frame(&h)
	} else {
		c.frame(fr.head)
	}
	high := int(fr.text.high)
	c.int(&high)
	c.bool(&fr.void)
	c.uint(&fr.born)
	c.int(&fr.size)
	if c.decode {
		if fr.head.Kind == FrameTool {
			fr.text.reset(fr.head.InputText.V)
		}
		fr.text.high = rune(high)
	}
}

// codeRefs codes which turn is current, and which frames grow, in their order.
func (f *Fold) codeRefs(c *foldCoder) {
	current := -1
	if f.current != nil {
		current = f.current.head.Ordinal
	}
	c.int(&current)
	type place struct{ turn, step int }
	var open []place
	for _, fr := range f.open {
		open = append(open, place{fr.step.turn.head.Ordinal, fr.step.head.Ordinal})
	}
	codeList(c, &open, func(p *place) { c.int(&p.turn); c.int(&p.step) })
	if !c.decode || c.bad {
		return
	}
	f.current = f.findTurn(current)
	for _, p := range open {
		t := f.findTurn(p.turn)
		if t == nil {
			c.fail()
			return
		}
		s := t.findStep(p.step)
		if s == nil || s.open == nil || slices.Contains(f.open, s.open) {
			c.fail()
			return
		}
		f.open = append(f.open, s.open)
	}
}

// codeSet codes one set of entities.
func (f *Fold) codeSet(c *foldCoder, set *foldSet, kind int) {
	var list []*foldEntity
	for e := set.first; e != nil; e = e.next {
		list = append(list, e)
	}
	codeList(c, &list, func(e **foldEntity) {
		if c.decode {
			*e = new(foldEntity)
		}
		f.codeEntity(c, *e, kind)
		if c.decode && !c.bad {
			if set.byID[(*e).id] != nil {
				c.fail()
				return
			}
			set.add(*e)
		}
	})
}

func (f *Fold) codeEntity(c *foldCoder, e *foldEntity, kind int) {
	c.text(&e.id)
	c.int(&e.size)
	switch kind {
	case 0:
		f.codeTask(c, e)
	case 1:
		codePtr(c, &e.interaction, c.interaction)
	case 2:
		codePtr(c, &e.attachment, c.attachment)
	default:
		codePtr(c, &e.prompt, c.prompt)
	}
	if c.decode && e.task == nil && e.interaction == nil && e.attachment == nil && e.prompt == nil {
		c.fail()
		return
	}
	c.uint(&e.end)
	ended := int(e.ended)
	c.int(&ended)
	e.ended = foldEnded(ended)
	f.codeTurnRef(c, &e.endTurn)
	f.codeTurnRef(c, &e.holds)
}

func (f *Fold) codeTask(c *foldCoder, e *foldEntity) {
	if c.decode {
		e.task = new(Task)
		c.task(e.task)
	} else {
		h := e.nowTask()
		c.task(&h)
	}
	high := int(e.text.high)
	c.int(&high)
	c.int(&e.total)
	if c.decode && (e.total > 0 || high != 0) {
		e.text.reset(e.task.OutputTail)
		e.text.high = rune(high)
	}
}

// codeTurnRef codes a reference to a held turn.
func (f *Fold) codeTurnRef(c *foldCoder, t **foldTurn) {
	n := -1
	if *t != nil && !(*t).gone {
		n = (*t).head.Ordinal
	}
	c.int(&n)
	if c.decode && n >= 0 && !c.bad {
		if *t = f.findTurn(n); *t == nil {
			c.fail()
		}
	}
}
