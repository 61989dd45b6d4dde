package kimi

import (
	"net/url"
	"path"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// part is one piece of a message's content.
type part struct {
	importer.Object
	kind string
	raw  []byte
}

// partsOf reads content: a list of parts, or a string.
func partsOf(content []byte) []part {
	if scan.KindOf(content) == scan.String {
		return []part{{Object: importer.Object{"text": content}, kind: "text", raw: content}}
	}
	if scan.KindOf(content) != scan.Array {
		return nil
	}
	var parts []part
	for list := scan.ArrayOf(content); list.Next(); {
		o := importer.ObjectOf(list.Value())
		parts = append(parts, part{Object: o, kind: o.Str("type"), raw: list.Value()})
	}
	return parts
}

// textOf joins the texts.
func textOf(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.kind == "text" {
			b.WriteString(p.Str("text"))
		}
	}
	return b.String()
}

// attachments lists the media of a message as a JSON array, without their
// bytes; nil for none.
func attachments(parts []part) []byte {
	var list []byte
	for _, p := range parts {
		if a := attachment(p); a != nil {
			list = append(append(list, ','), a...)
		}
	}
	if list == nil {
		return nil
	}
	list[0] = '['
	return append(list, ']')
}

// media are the parts that are not text, with the member that holds them.
var media = [...][3]string{ // type, member, kind
	{"image_url", "imageUrl", "image"},
	{"video_url", "videoUrl", "video"},
	{"audio_url", "audioUrl", "audio"},
	{"file", "file", ""},
	{"file_url", "fileUrl", ""},
}

func attachment(p part) []byte {
	for _, m := range media {
		if p.kind != m[0] {
			continue
		}
		body := p.Object.Object(m[1])
		if len(body) == 0 {
			body = p.Object
		}
		return described(m[2], body)
	}
	return nil
}

// described writes down what is known of a medium: a link stays one, a
// kimi-file or blobref names stored bytes, of a data URL the size is kept.
func described(kind string, body importer.Object) []byte {
	var a importer.Fields
	a.Opt("kind", kind)
	link := body.Str("url")
	name, typ := body.Either("name", "filename"), body.Either("mediaType", "mimeType", "mime_type")
	mime, size, inline := importer.DataURL(body["url"])
	rest, stored := strings.CutPrefix(link, "kimi-file://")
	blob, isBlob := strings.CutPrefix(link, "blobref:")
	switch {
	case inline:
		a.Opt("mediaType", importer.First(typ, mime)).Opt("name", name).Int("size", size)
		return a.Object()
	case stored:
		file, query, _ := strings.Cut(rest, "?path=")
		if at, err := url.QueryUnescape(query); err == nil && at != "" && name == "" {
			name = path.Base(at)
		}
		a.Opt("mediaType", typ).Opt("fileId", file)
	case isBlob:
		mime, sum, _ := strings.Cut(blob, ";")
		a.Opt("mediaType", importer.First(typ, mime)).Opt("sha256", sum)
	default:
		a.Opt("mediaType", typ).Opt("url", link).Opt("fileId", body.Either("fileId", "file_id", "id"))
	}
	return a.Opt("name", name).Raw("size", body.Number("size")).Object()
}

// outputOf is a result's content: text as a string, anything else as the JSON
// it is, without bytes.
func outputOf(content []byte) []byte {
	if content == nil {
		return []byte(`""`)
	}
	if scan.KindOf(content) != scan.Array {
		return importer.WithoutBytes(content)
	}
	parts := partsOf(content)
	for _, p := range parts {
		if p.kind != "text" {
			return importer.WithoutBytes(content)
		}
	}
	return scan.AppendQuoteWTF8(nil, textOf(parts))
}
