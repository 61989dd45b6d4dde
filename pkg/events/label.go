package events

import (
	"maps"
	"slices"
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// LabelMap decodes Labels; nil when there are none. Of a name that stands
// twice the last value counts. The error is a *FieldError.
func (e *Event) LabelMap() (map[string]string, error) {
	if e.Labels == nil {
		return nil, nil
	}
	labels := map[string]string{}
	m := scan.ObjectOf(e.Labels)
	for m.Next() {
		value, ok := scan.Unquote(m.Value())
		if !ok {
			return nil, fieldError("labels."+m.Key(), "want a string, got "+scan.KindOf(m.Value()).String())
		}
		labels[m.Key()] = value
	}
	return labels, m.Err()
}

// AppendLabels appends the labels as Event.Labels holds them, sorted by name.
func AppendLabels(dst []byte, labels map[string]string) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(scan.AppendQuote(dst, name), ':')
		dst = scan.AppendQuote(dst, labels[name])
	}
	return append(dst, '}')
}

// fieldPath names element i of a list field.
func fieldPath(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
