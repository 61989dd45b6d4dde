package wirelog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/stenohq/steno/pkg/events"
)

const (
	tempFile      = "wire.tmp"
	damagedPrefix = "damaged."
	notRefilled   = "destroyed in the archive and no longer in the stream"
)

// Gap is a range of lines that are missing, Seq to SeqTo: the agent's messages
// with After < stream_seq < Before (0: no bound) in the stream being recorded.
type Gap struct {
	Seq, SeqTo    uint64
	After, Before uint64
}

// Source gives back messages that the file has lost.
type Source interface {
	// Refill yields those of a gap that still exist, in order, with Seq set.
	// What it does not yield is replaced by a lost line; an error stops the
	// repair, to be tried again.
	Refill(ctx context.Context, g Gap) iter.Seq2[Message, error]
}

// Repair says what opening a file did to it.
type Repair struct {
	Problem  string // the first thing found; "" when there was none
	Cut      int64  // bytes of an unfinished record
	SetAside int    // lines moved to Aside
	Aside    string // the file's name, relative to the data directory
	Refilled uint64 // messages
	Lost     uint64 // messages
}

// rewriter writes the repaired copy of a part.
type rewriter struct {
	d      *Dir
	dir    string
	req    *OpenRequest
	meta   Metadata // made again when the file's own is gone
	before ending   // of the part before
	anchor *Anchor
	src    ReadFile

	out    *bufio.Writer
	end    ending
	open   []*surveyed // kept lines that nothing vouches for, not yet written
	began  bool
	report Repair
	buf    []byte
}

// rewrite replaces the open file by a copy in which every line is good.
func (w *rewriter) rewrite(ctx context.Context, lines []surveyed) error {
	tmp, err := w.d.fs.Open(w.dir+"/"+tempFile, true)
	if err != nil {
		return err
	}
	err = w.fill(ctx, tmp, lines)
	if err == nil {
		err = w.d.fs.Persist([]File{tmp}, nil)
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := w.setAside(lines); err != nil {
		return err
	}
	if err := w.d.fs.Rename(w.dir+"/"+tempFile, w.dir+"/"+openFile); err != nil {
		return err
	}
	return w.d.fs.Persist(nil, []string{w.dir})
}

func (w *rewriter) fill(ctx context.Context, tmp File, lines []surveyed) error {
	if err := tmp.Truncate(0); err != nil {
		return err
	}
	w.out = bufio.NewWriterSize(&offsetWriter{f: tmp}, scanBuffer)
	w.start(w.meta)
	for _, l := range inOrder(lines) {
		var err error
		switch {
		case l.class == metadata:
			err = w.copyMetadata(l)
		case !w.takes(l):
			l.drop = true
		case !l.vouched:
			w.open = append(w.open, l)
		default:
			if err = w.gap(ctx, l.Seq, l.StreamSeq, 0); err == nil {
				err = w.copyLine(l)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *rewriter) text(l *surveyed) ([]byte, error) {
	if cap(w.buf) < l.n {
		w.buf = make([]byte, l.n)
	}
	b := w.buf[:l.n]
	_, err := w.src.ReadAt(b, l.off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

func (w *rewriter) copyMetadata(l *surveyed) error {
	text, err := w.text(l)
	if err != nil {
		return err
	}
	meta, err := parseMetadata(text)
	if err != nil {
		return err
	}
	w.start(meta)
	w.began, w.end.meta = true, meta
	return w.emit(text, l.link)
}

// start goes on behind the part before.
func (w *rewriter) start(meta Metadata) {
	w.meta = meta
	w.end.seq, w.end.streamSeq = meta.FirstSeq-1, 0
	if b := &w.before; b.meta.Stream == meta.Stream && b.meta.StreamCreated == meta.StreamCreated {
		w.end.streamSeq = b.streamSeq
	}
}

// takes tells whether a line may stand behind what was written.
func (w *rewriter) takes(l *surveyed) bool {
	at := surveyed{parsed: parsed{seqTo: w.end.seq, Position: events.Position{StreamSeq: w.end.streamSeq}}}
	return follows(&at, l)
}

// begin writes the metadata line when the file has lost it.
func (w *rewriter) begin(createdAt int64) error {
	if w.began {
		return nil
	}
	w.began = true
	w.meta.CreatedAt = createdAt
	w.end.meta = w.meta
	text := events.AppendMetadataLine(nil, &w.meta)
	return w.emit(text, events.HashLine(text))
}

func (w *rewriter) copyLine(l *surveyed) error {
	if err := w.begin(l.StoredAt); err != nil {
		return err
	}
	if l.prev != w.end.link {
		if err := w.emit(appendChain(nil, w.end.link, l.prev), l.prev); err != nil {
			return err
		}
	}
	text, err := w.text(l)
	if err != nil {
		return err
	}
	w.advance(l.seqTo, l.StreamSeq)
	return w.emit(text, l.link)
}

// finish fills in what was recorded behind the last line, and keeps what lies
// beyond: Add compares that with the stream.
func (w *rewriter) finish(ctx context.Context) error {
	var err error
	switch {
	case w.anchor == nil:
	case recordedFrom(w.meta, w.anchor.Stream):
		err = w.gap(ctx, w.anchor.Seq+1, w.anchor.StreamSeq+1, w.anchor.StreamSeq)
	default:
		err = w.gap(ctx, w.anchor.Seq+1, 0, 0)
	}
	if err != nil || len(w.open) == 0 {
		return err
	}
	last := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if err := w.gap(ctx, last.Seq, last.StreamSeq, 0); err != nil {
		return err
	}
	return w.copyLine(last)
}

// gap fills in what is missing before seq, which has stream sequence before.
// covered is the stream sequence that lost lines stand for, if known. Only
// lines that are vouched for bound a gap, since the stream's messages are
// numbered by its bounds; a line inside it for which nothing vouches is taken
// from the stream as well, where that still has it.
func (w *rewriter) gap(ctx context.Context, seq, before, covered uint64) error {
	to := seq - 1
	if w.end.seq >= to {
		return nil
	}
	if recordedFrom(w.meta, w.req.Stream) && w.req.Source != nil {
		g := Gap{Seq: w.end.seq + 1, SeqTo: to, After: w.end.streamSeq, Before: before}
		for m, err := range w.req.Source.Refill(ctx, g) {
			if err == nil && (m.Seq <= w.end.seq || m.Seq > to || m.StreamSeq <= g.After) {
				err = fmt.Errorf("got line %d with stream_seq %d", m.Seq, m.StreamSeq)
			}
			if err == nil {
				err = w.refill(m)
			}
			if err != nil {
				return fmt.Errorf("refill lines %d to %d: %w", g.Seq, to, err)
			}
		}
	}
	if err := w.keep(to, math.MaxUint64); err != nil {
		return err
	}
	return w.lose(to, max(covered, w.end.streamSeq))
}

// keep writes the lines up to and including to that nothing vouches for, since
// the stream has nothing to put in their place. One whose stream sequence is
// not below that of what follows was altered.
func (w *rewriter) keep(to, below uint64) error {
	for len(w.open) > 0 && w.open[0].seqTo <= to {
		l := w.open[0]
		w.open = w.open[1:]
		if l.drop = l.StreamSeq >= below; l.drop {
			continue
		}
		if err := w.lose(l.Seq-1, w.end.streamSeq); err != nil {
			return err
		}
		if err := w.copyLine(l); err != nil {
			return err
		}
	}
	return nil
}

func (w *rewriter) refill(m Message) error {
	if err := w.keep(m.Seq-1, m.StreamSeq); err != nil {
		return err
	}
	if err := w.lose(m.Seq-1, w.end.streamSeq); err != nil {
		return err
	}
	if err := w.begin(m.StoredAt); err != nil {
		return err
	}
	text := appendMessage(nil, w.meta.Session, w.meta.Agent, m,
		events.Position{Seq: m.Seq, StreamSeq: m.StreamSeq, StoredAt: m.StoredAt}, w.end.link)
	link := events.HashLine(text)
	if len(w.open) > 0 && w.open[0].Seq <= m.Seq {
		w.open[0].drop = w.open[0].link != link
		w.open = w.open[1:]
	}
	w.report.Refilled++
	w.advance(m.Seq, m.StreamSeq)
	return w.emit(text, link)
}

// lose writes the line that stands for all that is missing up to and including
// to.
func (w *rewriter) lose(to, streamSeq uint64) error {
	if w.end.seq >= to {
		return nil
	}
	if err := w.begin(0); err != nil {
		return err
	}
	from := w.end.seq + 1
	text := appendLost(nil, to, events.Position{Seq: from, StreamSeq: streamSeq}, w.end.link, notRefilled)
	w.report.Lost += to - from + 1
	w.advance(to, streamSeq)
	return w.emit(text, events.HashLine(text))
}

func (w *rewriter) advance(seq, streamSeq uint64) {
	w.end.seq = seq
	w.end.streamSeq = max(w.end.streamSeq, streamSeq)
}

func (w *rewriter) emit(text []byte, link Hash) error {
	w.end.link = link
	w.end.size += int64(len(text)) + 1
	if _, err := w.out.Write(text); err != nil {
		return err
	}
	return w.out.WriteByte('\n')
}

// setAside copies what is dropped to a file of its own, so that nothing that
// anybody might still read is destroyed.
func (w *rewriter) setAside(lines []surveyed) error {
	var drop []*surveyed
	for i := range lines {
		switch l := &lines[i]; {
		case !l.drop || l.n == 0:
		case !l.whole && l.class == bad:
			w.report.Cut = int64(l.n)
		default:
			drop = append(drop, l)
		}
	}
	if len(drop) == 0 {
		return nil
	}
	name, err := w.d.damagedName(w.dir)
	if err != nil {
		return err
	}
	f, err := w.d.fs.Open(name, true)
	if err != nil {
		return err
	}
	err = w.copyRaw(f, drop)
	if err == nil {
		err = w.d.fs.Persist([]File{f}, []string{w.dir})
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, w.d.fs.Remove(name))
	}
	w.report.SetAside, w.report.Aside = len(drop), name
	return nil
}

func (w *rewriter) copyRaw(f File, lines []*surveyed) error {
	out := bufio.NewWriter(&offsetWriter{f: f})
	for _, l := range lines {
		if _, err := io.Copy(out, io.NewSectionReader(w.src, l.off, int64(l.n))); err != nil {
			return err
		}
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return out.Flush()
}

// damagedName is the next unused damaged.NNNN.jsonl.
func (d *Dir) damagedName(dir string) (string, error) {
	names, err := d.fs.ReadDir(dir)
	if err != nil {
		return "", err
	}
	last := 0
	for _, name := range names {
		var n int
		if _, err := fmt.Sscanf(name, damagedPrefix+"%d"+partSuffix, &n); err == nil {
			last = max(last, n)
		}
	}
	return fmt.Sprintf("%s/%s%04d%s", dir, damagedPrefix, last+1, partSuffix), nil
}

// offsetWriter writes a file from its beginning.
type offsetWriter struct {
	f   File
	off int64
}

func (o *offsetWriter) Write(p []byte) (int, error) {
	n, err := o.f.WriteAt(p, o.off)
	o.off += int64(n)
	return n, err
}
