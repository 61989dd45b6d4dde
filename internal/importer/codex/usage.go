package codex

import (
	"bytes"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// usage is what token_count records told.
type usage struct {
	total   []byte // the newest cumulative count
	context []byte // the newest size of the context
	window  []byte
}

// tokenCount ends a step. A record that repeats the cumulative count tells of
// no call of the model: those stand at the beginning of a turn, and where only
// the rate limits changed.
func (d *decoder) tokenCount(r *record) {
	info := r.Object("info")
	if len(info) == 0 {
		return
	}
	last := info.Object("last_token_usage")
	d.contextSize(r, last.Number("total_tokens"), info.Number("model_context_window"))
	total := info["total_token_usage"]
	if total != nil && bytes.Equal(total, d.usage.total) {
		return
	}
	d.usage.total = bytes.Clone(total)
	if len(last) == 0 {
		last = object{"input_tokens": info.Number("prompt"), "output_tokens": info.Number("completion")} // the oldest form
	}
	d.count(r, usageOf(last))
}

// contextSize tells how full the context is.
func (d *decoder) contextSize(r *record, size, window []byte) {
	u := &d.usage
	if size == nil || string(size) == "0" || bytes.Equal(size, u.context) && bytes.Equal(window, u.window) {
		return
	}
	u.context, u.window = bytes.Clone(size), bytes.Clone(window)
	var p importer.Fields
	p.Raw("contextTokens", size)
	if window != nil && string(window) != "0" {
		p.Raw("maxContextTokens", window)
	}
	d.emit(r, "agent.status.updated", &p)
}

// count ends the step that a call of the model was. One that left nothing else
// in the file, as a compaction, becomes a step of its own. What was copied from
// another session was counted there.
func (d *decoder) count(r *record, usage []byte) {
	t := &d.turns
	s := t.step
	if s == nil || s.counted || !s.open && t.open {
		if usage == nil || d.fork.copied {
			return
		}
		if t.turn < 0 || t.fresh || t.open || t.waiting != nil {
			s = d.needStep(r)
		} else {
			t.steps++
			s = &step{turn: t.turn, number: t.steps}
			t.step = s
		}
	}
	if d.fork.copied {
		usage = nil
	}
	s.open, s.counted = false, true
	d.emit(r, "turn.step.completed", s.fields().Raw("usage", usage).Opt("model", d.settings.model))
}

// usageOf translates the counts of a call; nil when there are none. The counted
// input has the cached part in it.
func usageOf(counts object) []byte {
	input, _ := scan.Int64(counts["input_tokens"])
	output, _ := scan.Int64(counts["output_tokens"])
	cached, _ := scan.Int64(counts["cached_input_tokens"])
	written, _ := scan.Int64(counts["cache_write_input_tokens"])
	if input <= 0 && output <= 0 {
		return nil
	}
	cached = min(max(cached, 0), max(input, 0))
	written = min(max(written, 0), max(input, 0)-cached)
	var p importer.Fields
	p.Uint("inputOther", uint64(max(input, 0)-cached-written)).Uint("output", uint64(max(output, 0))).
		Uint("inputCacheRead", uint64(cached)).Uint("inputCacheCreation", uint64(written))
	return p.Object()
}
