package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cursor is a place in a session: the watermark of each agent, in one epoch.
// Its text form is the id of a server-sent event.
type Cursor struct {
	Epoch string
	Seqs  map[string]uint64
}

// String returns <epoch>:<agent>=<seq>,…, at most 4 KiB. Agents that do not
// fit are left out, the ones with the lowest numbers first; they begin with a
// reset again.
func (c Cursor) String() string {
	agents := slices.SortedFunc(maps.Keys(c.Seqs), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Seqs[b], c.Seqs[a]), cmp.Compare(a, b))
	})
	b := append([]byte(c.Epoch), ':')
	for i, a := range agents {
		entry := a + "=" + strconv.FormatUint(c.Seqs[a], 10)
		if len(b)+1+len(entry) > maxText {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, entry...)
	}
	return string(b)
}

// ParseCursor reads what String writes.
func ParseCursor(s string) (Cursor, error) {
	if len(s) > maxText {
		return Cursor{}, fmt.Errorf("%w cursor: longer than %d bytes", ErrMalformed, maxText)
	}
	epoch, list, ok := strings.Cut(s, ":")
	if !ok || epoch == "" {
		return Cursor{}, fmt.Errorf("%w cursor: want <epoch>:<agent>=<seq>,…", ErrMalformed)
	}
	c := Cursor{Epoch: epoch, Seqs: map[string]uint64{}}
	if list == "" {
		return c, nil
	}
	for entry := range strings.SplitSeq(list, ",") {
		agent, seq, ok := strings.Cut(entry, "=")
		n, err := strconv.ParseUint(seq, 10, 64)
		if !ok || agent == "" || err != nil {
			return Cursor{}, fmt.Errorf("%w cursor: entry %q, want <agent>=<seq>", ErrMalformed, entry)
		}
		c.Seqs[agent] = n
	}
	return c, nil
}
