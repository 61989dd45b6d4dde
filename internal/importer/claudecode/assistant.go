package claudecode

import (
	"fmt"
	"strings"

	"github.com/stenohq/steno/internal/importer"
)

// synthetic is the model of messages that the program wrote itself.
const synthetic = "<synthetic>"

func (d *decoder) assistant(r *record) {
	message := r.Object("message")
	blocks, ok := blocksOf(message["content"])
	if !ok {
		r.unused("assistant", "assistant record without readable content")
		return
	}
	if message.Str("model") == synthetic {
		d.synthetic(r, blocks)
		return
	}
	a := r.a
	s := a.stepOf(r, messageKey(r, message))
	s.answer = true
	s.learn(r, message)
	for i, b := range blocks {
		d.block(r, s, i, b)
	}
	a.last = r.now()
	if s != a.step {
		return
	}
	late := !s.open
	if late {
		s.open = true // tell its end again, with what came late
	}
	if late || final(blocks, s.stop) {
		a.open = true
		a.endTurn(r, "completed")
	}
}

// messageKey names the API message a line is part of.
func messageKey(r *record, message object) string {
	if id := message.Str("id"); id != "" {
		return id
	}
	return r.out.Origin().ID
}

// stepOf finds or opens the step of a message.
func (a *agent) stepOf(r *record, key string) *step {
	if a.step != nil && a.step.key == key {
		return a.step
	}
	if s := a.byKey[key]; s != nil {
		return s
	}
	if a.step != nil && a.step.open && a.step.key == "" {
		a.step.key = strings.Clone(key)
		a.byKey[a.step.key] = a.step
		return a.step
	}
	return a.needStep(r, key)
}

// learn takes what every line of a message repeats; the last line is right.
func (s *step) learn(r *record, message object) {
	if usage := usageOf(message.Object("usage")); usage != nil {
		s.usage = usage
	}
	if model := message.Str("model"); model != "" {
		s.model = strings.Clone(model)
	}
	if stop := message.Str("stop_reason"); stop != "" {
		s.stop = strings.Clone(stop)
	}
	if cost := r.Number("costUSD"); cost != nil {
		s.cost = cost
	}
}

// usageOf translates the counts of an API message; nil when there are none.
func usageOf(usage object) []byte {
	var p importer.Fields
	for _, names := range [...][2]string{
		{"inputOther", "input_tokens"},
		{"output", "output_tokens"},
		{"inputCacheRead", "cache_read_input_tokens"},
		{"inputCacheCreation", "cache_creation_input_tokens"},
	} {
		p.Raw(names[0], usage.Number(names[1]))
	}
	if payload := p.Object(); len(payload) > len("{}") {
		return payload
	}
	return nil
}

// final says whether a message that stopped for this reason ends the turn with
// these blocks. Only a text is sure to be its last block.
func final(blocks []block, stop string) bool {
	if len(blocks) == 0 || blocks[len(blocks)-1].kind != "text" {
		return false
	}
	return stop == "end_turn" || stop == "stop_sequence"
}

func (d *decoder) block(r *record, s *step, i int, b block) {
	switch b.kind {
	case "text":
		if text := b.object["text"]; importer.IsText(text) {
			s.texts++
			r.emit("assistant.message", s.fields().Raw("text", text).Raw("frame", frame(s.texts)))
		}
	case "thinking":
		if text := b.object["thinking"]; importer.IsText(text) {
			s.thinks++
			r.emit("thinking.message", s.fields().Raw("text", text).Raw("frame", frame(s.thinks)))
		}
	case "redacted_thinking":
	case "tool_use", "server_tool_use", "mcp_tool_use":
		d.call(r, s, i, b)
	default:
		if strings.HasSuffix(b.kind, "_tool_result") {
			d.result(r, b)
			return
		}
		r.pass("assistant." + b.kind)
	}
}

// frame names a further text of a step; the first one needs no name.
func frame(n int) []byte {
	if n < 2 {
		return nil
	}
	return fmt.Appendf(nil, "%d", n)
}

// call is a tool call. An id that the source uses twice, or not at all, gets a
// name of its own.
func (d *decoder) call(r *record, s *step, i int, b block) {
	a := r.a
	id := strings.Clone(b.Str("id"))
	name := id
	if id == "" {
		name = fmt.Sprintf("%s.%d", r.out.Origin().ID, i)
		id = name
		a.bare = append(a.bare, id)
		a.byUUID[strings.Clone(r.uuid)] = append(a.byUUID[r.uuid], id)
	}
	a.calls[id]++
	if n := a.calls[id]; n > 1 {
		name = fmt.Sprintf("%s#%d", id, n)
	}
	a.named[id] = name
	a.asking[name] = true
	input := b.object["input"]
	if input == nil {
		input = []byte("{}")
	}
	p := s.fields().Str("toolCallId", name).Str("name", importer.First(b.Str("name"), "unknown")).Raw("args", importer.WithoutBytes(input))
	r.emit("tool.call.started", p)
	d.asked(r, name, b)
	a.release(r, id)
}

// synthetic is a message of the program itself: an error of the API ends the
// turn. It is no call of the model, so it has no usage.
func (d *decoder) synthetic(r *record, blocks []block) {
	text := textOf(blocks)
	if !r.Flag("isApiErrorMessage") && r.Str("error") == "" && !strings.HasPrefix(text, "API Error") {
		r.pass("assistant.synthetic")
		return
	}
	a := r.a
	s := a.step
	if s == nil || !s.open || s.key != "" {
		s = a.needStep(r, "")
	}
	a.last = r.now()
	code := r.Either("error", "apiErrorStatus")
	var notice importer.Fields
	r.emit("error", notice.Str("message", text).Opt("code", code))
	s.open = false
	r.emit("turn.step.interrupted", s.fields().Str("reason", "error").Str("message", text))
	var cause, p importer.Fields
	cause.Str("message", text).Opt("code", code)
	a.open, a.end = false, "failed"
	r.emit("turn.ended", p.Int("turnId", a.turn).Str("reason", "failed").Raw("error", cause.Object()))
}
