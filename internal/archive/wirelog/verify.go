package wirelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/pkg/events"
)

// FindingKind says what Verify found.
type FindingKind string

// The kinds of findings. Repaired and Lost were written by a recorder that
// says what happened; all others are damage that nobody has explained.
const (
	FindBad      FindingKind = "bad"      // not a record
	FindMetadata FindingKind = "metadata" // missing, or not of this place
	FindChain    FindingKind = "chain"    // h is not the hash of the line before
	FindGap      FindingKind = "gap"      // numbers are missing
	FindDouble   FindingKind = "double"   // a number, or a stored message, stands twice
	FindTorn     FindingKind = "torn"     // an unfinished record at the end
	FindEarlier  FindingKind = "earlier"  // the log begins in another directory
	FindLost     FindingKind = "lost"     // a line that stands for lost messages
	FindRepaired FindingKind = "repaired" // the chain was joined after a repair
)

// Finding is one thing that is not as it was first written.
type Finding struct {
	Kind    FindingKind
	File    string // relative to the data directory
	Line    int    // from 1
	Seq     uint64 // near it, 0 when not known
	Problem string
}

// Damage tells whether the finding is damage that no line explains.
func (f Finding) Damage() bool {
	return f.Kind != FindLost && f.Kind != FindRepaired && f.Kind != FindEarlier
}

func (f Finding) String() string {
	return fmt.Sprintf("%s line %d: %s: %s", f.File, f.Line, f.Kind, f.Problem)
}

// Verify follows the whole log of an agent, from the first line of its first
// part, and yields what it finds: hash chain, gaps, doubles, unreadable lines.
// It goes on behind a finding. An error is one of reading, or wraps
// archive.ErrNotFound, and ends it.
func (r *Reader) Verify(ctx context.Context, s events.SessionID, a events.AgentID) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		dir, err := agentDir(s, a)
		if err != nil {
			yield(Finding{}, err)
			return
		}
		parts, err := listParts(r.fs, dir)
		if notExist(err) || err == nil && len(parts) == 0 {
			err = fmt.Errorf("session %q, agent %q: %w", s, a, archive.ErrNotFound)
		}
		if err != nil {
			yield(Finding{}, err)
			return
		}
		v := verifier{ctx: ctx, session: s, agent: a, yield: yield}
		for _, p := range parts {
			if err := v.part(r.fs, p); err != nil {
				yield(Finding{}, fmt.Errorf("read %s: %w", p.name, err))
				return
			}
			if v.stopped {
				return
			}
		}
	}
}

// verifier is one Verify under way.
type verifier struct {
	ctx     context.Context
	session events.SessionID
	agent   events.AgentID
	yield   func(Finding, error) bool
	stopped bool

	meta      Metadata
	part0     int // number of the last part seen
	seq       uint64
	streamSeq uint64
	link      Hash
	unlinked  bool // the line before was unreadable: its hash proves nothing
	at        Finding
}

func (v *verifier) find(kind FindingKind, format string, args ...any) {
	if v.stopped {
		return
	}
	v.at.Kind, v.at.Problem = kind, fmt.Sprintf(format, args...)
	v.stopped = !v.yield(v.at, nil)
}

func (v *verifier) part(fsys ReadFS, p partFile) error {
	f, err := openPart(fsys, p)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := newLineScanner(f, 0)
	for n := 1; !v.stopped; n++ {
		l, err := sc.next()
		v.at = Finding{File: p.name, Line: n, Seq: v.seq}
		if errors.Is(err, io.EOF) {
			if n == 1 && p.num > 0 {
				v.find(FindMetadata, "a finished part is empty")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if v.ctx.Err() != nil {
			return context.Cause(v.ctx)
		}
		v.line(l, n, p)
	}
	return nil
}

func (v *verifier) line(l physical, n int, p partFile) {
	var q parsed
	if !l.tooBig {
		q = parseLinked(l.text)
	}
	switch {
	case !l.whole:
		v.find(FindTorn, "the last record is not finished (%d bytes)", l.size)
		return
	case q.class == bad || !plausible(l.text, &q):
		v.find(FindBad, "not a record (%d bytes)", l.size)
		v.unlinked = true
		return
	case n == 1 && q.class != metadata:
		v.find(FindMetadata, "the first line of a part is not its metadata")
	case n == 1:
		v.metadata(l.text, p)
		v.link, v.unlinked = q.link, false
		return
	case q.class == metadata:
		v.find(FindMetadata, "metadata that is not the first line")
		return
	}
	if q.class != chain {
		v.at.Seq = q.Seq
	}
	if !v.unlinked && q.prev != v.link {
		v.find(FindChain, "h is not the hash of the line before: one of the two was altered, or lines between were removed")
	}
	v.link, v.unlinked = q.link, false
	v.count(&q)
}

// metadata checks that a part goes on where the one before ended.
func (v *verifier) metadata(text []byte, p partFile) {
	m, err := parseMetadata(text)
	if err != nil {
		v.find(FindMetadata, "%v", err)
		return
	}
	if m.Session != v.session || m.Agent != v.agent {
		v.find(FindMetadata, "is of session %q, agent %q", m.Session, m.Agent)
	}
	if p.num > 0 && m.Part != p.num {
		v.find(FindMetadata, "is of part %d", m.Part)
	}
	switch {
	case v.part0 == 0 && m.FirstSeq > 1:
		v.find(FindEarlier, "the log begins with seq %d; what comes before was recorded elsewhere", m.FirstSeq)
		v.seq = m.FirstSeq - 1
	case v.part0 > 0 && m.FirstSeq == v.seq+1 && m.Prev != v.link && !v.unlinked:
		v.find(FindChain, "prev_h is not the hash of the last line of part %d", v.part0)
	}
	if m.Stream != v.meta.Stream || m.StreamCreated != v.meta.StreamCreated {
		v.streamSeq = 0
	}
	v.meta, v.part0 = m, m.Part
}

// count checks the numbers of a line.
func (v *verifier) count(q *parsed) {
	switch {
	case q.class == chain:
		v.find(FindRepaired, "lines before this one were replaced")
		return
	case q.Seq > v.seq+1:
		v.find(FindGap, "seq %d follows %d", q.Seq, v.seq)
	case q.Seq <= v.seq:
		v.find(FindDouble, "seq %d follows %d", q.Seq, v.seq)
	case q.StreamSeq < v.streamSeq, q.StreamSeq == v.streamSeq && q.class != lost:
		v.find(FindDouble, "stream_seq %d follows %d", q.StreamSeq, v.streamSeq)
	}
	if q.class == lost && len(q.reason) > len(`""`) {
		v.find(FindLost, "seq %d to %d: %s", q.Seq, q.seqTo, q.reason)
	}
	v.seq = max(v.seq, q.seqTo)
	v.streamSeq = max(v.streamSeq, q.StreamSeq)
}
