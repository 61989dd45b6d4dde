package resume

import (
	"errors"
	"fmt"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/internal/codec"
	"github.com/stenohq/steno/pkg/internal/facts"
)

// codecVersion begins every encoded fold.
const codecVersion = 1

// ErrVersion is wrapped by Decode for a state of another format.
var ErrVersion = errors.New("resume state of another format")

// ErrCorrupt is wrapped by Decode for bytes that Append did not write.
var ErrCorrupt = errors.New("corrupt resume state")

// Append appends the fold in a deterministic form.
func (f *Fold) Append(dst []byte) []byte { return codec.Encode(append(dst, codecVersion), f.walk) }

// Decode is the inverse of Append, for the options the fold was made with.
// data is not retained.
func Decode(opt Options, data []byte) (*Fold, error) {
	if len(data) == 0 || data[0] != codecVersion {
		return nil, fmt.Errorf("decode: %w", ErrVersion)
	}
	f := New(opt)
	if err := codec.DecodeExact(data[1:], f.walk, f.walk); err != nil {
		return nil, fmt.Errorf("decode: %w", ErrCorrupt)
	}
	return f, nil
}

func (f *Fold) walk(w *codec.Walker) {
	f.reader.Walk(w)
	w.Uint(&f.lastSeq)
	codec.String(w, &f.run)
	codec.List(w, &f.messages, func(m **message) {
		if w.Reading() {
			*m = new(message)
		}
		(*m).walk(w)
	})
	if w.Reading() {
		for _, m := range f.messages {
			if m.stepKey != "" {
				f.places[m.stepKey] = m
			}
		}
	}
	for _, n := range []*int{&f.nextIndex, &f.dropped, &f.size, &f.users, &f.step, &f.retained, &f.leftOut} {
		w.Int(n)
	}
	w.Uint(&f.lastMessage)
	w.Uint(&f.lastEnd)
	codec.String(w, &f.checkpoint)
	codec.String(w, &f.summary)
	codec.String(w, &f.terminal)
	codec.String(w, &f.transition)
	codec.String(w, &f.details)
	codec.List(w, &f.runtime, func(k *keyed) {
		codec.String(w, &k.key)
		codec.String(w, &k.value)
	})
	f.calls.walk(w)
	codec.List(w, &f.children, func(c *child) {
		codec.String(w, &c.agent)
		codec.String(w, &c.call)
		codec.String(w, &c.state)
	})
}

func (m *message) walk(w *codec.Walker) {
	w.Int(&m.index)
	w.Uint(&m.seq)
	codec.String(w, &m.eventID)
	codec.String(w, &m.run)
	w.Int(&m.turn)
	codec.String(w, &m.stepKey)
	codec.String(w, &m.role)
	codec.String(w, &m.content)
	codec.String(w, &m.metadata)
	codec.List(w, &m.blobs, func(b *events.Blob) {
		codec.String(w, &b.Path)
		codec.String(w, &b.SHA256)
		size := int(b.Size)
		w.Int(&size)
		b.Size = int64(size)
		codec.String(w, &b.MediaType)
	})
	codec.List(w, &m.calls, func(c *facts.MessageCall) {
		codec.String(w, &c.ID)
		codec.String(w, &c.Name)
	})
	codec.String(w, &m.callID)
	w.Bool(&m.recovered)
	w.Bool(&m.live)
	w.Bool(&m.failed)
}

func (t *callTable) walk(w *codec.Walker) {
	codec.List(w, &t.list, func(c **call) {
		if w.Reading() {
			*c = new(call)
		}
		(*c).walk(w)
	})
	w.Int(&t.size)
	for _, n := range []*int{&t.counts.Completed, &t.counts.Failed, &t.counts.Pending, &t.counts.Uncertain} {
		w.Int(n)
	}
	if w.Reading() {
		t.index = map[callKey]*call{}
		t.settled, t.unsettled, t.settledSize = 0, 0, 0
		for _, c := range t.list {
			t.index[c.callKey] = c
			t.tally(c, 1)
		}
	}
}

func (c *call) walk(w *codec.Walker) {
	codec.String(w, &c.run)
	codec.String(w, &c.id)
	codec.String(w, &c.name)
	w.Int(&c.step)
	codec.String(w, &c.args)
	codec.String(w, &c.result)
	failed := c.error != nil
	w.Bool(&failed)
	if failed {
		if w.Reading() {
			c.error = new(facts.Error)
		}
		codec.String(w, &c.error.Code)
		codec.String(w, &c.error.Message)
	}
	for _, seq := range []*uint64{&c.requested, &c.started, &c.completed, &c.failed} {
		w.Uint(seq)
	}
	codec.String(w, &c.by)
	w.Bool(&c.decided)
}
