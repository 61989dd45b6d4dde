package wirelog

import (
	"bytes"
	"fmt"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Metadata is the first line of a part. Its CreatedAt is the stored time of
// the part's first message, so that a destroyed metadata line can be made
// again exactly.
type Metadata = events.Metadata

// parseMetadata reads the first line of a part. It wraps ErrFormat.
func parseMetadata(line []byte) (Metadata, error) {
	m, err := events.ParseMetadataLine(bytes.Clone(line)) // its strings alias the line
	if err != nil {
		return Metadata{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if m.Part < 1 || m.FirstSeq < 1 {
		return Metadata{}, fmt.Errorf("%w: metadata with part %d and first_seq %d", ErrFormat, m.Part, m.FirstSeq)
	}
	return m, nil
}

// recordedFrom tells whether the part was recorded from this incarnation of
// the stream. Metadata keep its creation time in milliseconds.
func recordedFrom(m Metadata, id eventlog.StreamID) bool {
	return m.Stream == id.Name && m.StreamCreated == id.Created.UnixMilli()
}

// sameStream compares two incarnations as metadata would.
func sameStream(a, b eventlog.StreamID) bool {
	return a.Name == b.Name && a.Created.UnixMilli() == b.Created.UnixMilli()
}
