package resume

import (
	"slices"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/internal/facts"
	"github.com/stenohq/steno/pkg/reducer"
)

// current returns the messages from an index on, those of unfinished steps as
// they would be if they ended now, and without empty ones.
func (f *Fold) current(from int) []*message {
	unfinished := map[string]facts.Fact{}
	for _, one := range f.reader.Unfinished() {
		unfinished[one.StepKey] = one
	}
	var list []*message
	for _, m := range f.messages {
		if m.index < from {
			continue
		}
		if one, ok := unfinished[m.stepKey]; ok && m.stepKey != "" && m.live {
			again := *m
			again.fill(&one)
			m = &again
		}
		if m.role != "" {
			list = append(list, m)
		}
	}
	return list
}

// ask is a call that an assistant message makes, and what answered it.
type ask struct {
	call   facts.MessageCall
	run    string
	answer *message
}

// conversation makes messages valid for a model: behind each assistant message
// stands exactly one tool message for each of its calls, a synthetic one where
// none was recorded; tool messages that answer nothing are left out.
func (f *Fold) conversation(list []*message) []Message {
	asks := map[*message][]*ask{}
	open := map[string][]*ask{} // by call id, in order
	for _, m := range list {
		switch m.role {
		case "assistant":
			for _, c := range m.calls {
				a := &ask{call: c, run: m.run}
				asks[m] = append(asks[m], a)
				open[c.ID] = append(open[c.ID], a)
			}
		case "tool":
			if a := answered(open[m.callID], m); a != nil {
				a.answer = m
			}
		}
	}
	out := make([]Message, 0, len(list))
	for _, m := range list {
		if m.role == "tool" {
			continue
		}
		out = append(out, m.message(nil))
		out = f.appendAnswers(out, asks[m])
	}
	return out
}

// answered finds the call that a tool message answers among those of its id:
// the newest that is still open, one of the same run first. A recorded message replaces
// one that was derived from a result.
func answered(open []*ask, m *message) *ask {
	var other *ask
	for _, a := range slices.Backward(open) {
		if a.answer != nil && (!a.answer.live || m.live) {
			continue
		}
		if a.run == m.run {
			return a
		}
		if other == nil && a.answer == nil {
			other = a
		}
	}
	return other
}

// appendAnswers appends what was recorded, in the order of the log (derived
// ones in the order of the calls), then what is made up.
func (f *Fold) appendAnswers(out []Message, asks []*ask) []Message {
	recorded := make([]*ask, 0, len(asks))
	live := false
	for _, a := range asks {
		if a.answer != nil {
			recorded = append(recorded, a)
			live = live || a.answer.live
		}
	}
	if !live {
		slices.SortStableFunc(recorded, func(a, b *ask) int { return a.answer.index - b.answer.index })
	}
	for _, a := range recorded {
		out = append(out, a.answer.message(&a.call))
	}
	for _, a := range asks {
		if a.answer == nil {
			out = append(out, f.synthetic(a))
		}
	}
	return out
}

// message is the message as it is reported; call is what a tool message
// answers.
func (m *message) message(call *facts.MessageCall) Message {
	out := Message{
		Role: m.role, Content: raw(m.content), Metadata: raw(m.metadata), RunID: m.run, Seq: m.seq,
		Blobs: m.blobs, Recovered: m.recovered,
	}
	if m.role == "tool" && m.live && call != nil {
		out.Metadata = raw(facts.ResultMetadata(call.ID, call.Name, m.failed))
	}
	return out
}

// synthetic is the tool message for a call without a recorded one.
func (f *Fold) synthetic(a *ask) Message {
	content := quoted(recovery(f.calls.find(a.run, a.call.ID)))
	if c := f.calls.find(a.run, a.call.ID); c != nil && c.class() == ClassCompleted {
		content = facts.TextOr(orNull(c.result))
	}
	meta := scan.AppendQuote([]byte(`{"tool_call_id":`), a.call.ID)
	meta = scan.AppendQuote(append(meta, `,"tool_name":`...), a.call.Name)
	meta = append(meta, `,"recovered":true}`...)
	return Message{Role: "tool", Content: raw(content), Metadata: meta, RunID: a.run, Recovered: true}
}

// recovery is the compact JSON that tells a model what became of a call.
func recovery(c *call) []byte {
	code, message := "RECOVERY_STATE_UNKNOWN", "No tool lifecycle fact was recorded; inspect before retrying."
	if c != nil {
		switch c.class() {
		case ClassFailed:
			code, message = "EXECUTION_FAILED", "Tool execution failed before its observation was recorded."
			if c.error != nil && c.error.Code != "" {
				code = c.error.Code
			}
			if c.error != nil && c.error.Message != "" {
				message = c.error.Message
			}
		case ClassUncertain:
			code, message = "INTERRUPTED_UNCERTAIN", "Tool execution was interrupted; inspect before retrying."
		case ClassPending:
			code, message = "NOT_EXECUTED_REPLAN", "Tool execution did not start; it may be planned again."
		case ClassCompleted:
		}
	}
	dst := scan.AppendQuote([]byte(`{"status":"error","error":{"code":`), code)
	dst = scan.AppendQuote(append(dst, `,"message":`...), message)
	return append(dst, `},"data":{"recovered":true}}`...)
}

func quoted(b []byte) reducer.Raw { return reducer.Raw(scan.AppendQuote(nil, string(b))) }

func orNull(r reducer.Raw) reducer.Raw {
	if r == "" {
		return "null"
	}
	return r
}

// model is what a model should see: the last checkpoint's summary, then the
// messages it retained and what followed.
func (f *Fold) model() []Message {
	var out []Message
	if f.summary != "" {
		out = append(out, Message{
			Role: "summary", Content: raw(reducer.Raw(scan.AppendQuote(nil, f.summary))), Metadata: []byte("{}"),
			RunID: f.run,
		})
	}
	return append(out, f.conversation(f.current(f.retained))...)
}

// clip returns the newest messages of at most MaxHistory bytes; how many
// recorded ones were left out too.
func clip(list []*message) (kept []*message, dropped int) {
	size, i := 0, len(list)
	for i > 0 && size+list[i-1].size() <= MaxHistory {
		i--
		size += list[i].size()
	}
	return list[i:], i
}

// raw returns a value as JSON clients see it: absent is null.
func raw(r reducer.Raw) []byte {
	if r == "" {
		return []byte("null")
	}
	return []byte(r)
}
