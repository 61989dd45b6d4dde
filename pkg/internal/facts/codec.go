package facts

import (
	"github.com/stenohq/steno/pkg/internal/codec"
	"github.com/stenohq/steno/pkg/reducer"
)

// Walk hands the state to a codec.
func (r *Reader) Walk(w *codec.Walker) {
	codec.String(w, &r.run)
	w.Bool(&r.executing)
	w.Int(&r.step)
	w.Int(&r.nextTurn)
	codec.List(w, &r.steps, func(s **step) {
		if w.Reading() {
			*s = new(step)
		}
		(*s).walk(w)
	})
	if w.Reading() {
		r.size = 0
		for _, s := range r.steps {
			r.size += s.size
		}
	}
	codec.List(w, &r.turns, func(t **turn) {
		if w.Reading() {
			*t = new(turn)
		}
		w.Int(&(*t).ordinal)
		w.Bool(&(*t).running)
		codec.String(w, &(*t).prompt)
		w.Int(&(*t).highest)
	})
	codec.List(w, &r.pending, func(p *pending) {
		codec.String(w, &p.id)
		codec.String(w, &p.kind)
		codec.String(w, &p.call)
		codec.String(w, &p.run)
	})
	codec.List(w, &r.withheld, func(k *callKey) {
		codec.String(w, &k.run)
		codec.String(w, &k.id)
	})
}

func (s *step) walk(w *codec.Walker) {
	codec.String(w, &s.key)
	w.Int(&s.turn)
	codec.String(w, &s.run)
	w.Int(&s.ordinal)
	w.Uint(&s.seq)
	codec.String(w, &s.eventID)
	for _, b := range []*bool{&s.begun, &s.ended, &s.fact, &s.final, &s.changed, &s.over} {
		w.Bool(b)
	}
	w.Int(&s.size)
	codec.List(w, &s.frames, func(f **frame) {
		if w.Reading() {
			*f = new(frame)
		}
		(*f).walk(w)
	})
}

func (f *frame) walk(w *codec.Walker) {
	codec.String(w, &f.id)
	codec.String(w, &f.kind)
	w.Bytes(&f.text)
	codec.String(w, &f.callID)
	codec.String(w, &f.name)
	codec.String(w, &f.input)
	blob := f.blob != nil
	w.Bool(&blob)
	if !blob {
		return
	}
	if w.Reading() {
		f.blob = new(reducer.BlobRef)
	}
	codec.String(w, &f.blob.SHA256)
	size := int(f.blob.Size)
	w.Int(&size)
	f.blob.Size = int64(size)
	codec.String(w, &f.blob.MediaType)
}
