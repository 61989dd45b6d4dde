package events

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Blob points to a value that was moved out of the payload because of its
// size: Path is a JSON pointer to where its beginning stands, SHA256 its name
// in lower-case hex, Size its length in bytes.
type Blob struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type,omitempty"`
}

// BlobList decodes Blobs; nil when there are none. The error is a
// *FieldError.
func (e *Event) BlobList() ([]Blob, error) {
	if e.Blobs == nil {
		return nil, nil
	}
	var list []Blob
	a := scan.ArrayOf(e.Blobs)
	for a.Next() {
		b, err := decodeBlob(a.Value(), fieldPath("blobs", len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, a.Err()
}

func decodeBlob(raw []byte, field string) (Blob, error) {
	if k := scan.KindOf(raw); k != scan.Object {
		return Blob{}, fieldError(field, "want an object, got "+k.String())
	}
	var b Blob
	m := scan.ObjectOf(raw)
	for m.Next() {
		ok := true
		switch m.Key() {
		case "path":
			b.Path, ok = scan.Unquote(m.Value())
		case "sha256":
			b.SHA256, ok = scan.Unquote(m.Value())
		case "media_type":
			b.MediaType, ok = scan.Unquote(m.Value())
		case "size":
			b.Size, ok = scan.Int64(m.Value())
		}
		if !ok {
			return Blob{}, fieldError(field+"."+m.Key(), "cannot be "+scan.KindOf(m.Value()).String())
		}
	}
	switch {
	case m.Err() != nil:
		return Blob{}, m.Err()
	case b.Path != "" && b.Path[0] != '/':
		return Blob{}, fieldError(field+".path", "want a JSON pointer such as /output")
	case !isSHA256(b.SHA256):
		return Blob{}, fieldError(field+".sha256", "want 64 lower-case hex digits")
	case b.Size < 0 || b.Size > MaxOrdinal:
		return Blob{}, fieldError(field+".size", "want a number of bytes")
	}
	return b, nil
}

func isSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		default:
			return false
		}
	}
	return true
}

// AppendBlobs appends the list as Event.Blobs holds it.
func AppendBlobs(dst []byte, list []Blob) []byte {
	dst = append(dst, '[')
	for i, b := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = scan.AppendQuote(append(dst, `{"path":`...), b.Path)
		dst = scan.AppendQuote(append(dst, `,"sha256":`...), b.SHA256)
		dst = strconv.AppendInt(append(dst, `,"size":`...), b.Size, 10)
		dst = appendString(dst, "media_type", b.MediaType)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
