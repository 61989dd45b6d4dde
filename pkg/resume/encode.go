package resume

import (
	"maps"
	"slices"
	"strconv"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// AppendJSON appends the state as one JSON object: members in the order of the
// struct, opaque values byte for byte.
func (s *State) AppendJSON(dst []byte) []byte {
	w := writer{dst: append(dst, '{')}
	w.text("session_id", string(s.SessionID))
	w.text("agent_id", string(s.AgentID))
	w.text("run_id", s.RunID)
	w.text("epoch", s.Epoch)
	w.uint("last_seq", s.LastSeq)
	w.bool("open", s.Open)
	w.messages("history_messages", s.History)
	w.messages("model_messages", s.Model)
	w.raw("checkpoint", s.Checkpoint)
	w.raw("terminal", s.Terminal)
	w.object("runtime_state", func() {
		for _, key := range slices.Sorted(maps.Keys(s.RuntimeState)) {
			w.quotedName(key)
			w.dst = append(w.dst, s.RuntimeState[key]...)
		}
	})
	w.object("loop_state", func() {
		w.messages("messages", s.LoopState.Messages)
		w.int("step", s.LoopState.Step)
		w.int("turn_count", s.LoopState.TurnCount)
		w.text("tool_choice", s.LoopState.ToolChoice)
		w.object("transition", func() {
			w.text("reason", s.LoopState.Transition.Reason)
			w.raw("details", s.LoopState.Transition.Details)
		})
	})
	w.calls(s.ToolCalls)
	w.object("tool_counts", func() {
		w.int("completed", s.ToolCounts.Completed)
		w.int("failed", s.ToolCounts.Failed)
		w.int("pending", s.ToolCounts.Pending)
		w.int("uncertain", s.ToolCounts.Uncertain)
	})
	w.children(s.Children)
	w.int("next_turn_id", s.NextTurnID)
	w.openTurn(s.OpenTurn)
	w.list("pending_interactions", len(s.PendingInteractions), func(i int) {
		w.dst = scan.AppendQuote(w.dst, s.PendingInteractions[i])
	})
	if s.HistoryDropped > 0 {
		w.int("history_dropped", s.HistoryDropped)
	}
	if s.LeftOut > 0 {
		w.int("left_out", s.LeftOut)
	}
	return append(w.dst, '}')
}

// writer appends the members of nested objects.
type writer struct{ dst []byte }

func (w *writer) name(name string) {
	if c := w.dst[len(w.dst)-1]; c != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(append(w.dst, '"'), name...), '"', ':')
}

func (w *writer) quotedName(name string) {
	if c := w.dst[len(w.dst)-1]; c != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(scan.AppendQuote(w.dst, name), ':')
}

func (w *writer) text(name, value string) {
	w.name(name)
	w.dst = scan.AppendQuote(w.dst, value)
}

func (w *writer) option(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) uint(name string, v uint64) {
	w.name(name)
	w.dst = strconv.AppendUint(w.dst, v, 10)
}

func (w *writer) seq(name string, v uint64) {
	if v > 0 {
		w.uint(name, v)
	}
}

func (w *writer) int(name string, v int) {
	w.name(name)
	w.dst = strconv.AppendInt(w.dst, int64(v), 10)
}

func (w *writer) bool(name string, v bool) {
	w.name(name)
	w.dst = strconv.AppendBool(w.dst, v)
}

func (w *writer) raw(name string, v []byte) {
	w.name(name)
	if len(v) == 0 {
		v = []byte("null")
	}
	w.dst = append(w.dst, v...)
}

func (w *writer) object(name string, members func()) {
	w.name(name)
	w.dst = append(w.dst, '{')
	members()
	w.dst = append(w.dst, '}')
}

func (w *writer) list(name string, n int, element func(int)) {
	w.name(name)
	w.dst = append(w.dst, '[')
	for i := range n {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		element(i)
	}
	w.dst = append(w.dst, ']')
}

func (w *writer) messages(name string, list []Message) {
	w.list(name, len(list), func(i int) {
		m := &list[i]
		w.dst = append(w.dst, '{')
		w.text("role", m.Role)
		w.raw("content", m.Content)
		w.raw("metadata", m.Metadata)
		w.text("run_id", m.RunID)
		w.uint("seq", m.Seq)
		if len(m.Blobs) > 0 {
			w.name("blobs")
			w.dst = events.AppendBlobs(w.dst, m.Blobs)
		}
		if m.Recovered {
			w.bool("recovered", true)
		}
		w.dst = append(w.dst, '}')
	})
}

func (w *writer) calls(list []ToolCall) {
	w.list("tool_calls", len(list), func(i int) {
		c := &list[i]
		w.dst = append(w.dst, '{')
		w.text("run_id", c.RunID)
		w.text("tool_call_id", c.ToolCallID)
		w.text("tool_name", c.ToolName)
		w.int("step", c.Step)
		w.text("class", string(c.Class))
		w.raw("args", c.Args)
		if len(c.Result) > 0 {
			w.raw("result", c.Result)
		}
		if c.Error != nil {
			w.object("error", func() {
				w.option("code", c.Error.Code)
				w.text("message", c.Error.Message)
			})
		}
		w.bool("replay_allowed", c.ReplayAllowed)
		w.seq("requested_seq", c.RequestedSeq)
		w.seq("started_seq", c.StartedSeq)
		w.seq("settled_seq", c.SettledSeq)
		w.option("settled_by", c.SettledBy)
		w.dst = append(w.dst, '}')
	})
}

func (w *writer) children(list []Child) {
	w.list("children", len(list), func(i int) {
		w.dst = append(w.dst, '{')
		w.text("agent_id", list[i].AgentID)
		w.option("tool_call_id", list[i].ToolCallID)
		w.text("state", list[i].State)
		w.option("child_state", list[i].ChildState)
		w.dst = append(w.dst, '}')
	})
}

func (w *writer) openTurn(t *OpenTurn) {
	if t == nil {
		w.raw("open_turn", nil)
		return
	}
	w.object("open_turn", func() {
		w.int("turnId", t.TurnID)
		w.int("next_step", t.NextStep)
		w.text("prompt", t.Prompt)
	})
}
