package events

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Payload is what a publisher emits: one of the structs of this package, or
// Custom. In all of them a nil pointer, a nil slice or interface and, where
// the field is marked omitempty, a zero value is absence. Fields of type any
// take whatever encoding/json can write; json.RawMessage keeps numbers as they
// are. new(3) makes an optional number.
type Payload interface {
	EventType() string
}

// appender is a payload with a writer of its own, for the frequent types.
type appender interface {
	appendPayload(dst []byte) []byte
}

// AppendPayload appends the payload as a JSON object: members in the order of
// the struct's fields, maps sorted by key, no HTML escaping, no white space.
// It fails only when a field of type any holds what JSON cannot.
func AppendPayload(dst []byte, p Payload) ([]byte, error) {
	switch p := p.(type) {
	case appender:
		return p.appendPayload(dst), nil
	case Custom:
		if scan.KindOf(p.JSON) != scan.Object || !scan.Valid(p.JSON) {
			return dst, fmt.Errorf("encode %s: %w", p.Type, fieldError("payload", "want a JSON object"))
		}
		return append(dst, p.JSON...), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return dst, fmt.Errorf("encode %s: %w", p.EventType(), err)
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}

// Custom is an event of any other type. JSON is a JSON object.
type Custom struct {
	Type string
	JSON json.RawMessage
}

// EventType returns Type.
func (c Custom) EventType() string { return c.Type }
