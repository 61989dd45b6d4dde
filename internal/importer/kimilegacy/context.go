package kimilegacy

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// message is one record of a context.jsonl.
func (d *decoder) message(r *record) {
	a := r.a
	switch r.kind {
	case "user":
		if text := importer.TextOf(importer.PartsOf(r.Object["content"])); hidden(text) {
			r.pass("user.system")
			return
		}
		a.prompt(r, r.Object["content"], "completed")
	case "assistant":
		d.answer(r)
	case "tool":
		d.result(r, r.Str("tool_call_id"), shown(r.Object["content"]), false)
	case "_usage":
		var p importer.Fields
		a.changed(&p, "contextTokens", r.Number("token_count"))
		if payload := p.Object(); len(payload) > len("{}") {
			r.emit(events.TypeAgentStatusUpdated, &p)
		}
	default:
		r.pass(r.kind)
	}
}

// answer is a step. One that calls no tool is the last of its turn.
func (d *decoder) answer(r *record) {
	a := r.a
	a.newStep(r)
	for _, p := range importer.PartsOf(r.Object["content"]) {
		a.content(r, p)
	}
	called := false
	for list := scan.ArrayOf(r.Object["tool_calls"]); list.Next(); {
		a.call(r, importer.ObjectOf(list.Value()))
		called = true
	}
	a.whole(r)
	a.finishStep(r, "", true)
	if !called {
		a.endTurn(r, "", "completed")
	}
}

// hidden says whether a text is what the program tells the model.
func hidden(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<system>") && strings.HasSuffix(text, "</system>")
}

// shown is the output of a tool as a person saw it: what is said to the model
// stays out unless it is all there is.
func shown(content []byte) []byte {
	parts := importer.PartsOf(content)
	var kept []importer.Part
	for _, p := range parts {
		if p.Kind != "text" || !hidden(p.Str("text")) {
			kept = append(kept, p)
		}
	}
	if len(kept) > 0 && len(kept) == len(parts) {
		return importer.OutputOf(content)
	}
	if len(kept) == 0 {
		text := strings.TrimSpace(importer.TextOf(parts))
		text = strings.TrimSuffix(strings.TrimPrefix(text, "<system>"), "</system>")
		return scan.AppendQuoteWTF8(nil, text)
	}
	list := []byte{'['}
	for i, p := range kept {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, p.Raw...)
	}
	return importer.OutputOf(append(list, ']'))
}
