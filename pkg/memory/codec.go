package memory

import (
	"errors"
	"fmt"

	"github.com/stenohq/steno/pkg/internal/codec"
)

// codecVersion begins every encoded fold.
const codecVersion = 1

// ErrVersion is wrapped by Decode for a state of another format.
var ErrVersion = errors.New("session memory of another format")

// ErrCorrupt is wrapped by Decode for bytes that Append did not write.
var ErrCorrupt = errors.New("corrupt session memory")

// Append appends the fold in a deterministic form.
func (f *Fold) Append(dst []byte) []byte { return codec.Encode(append(dst, codecVersion), f.walk) }

// Decode is the inverse of Append. data is not retained.
func Decode(data []byte) (*Fold, error) {
	if len(data) == 0 || data[0] != codecVersion {
		return nil, fmt.Errorf("decode: %w", ErrVersion)
	}
	f := new(Fold)
	if err := codec.DecodeExact(data[1:], f.walk, f.walk); err != nil {
		return nil, fmt.Errorf("decode: %w", ErrCorrupt)
	}
	return f, nil
}

func (f *Fold) walk(w *codec.Walker) {
	w.Uint(&f.events)
	codec.String(w, &f.firstID)
	w.Uint(&f.firstSeq)
	w.Int(&f.firstStep)
	w.Bytes(&f.lastID)
	w.Uint(&f.lastSeq)
	w.Int(&f.lastStep)
	f.goal.walk(w)
	f.asked.walk(w)
	for _, l := range []*list{&f.completed, &f.decisions, &f.failed, &f.verified} {
		codec.List(w, &l.marks, func(m *mark) { m.walk(w) })
		w.Int(&l.dropped)
	}
	codec.List(w, &f.todos, func(m *mark) { m.walk(w) })
	w.Int(&f.todoDropped)
	codec.List(w, &f.unsettled, func(u *unsettled) {
		codec.String(w, &u.run)
		codec.String(w, &u.id)
		codec.String(w, &u.name)
		w.Bool(&u.uncertain)
		u.source.walk(w)
	})
}

func (m *mark) walk(w *codec.Walker) {
	codec.String(w, &m.text)
	m.source.walk(w)
	codec.String(w, &m.key)
	w.Int(&m.count)
}

func (s *Source) walk(w *codec.Walker) {
	codec.String(w, &s.StartEventID)
	codec.String(w, &s.EndEventID)
	w.Int(&s.StartStep)
	w.Int(&s.EndStep)
	w.Uint(&s.StartSeq)
	w.Uint(&s.EndSeq)
}
