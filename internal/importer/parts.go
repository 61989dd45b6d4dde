package importer

import (
	"net/url"
	"path"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Part is one piece of a message's content.
type Part struct {
	Object
	Kind string
	Raw  []byte
}

// PartsOf reads content: a list of parts, or a string.
func PartsOf(content []byte) []Part {
	if scan.KindOf(content) == scan.String {
		return []Part{{Object: Object{"text": content}, Kind: "text", Raw: content}}
	}
	if scan.KindOf(content) != scan.Array {
		return nil
	}
	var parts []Part
	for list := scan.ArrayOf(content); list.Next(); {
		o := ObjectOf(list.Value())
		parts = append(parts, Part{Object: o, Kind: o.Str("type"), Raw: list.Value()})
	}
	return parts
}

// TextOf joins the texts.
func TextOf(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Kind == "text" {
			b.WriteString(p.Str("text"))
		}
	}
	return b.String()
}

// Attachments lists the media of a message as a JSON array, without their
// bytes; nil for none.
func Attachments(parts []Part) []byte {
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

// media are the parts that are not text, with the member that holds them where
// it is not named like the part.
var media = [...][3]string{ // type, member, kind
	{"image_url", "imageUrl", "image"},
	{"video_url", "videoUrl", "video"},
	{"audio_url", "audioUrl", "audio"},
	{"file", "file", ""},
	{"file_url", "fileUrl", ""},
}

func attachment(p Part) []byte {
	for _, m := range media {
		if p.Kind != m[0] {
			continue
		}
		body := p.Object.Object(m[1])
		if len(body) == 0 {
			body = p.Object.Object(m[0])
		}
		if len(body) == 0 {
			body = p.Object
		}
		return described(m[2], body)
	}
	return nil
}

// described writes down what is known of a medium: a link stays one, a
// kimi-file or blobref names stored bytes, of a data URL the size is kept.
func described(kind string, body Object) []byte {
	var a Fields
	a.Opt("kind", kind)
	link := body.Str("url")
	name, typ := body.Either("name", "filename"), body.Either("mediaType", "mimeType", "mime_type")
	mime, size, inline := DataURL(body["url"])
	rest, stored := strings.CutPrefix(link, "kimi-file://")
	blob, isBlob := strings.CutPrefix(link, "blobref:")
	switch {
	case inline:
		a.Opt("mediaType", First(typ, mime)).Opt("name", name).Int("size", size)
		return a.Object()
	case stored:
		file, query, _ := strings.Cut(rest, "?path=")
		if at, err := url.QueryUnescape(query); err == nil && at != "" && name == "" {
			name = path.Base(at)
		}
		a.Opt("mediaType", typ).Opt("fileId", file)
	case isBlob:
		mime, sum, _ := strings.Cut(blob, ";")
		a.Opt("mediaType", First(typ, mime)).Opt("sha256", sum)
	default:
		a.Opt("mediaType", typ).Opt("url", link).Opt("fileId", body.Either("fileId", "file_id", "id"))
	}
	return a.Opt("name", name).Raw("size", body.Number("size")).Object()
}

// OutputOf is a result's content: text as a string, anything else as the JSON
// it is, without bytes.
func OutputOf(content []byte) []byte {
	if content == nil {
		return []byte(`""`)
	}
	if scan.KindOf(content) != scan.Array {
		return WithoutBytes(content)
	}
	parts := PartsOf(content)
	for _, p := range parts {
		if p.Kind != "text" {
			return WithoutBytes(content)
		}
	}
	return scan.AppendQuoteWTF8(nil, TextOf(parts))
}
