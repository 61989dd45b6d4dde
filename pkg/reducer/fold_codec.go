package reducer

import (
	"encoding/binary"
	"math"
	"strings"
)

// foldCoder encodes or decodes the state of a fold: one description of each
// value serves both ways. Numbers are varints, floats 8 bytes, texts a length
// and their bytes. Decoding never fails loudly: after the first wrong byte bad
// is set and every value is zero. It allocates no more than a small multiple
// of what it is given.
type foldCoder struct {
	decode bool
	w      []byte // encoding: what was written
	r      string // decoding: what is left
	bad    bool
}

func (c *foldCoder) fail() { c.r, c.bad = "", true }

func (c *foldCoder) uint(v *uint64) {
	if !c.decode {
		c.w = binary.AppendUvarint(c.w, *v)
		return
	}
	*v = 0
	for shift := uint(0); ; shift += 7 {
		if len(c.r) == 0 || shift > 63 {
			c.fail()
			*v = 0
			return
		}
		b := c.r[0]
		c.r = c.r[1:]
		*v |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return
		}
	}
}

func (c *foldCoder) int(v *int) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	c.uint(&u)
	if c.decode {
		*v = int(u>>1) ^ -int(u&1)
	}
}

func (c *foldCoder) bool(v *bool) {
	if !c.decode {
		b := byte(0)
		if *v {
			b = 1
		}
		c.w = append(c.w, b)
		return
	}
	*v = false
	if len(c.r) == 0 || c.r[0] > 1 {
		c.fail()
		return
	}
	*v = c.r[0] == 1
	c.r = c.r[1:]
}

func (c *foldCoder) float(v *float64) {
	if !c.decode {
		c.w = binary.LittleEndian.AppendUint64(c.w, math.Float64bits(*v))
		return
	}
	*v = 0
	if len(c.r) < 8 {
		c.fail()
		return
	}
	var b [8]byte
	copy(b[:], c.r)
	*v = math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
	c.r = c.r[8:]
}

// shortText is up to where a text is copied rather than kept as a part of the
// whole state, which it would keep in memory.
const shortText = 64

func (c *foldCoder) text(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.decode {
		c.w = append(c.w, *v...)
		return
	}
	*v = ""
	if n > uint64(len(c.r)) {
		c.fail()
		return
	}
	*v = c.r[:n]
	if n <= shortText {
		*v = strings.Clone(*v)
	}
	c.r = c.r[n:]
}

// codeWord codes a value of a string type.
func codeWord[T ~string](c *foldCoder, v *T) {
	s := string(*v)
	c.text(&s)
	*v = T(s)
}

// codeOpt codes an optional value.
func codeOpt[T comparable](c *foldCoder, v *Opt[T], value func(*T)) {
	c.bool(&v.Set)
	if v.Set {
		value(&v.V)
	}
}

func (c *foldCoder) optText(v *Opt[string])   { codeOpt(c, v, c.text) }
func (c *foldCoder) optFloat(v *Opt[float64]) { codeOpt(c, v, c.float) }

// codePtr codes a value that may be nil. What is encoded is only read.
func codePtr[T any](c *foldCoder, v **T, value func(*T)) {
	set := *v != nil
	c.bool(&set)
	if !c.decode {
		if set {
			value(*v)
		}
		return
	}
	*v = nil
	if set {
		*v = new(T)
		value(*v)
	}
}

// codeList codes a list; every entry takes at least one byte, which bounds
// what a wrong length can make.
func codeList[T any](c *foldCoder, v *[]T, value func(*T)) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.decode {
		for i := range *v {
			value(&(*v)[i])
		}
		return
	}
	*v = nil
	if n > uint64(len(c.r)) {
		c.fail()
		return
	}
	for range n {
		var one T
		value(&one)
		if c.bad {
			return
		}
		*v = append(*v, one)
	}
}
