package claudecode

import (
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
)

// object is a JSON object as its members; of a repeated name the last counts.
// A member of another type than asked for reads as absent, so that one odd
// field does not lose a record.
type object map[string][]byte

func objectOf(raw []byte) object {
	o := object{}
	if scan.KindOf(raw) != scan.Object {
		return o
	}
	m := scan.ObjectOf(raw)
	for m.Next() {
		o[m.Key()] = m.Value()
	}
	return o
}

func (o object) str(name string) string {
	s, _ := scan.Unquote(o[name])
	return s
}

func (o object) flag(name string) bool {
	v, _ := scan.BoolOf(o[name])
	return v
}

func (o object) object(name string) object { return objectOf(o[name]) }

// number returns the member's bytes when it is a number, else nil.
func (o object) number(name string) []byte {
	if raw := o[name]; scan.KindOf(raw) == scan.Number {
		return raw
	}
	return nil
}

// either returns the first of the named strings that is not empty.
func (o object) either(names ...string) string {
	for _, name := range names {
		if s := o.str(name); s != "" {
			return s
		}
	}
	return ""
}

// block is one part of a message's content.
type block struct {
	object
	kind string
	raw  []byte
}

// blocksOf reads a message's content: a string is one text block. ok is false
// when the content is neither that nor a list of objects.
func blocksOf(content []byte) (blocks []block, ok bool) {
	switch scan.KindOf(content) {
	case scan.String:
		return []block{{object: object{"text": content}, kind: "text", raw: content}}, true
	case scan.Array:
	default:
		return nil, false
	}
	list := scan.ArrayOf(content)
	for list.Next() {
		raw := list.Value()
		if scan.KindOf(raw) != scan.Object {
			return blocks, false
		}
		o := objectOf(raw)
		blocks = append(blocks, block{object: o, kind: o.str("type"), raw: raw})
	}
	return blocks, list.Err() == nil
}

// textOf joins the text blocks.
func textOf(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		if b.kind == "text" {
			if t := b.str("text"); t != "" {
				parts = append(parts, t)
			}
		}
	}
	return strings.Join(parts, "\n")
}
