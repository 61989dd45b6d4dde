package claudecode

import (
	"bytes"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// attachment describes an image or document block without its bytes; nil when
// the block is none.
func attachment(b block) []byte {
	if b.kind != "image" && b.kind != "document" {
		return nil
	}
	source := b.object.object("source")
	media := source.str("media_type")
	var p importer.Fields
	if b.kind == "image" {
		p.Str("kind", "image")
	}
	if strings.Contains(media, "/") {
		p.Str("mediaType", media)
	}
	p.Opt("name", b.either("title", "name"))
	if data := source["data"]; scan.KindOf(data) == scan.String && source.str("type") == "base64" {
		p.Int("size", decodedSize(data))
	}
	if url := source.str("url"); url != "" {
		p.Str("url", url)
	}
	return p.Object()
}

// attachments lists those of a message as a JSON array; nil for none.
func attachments(blocks []block) []byte {
	var list []byte
	for _, b := range blocks {
		if a := attachment(b); a != nil {
			list = append(append(list, ','), a...)
		}
	}
	if list == nil {
		return nil
	}
	list[0] = '['
	return append(list, ']')
}

// decodedSize is how many bytes a base64 string stands for.
func decodedSize(quoted []byte) int {
	body := bytes.TrimRight(bytes.Trim(quoted, `"`), "=")
	return len(body) * 3 / 4
}

// withoutBytes returns JSON with every base64 text replaced by its size. What
// holds none comes back as it is.
func withoutBytes(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("base64")) {
		return raw
	}
	return strip(raw)
}

func strip(raw []byte) []byte {
	switch scan.KindOf(raw) {
	case scan.Object:
		return stripObject(raw)
	case scan.Array:
		return stripArray(raw)
	default:
		return raw
	}
}

func stripArray(raw []byte) []byte {
	out := []byte{'['}
	list := scan.ArrayOf(raw)
	for list.Next() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, strip(list.Value())...)
	}
	return append(out, ']')
}

func stripObject(raw []byte) []byte {
	kind, _ := scan.Get(raw, "type")
	encoded := string(kind) == `"base64"`
	var p importer.Fields
	m := scan.ObjectOf(raw)
	for m.Next() {
		key, value := m.Key(), m.Value()
		if scan.KindOf(value) == scan.String && (key == "base64" || encoded && key == "data") {
			p.Int("size", decodedSize(value))
			continue
		}
		p.Raw(key, strip(value))
	}
	return p.Object()
}
