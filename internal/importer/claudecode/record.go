package claudecode

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// object is a JSON object as its members.
type object = importer.Object

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
		o := importer.ObjectOf(raw)
		blocks = append(blocks, block{object: o, kind: o.Str("type"), raw: raw})
	}
	return blocks, list.Err() == nil
}

// textOf joins the text blocks.
func textOf(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		if b.kind == "text" {
			if t := b.Str("text"); t != "" {
				parts = append(parts, t)
			}
		}
	}
	return strings.Join(parts, "\n")
}
