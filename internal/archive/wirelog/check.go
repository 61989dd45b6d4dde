package wirelog

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events/scan"
)

// Anchor is a position that was saved outside of the file: everything up to
// Seq was durable and committed.
type Anchor struct {
	Part      int
	Seq       uint64
	Stream    eventlog.StreamID
	StreamSeq uint64
	H         Hash // of line Seq; zero when not known
}

// ending is where a file stands after its last good line.
type ending struct {
	meta      Metadata
	seq       uint64
	streamSeq uint64
	link      Hash  // hash of the last line
	size      int64 // behind it and its newline
	anchored  int64 // behind the line of the anchor; 0 when it was not met
	newline   bool  // the last line lacks its newline
	proofs    []proof
	torn      bool // an unfinished record follows
}

// maxProofs bounds the lines beyond the anchor that are compared with the
// stream; a commit every second leaves far fewer.
const maxProofs = 1 << 16

// damage says why a file is not as it was written.
type damage struct {
	line    int
	problem string
}

func (d *damage) Error() string { return fmt.Sprintf("line %d: %s", d.line, d.problem) }

// check follows a plain part from its first line to the last and returns where
// it ends. A *damage says that it has to be repaired; an unfinished record at
// the end alone is none.
func check(r io.Reader, anchor *Anchor) (ending, error) {
	var e ending
	sc := newLineScanner(r, 0)
	var last []byte
	for n := 1; ; n++ {
		l, err := sc.next()
		if errors.Is(err, io.EOF) {
			return e, checkEnd(&e, last, n-1, anchor)
		}
		if err != nil {
			return e, err
		}
		p := parseLinked(l.text)
		if problem := e.misfit(l, p, n); problem != "" {
			if !l.whole {
				e.torn = true
				return e, checkEnd(&e, last, n-1, anchor)
			}
			return e, &damage{line: n, problem: problem}
		}
		if err := e.follow(l, p, anchor); err != nil {
			return e, &damage{line: n, problem: err.Error()}
		}
		last = append(last[:0], l.text...)
	}
}

// misfit says why line n, parsed as p, cannot follow; "" when it can.
func (e *ending) misfit(l physical, p parsed, n int) string {
	switch {
	case l.tooBig:
		return fmt.Sprintf("longer than %d bytes", MaxLine)
	case p.class == bad:
		return "not a record"
	case !l.whole && !plausible(l.text, &p):
		return "unfinished"
	case n == 1 && p.class != metadata:
		return "the metadata line is missing"
	case n == 1:
		return ""
	case p.class == metadata:
		return "a second metadata line"
	case p.prev != e.link:
		return "does not follow from the line before it: one of the two was altered, or lines between them are missing"
	case p.class == chain:
		return ""
	case p.Seq != e.seq+1:
		return fmt.Sprintf("seq %d where %d should be", p.Seq, e.seq+1)
	case p.StreamSeq <= e.streamSeq && (p.class != lost || p.StreamSeq < e.streamSeq):
		return fmt.Sprintf("stream_seq %d after %d", p.StreamSeq, e.streamSeq)
	}
	return ""
}

// follow moves the ending behind a line that fits.
func (e *ending) follow(l physical, p parsed, anchor *Anchor) error {
	if p.class == metadata {
		meta, err := parseMetadata(l.text)
		if err != nil {
			return err
		}
		e.meta, e.seq = meta, meta.FirstSeq-1
	}
	e.link, e.newline, e.size = p.link, !l.whole, l.off+l.size
	if p.class == metadata || p.class == chain {
		return nil
	}
	if (anchor == nil || p.Seq > anchor.Seq) && len(e.proofs) < maxProofs {
		e.proofs = append(e.proofs, proof{
			seq: p.Seq, streamSeq: p.StreamSeq, lost: p.class == lost, prev: p.prev, hash: p.link,
		})
	}
	e.seq, e.streamSeq = p.seqTo, p.StreamSeq
	if anchor != nil && e.seq == anchor.Seq {
		e.anchored = e.size
	}
	return nil
}

// checkEnd looks at what only the end of the file can tell: nothing behind the
// last line vouches for it, and the anchor may lie beyond it.
func checkEnd(e *ending, last []byte, lines int, anchor *Anchor) error {
	if lines == 0 {
		return &damage{line: 1, problem: "the metadata line is missing"}
	}
	if p := parse(last); !plausible(last, &p) {
		return &damage{line: lines, problem: "not a record"}
	}
	switch {
	case anchor == nil:
		return nil
	case e.seq < anchor.Seq:
		return &damage{line: lines, problem: fmt.Sprintf("ends with seq %d, %d was recorded", e.seq, anchor.Seq)}
	case e.seq == anchor.Seq && anchor.H != Hash{} && e.link != anchor.H:
		return &damage{line: lines, problem: "is not the line that was recorded"}
	}
	return nil
}

// plausible looks into a line for which nothing vouches.
func plausible(text []byte, p *parsed) bool {
	switch p.class {
	case bad:
		return false
	case metadata:
		_, err := parseMetadata(text)
		return err == nil
	case chain:
		return scan.Valid(text)
	case event, wrapped, invalid, lost:
	}
	var d decoder
	var out archive.Line
	text = bytes.Clone(text)
	return d.decode(text, p, &out) == nil && (out.Kind != archive.Event || scan.Valid(out.Data))
}
