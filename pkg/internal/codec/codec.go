// Package codec writes and reads the states of folds in a compact binary form.
// One walk over a state serves both directions, so that the two cannot
// disagree: the walk hands every field to a Walker, which either appends it or
// sets it.
package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrCorrupt is returned for bytes that the same walk did not write.
var ErrCorrupt = errors.New("corrupt state")

// Walker takes the fields of a state one after the other.
type Walker struct {
	buf     []byte
	reading bool
	bad     bool
}

// Encode returns dst with what the walk wrote.
func Encode(dst []byte, walk func(*Walker)) []byte {
	w := Walker{buf: dst}
	walk(&w)
	return w.buf
}

// Decode lets the walk read data, all of it. Strings and slices are copied out
// of data.
func Decode(data []byte, walk func(*Walker)) error {
	w := Walker{buf: data, reading: true}
	walk(&w)
	if w.bad || len(w.buf) > 0 {
		return ErrCorrupt
	}
	return nil
}

// DecodeExact is Decode for a state that write encodes: what would not be
// written the same way again is corrupt too.
func DecodeExact(data []byte, read, write func(*Walker)) error {
	if err := Decode(data, read); err != nil {
		return err
	}
	if !bytes.Equal(Encode(nil, write), data) {
		return ErrCorrupt
	}
	return nil
}

// Reading tells the direction.
func (w *Walker) Reading() bool { return w.reading }

// Fail marks the data as corrupt; the rest of the walk reads zeros.
func (w *Walker) Fail() { w.buf, w.bad = nil, true }

// Uint walks an unsigned number.
func (w *Walker) Uint(v *uint64) {
	if !w.reading {
		w.buf = binary.AppendUvarint(w.buf, *v)
		return
	}
	u, size := binary.Uvarint(w.buf)
	if size <= 0 {
		w.Fail()
		u, size = 0, 0
	}
	*v = u
	w.buf = w.buf[size:]
}

// Int walks a number.
func (w *Walker) Int(v *int) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	w.Uint(&u)
	*v = int(u>>1) ^ -int(u&1)
}

// Bool walks a truth value.
func (w *Walker) Bool(v *bool) {
	var u uint64
	if *v {
		u = 1
	}
	w.Uint(&u)
	if u > 1 {
		w.Fail()
	}
	*v = u == 1
}

// Word walks a fixed 64-bit value.
func (w *Walker) Word(v *uint64) {
	if !w.reading {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, *v)
		return
	}
	if len(w.buf) < 8 {
		w.Fail()
		*v = 0
		return
	}
	*v = binary.LittleEndian.Uint64(w.buf)
	w.buf = w.buf[8:]
}

// String walks a text.
func String[S ~string](w *Walker, v *S) {
	n := w.Len(len(*v))
	if !w.reading {
		w.buf = append(w.buf, *v...)
		return
	}
	*v = S(w.take(n))
}

// Bytes walks a byte slice; an empty one is read as nil.
func (w *Walker) Bytes(v *[]byte) {
	n := w.Len(len(*v))
	if !w.reading {
		w.buf = append(w.buf, *v...)
		return
	}
	*v = append([]byte(nil), w.take(n)...)
}

// Len walks the length of something whose elements take at least one byte
// each.
func (w *Walker) Len(n int) int {
	u := uint64(n)
	w.Uint(&u)
	if w.reading && u > uint64(len(w.buf)) {
		w.Fail()
		return 0
	}
	return int(u)
}

func (w *Walker) take(n int) []byte {
	b := w.buf[:n]
	w.buf = w.buf[n:]
	return b
}

// List walks a list of values.
func List[T any](w *Walker, list *[]T, element func(*T)) {
	n := w.Len(len(*list))
	if w.reading {
		*list = nil
	}
	for i := range n {
		if w.reading {
			if w.bad {
				return
			}
			*list = append(*list, *new(T))
		}
		element(&(*list)[i])
	}
}
