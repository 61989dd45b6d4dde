package claudecode

import (
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
	source := b.Object("source")
	media := source.Str("media_type")
	var p importer.Fields
	if b.kind == "image" {
		p.Str("kind", "image")
	}
	if strings.Contains(media, "/") {
		p.Str("mediaType", media)
	}
	p.Opt("name", b.Either("title", "name"))
	if data := source["data"]; scan.KindOf(data) == scan.String && source.Str("type") == "base64" {
		p.Int("size", importer.DecodedSize(data))
	}
	if url := source.Str("url"); url != "" {
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
