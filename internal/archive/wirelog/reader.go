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

var _ archive.Reader = (*Reader)(nil)

// Reader reads the agent logs of a data directory, also while a Dir writes
// them. It takes no lock and holds no file between calls.
type Reader struct{ fs ReadFS }

// NewReader returns a reader of a data directory, which need not exist yet.
func NewReader(dir string) *Reader { return &Reader{fs: readFS{dir: dir}} }

// NewReaderFS is NewReader on another file system.
func NewReaderFS(fsys ReadFS) *Reader { return &Reader{fs: fsys} }

// Read implements archive.Reader. A record that is being written at the end of
// the open file is not there yet.
func (r *Reader) Read(ctx context.Context, s events.SessionID, a events.AgentID, after uint64) iter.Seq2[archive.Line, error] {
	return func(yield func(archive.Line, error) bool) {
		if err := r.read(ctx, s, a, after, yield); err != nil {
			yield(archive.Line{}, err)
		}
	}
}

func (r *Reader) read(ctx context.Context, s events.SessionID, a events.AgentID, after uint64, yield func(archive.Line, error) bool) error {
	dir, err := agentDir(s, a)
	if err != nil {
		return err
	}
	pos := reading{ctx: ctx, last: after, yield: yield}
	for {
		parts, err := listParts(r.fs, dir)
		if notExist(err) || err == nil && len(parts) == 0 {
			return fmt.Errorf("session %q, agent %q: %w", s, a, archive.ErrNotFound)
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", dir, err)
		}
		pos.moved = false
		for _, p := range parts {
			if err := pos.part(r.fs, p); err != nil || pos.stopped {
				return err
			}
			if pos.moved {
				break
			}
		}
		if !pos.moved {
			return nil
		}
	}
}

// reading is one Read under way.
type reading struct {
	ctx     context.Context
	last    uint64 // yielded, or asked to be skipped
	found   bool   // a line was seen, so that last is a line's number
	yield   func(archive.Line, error) bool
	stopped bool
	moved   bool // the open file was finished meanwhile: list the parts again
	dec     decoder
}

func (r *reading) part(fsys ReadFS, p partFile) error {
	f, err := openPart(fsys, p)
	if notExist(err) {
		r.moved = true // finished or packed since it was listed
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", p.name, err)
	}
	defer f.Close()
	src, n := io.Reader(f), 0
	if !p.packed {
		var off int64
		if off, err = seekSeq(f.file, r.last); err != nil {
			return fmt.Errorf("read %s: %w", p.name, err)
		}
		if off > 0 {
			size, err := f.file.Size()
			if err != nil {
				return fmt.Errorf("read %s: %w", p.name, err)
			}
			src, n = io.NewSectionReader(f.file, off, size-off), -1 // lines are not counted
		}
	}
	return r.lines(newLineScanner(src, 0), p, n)
}

// lines yields what is new in a part. n is the number of lines before the
// scanner's first, -1 when it is not known.
func (r *reading) lines(sc *lineScanner, p partFile, n int) error {
	known := n >= 0
	for {
		l, err := sc.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		n++
		where := func(problem string) error {
			if !known {
				return fmt.Errorf("%s after seq %d: %s (steno verify tells the line)", p.name, r.last, problem)
			}
			return fmt.Errorf("%s line %d: %s", p.name, n, problem)
		}
		switch {
		case err != nil:
			return fmt.Errorf("read %s: %w", p.name, err)
		case r.ctx.Err() != nil:
			return context.Cause(r.ctx)
		case !l.whole && p.num == 0:
			return nil // is being written
		case l.tooBig:
			return where("longer than any record")
		}
		q := parse(l.text)
		switch {
		case q.class == bad:
			return where("not a record")
		case q.class == metadata:
			if r.moved = r.ahead(l.text); r.moved {
				return nil
			}
			continue
		case q.class == chain, q.seqTo <= r.last:
			r.found = r.found || q.class != chain
			continue
		case r.found && q.Seq > r.last+1:
			return where(fmt.Sprintf("seq %d follows %d", q.Seq, r.last))
		}
		var line archive.Line
		if err := r.dec.decode(l.text, &q, &line); err != nil {
			return where(err.Error())
		}
		line.Seq = max(line.Seq, r.last+1) // a lost range may begin before
		if !r.found {
			line.Seq = q.Seq
		}
		r.last, r.found = q.seqTo, true
		if !r.yield(line, nil) {
			r.stopped = true
			return nil
		}
	}
}

// ahead tells that a part begins beyond what was read: the one before it was
// finished after the parts were listed.
func (r *reading) ahead(text []byte) bool {
	m, err := parseMetadata(text)
	return err == nil && r.found && m.FirstSeq > r.last+1
}

// Agents implements archive.Reader.
func (r *Reader) Agents(_ context.Context, s events.SessionID) ([]events.AgentID, error) {
	if _, err := events.ParseSessionID(string(s)); err != nil {
		return nil, err
	}
	names, err := r.fs.ReadDir(sessionsDir + "/" + string(s) + "/" + agentsDir)
	if notExist(err) {
		return nil, fmt.Errorf("session %q: %w", s, archive.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("list the agents of session %q: %w", s, err)
	}
	var ids []events.AgentID
	for _, name := range names {
		if id, err := events.ParseAgentID(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Sessions implements archive.Reader.
func (r *Reader) Sessions(context.Context) ([]events.SessionID, error) {
	names, err := r.fs.ReadDir(sessionsDir)
	if notExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	var ids []events.SessionID
	for _, name := range names {
		if id, err := events.ParseSessionID(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
