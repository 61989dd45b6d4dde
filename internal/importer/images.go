package importer

import (
	"bytes"
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// DecodedSize is how many bytes a base64 string, quoted or not, stands for.
func DecodedSize(encoded []byte) int {
	body := bytes.TrimRight(bytes.Trim(encoded, `"`), "=")
	return len(body) * 3 / 4
}

// WithoutBytes returns JSON with every base64 text replaced by its size, also
// those of MCP's images and sounds. What holds none comes back as it is.
func WithoutBytes(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("base64")) && !bytes.Contains(raw, []byte(`"mimeType"`)) {
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
	case scan.String:
		return stripURL(raw)
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
	_, media := scan.Get(raw, "mimeType")
	encoded := string(kind) == `"base64"` || media && (string(kind) == `"image"` || string(kind) == `"audio"`)
	var p Fields
	m := scan.ObjectOf(raw)
	for m.Next() {
		key, value := m.Key(), m.Value()
		if scan.KindOf(value) == scan.String && (key == "base64" || encoded && key == "data" || media && key == "blob") {
			p.Int("size", DecodedSize(value))
			continue
		}
		p.Raw(key, strip(value))
	}
	return p.Object()
}

// stripURL cuts the data out of a string that is a base64 data URL, and tells
// its size instead.
func stripURL(raw []byte) []byte {
	media, size, ok := DataURL(raw)
	if !ok {
		return raw
	}
	return scan.AppendQuote(nil, "data:"+media+";"+strconv.Itoa(size)+" bytes")
}

// DataURL reads a JSON string that is a base64 data URL: the media type, and
// how many bytes it holds.
func DataURL(raw []byte) (media string, size int, ok bool) {
	body, found := bytes.CutPrefix(raw, []byte(`"data:`))
	if !found {
		return "", 0, false
	}
	head, data, found := bytes.Cut(body, []byte(";base64,"))
	if !found || len(head) > 100 || bytes.ContainsAny(head, "\"\\ ") {
		return "", 0, false
	}
	return string(head), DecodedSize(data), true
}
