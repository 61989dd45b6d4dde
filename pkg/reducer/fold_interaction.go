package reducer

import "github.com/stenohq/steno/pkg/events/scan"

// interactionRequest folds interaction.request. Kinds other than approval and
// question do nothing.
func (f *Fold) interactionRequest(p *foldPayload) {
	id, kind, call := p.key("id"), p.key("kind"), p.word("toolCallId")
	if call == "" {
		request := p.value("request")
		if scan.KindOf(request) == scan.Object {
			if v, ok := scan.Get(request, "toolCallId"); ok && scan.KindOf(v) == scan.String {
				call, _ = foldString(v)
			}
		}
	}
	if id == "" || kind != "approval" && kind != "question" {
		return
	}
	e := f.interactions.find(id)
	if e == nil {
		e = f.interactions.add(&foldEntity{id: id})
	}
	f.putInteraction(e, Interaction{
		InteractionID: id, InteractionKind: kind, ToolCallID: call,
		State: InteractionPending, Request: p.raw("request"),
	})
	var turn *foldTurn
	if fr := f.findCall(call); call != "" && fr != nil {
		turn = fr.step.turn
	} else if f.current != nil && f.current.head.State == TurnRunning {
		turn = f.current
	}
	f.hold(e, turn)
}

func anyInteraction(*Interaction) bool { return true }

// putInteraction replaces an interaction.
func (f *Fold) putInteraction(e *foldEntity, i Interaction) {
	was := e.interaction != nil && e.interaction.State == InteractionPending
	is := i.State == InteractionPending
	if is && !was {
		f.stats.Pending++
	} else if was && !is {
		f.stats.Pending--
	}
	e.interaction = &i
	f.resize(&e.size, f.jsonSize(&i))
	f.push(OpInteractionUpsert).Interaction = &i
	if is {
		f.openEntity(&f.interactions, e)
	} else {
		f.endEntity(&f.interactions, e, nil)
	}
}

// interactionResolved folds interaction.resolved.
func (f *Fold) interactionResolved(p *foldPayload) {
	id := p.key("id")
	e := f.interactions.find(id)
	if e == nil {
		return
	}
	i := *e.interaction
	i.Response = p.raw("response")
	i.State = "cancelled"
	if i.InteractionKind == "question" {
		i.State = "answered"
		if i.Response == "" {
			i.State = "dismissed"
		}
	} else if p.has("response") {
		if r, ok := p.object("response"); ok {
			if d := r.oneOf("decision", "approved", "rejected", "cancelled"); d != "" {
				i.State = d
			}
		}
	}
	f.putInteraction(e, i)
	if fr := f.findCall(i.ToolCallID); i.ToolCallID != "" && fr != nil && fr.head.ApprovalID != id {
		h := fr.now()
		h.ApprovalID = id
		f.putFrame(fr, h)
	}
}

// cancelInteractions cancels what waits for a person and is wanted.
func (f *Fold) cancelInteractions(wanted func(*Interaction) bool) {
	if f.stats.Pending == 0 {
		return
	}
	for e := f.interactions.first; e != nil; e = e.next {
		if e.interaction.State == InteractionPending && wanted(e.interaction) {
			i := *e.interaction
			i.State = "cancelled"
			f.putInteraction(e, i)
		}
	}
}
