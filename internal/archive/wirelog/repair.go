package wirelog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

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
	anchor *Anchor
	src    ReadFile

	out    *bufio.Writer
	end    ending
	stash  *surveyed // a kept line without a witness, not yet written
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
	for i := range lines {
		l := &lines[i]
		switch {
		case l.drop || l.class == chain:
		case l.class == metadata:
			if err := w.copyMetadata(l); err != nil {
				return err
			}
		default:
			if w.stash != nil && w.stash.link == l.prev {
				w.stash.alone = false // the next one was only out of place
			}
			if err := w.gap(ctx, l.Seq, l.StreamSeq, 0); err != nil {
				return err
			}
			if w.stash = nil; l.alone {
				w.stash = l
			} else if err := w.copyLine(l); err != nil {
				return err
			}
		}
	}
	if err := w.gapAtEnd(ctx); err != nil {
		return err
	}
	if err := w.unstash(); err != nil {
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
	w.meta = meta
	w.began = true
	w.end.meta, w.end.seq = meta, meta.FirstSeq-1
	return w.emit(text, l.link)
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

// gapAtEnd fills in what was recorded behind the last line.
func (w *rewriter) gapAtEnd(ctx context.Context) error {
	switch {
	case w.anchor == nil:
		return nil
	case !recordedFrom(w.meta, w.anchor.Stream):
		return w.gap(ctx, w.anchor.Seq+1, 0, 0)
	}
	if w.stash != nil && w.stash.seqTo > w.anchor.Seq {
		return nil
	}
	return w.gap(ctx, w.anchor.Seq+1, w.anchor.StreamSeq+1, w.anchor.StreamSeq)
}

// gap fills in what is missing before seq, which has stream sequence before.
// covered is the stream sequence that lost lines stand for, if known. A line
// next to the gap for which nothing vouches is taken from the stream as well,
// where that still has it.
func (w *rewriter) gap(ctx context.Context, seq, before, covered uint64) error {
	if !w.began {
		w.end.seq = w.meta.FirstSeq - 1
	}
	to := seq - 1
	if w.end.seq >= to || w.stash != nil && w.stash.seqTo >= to && !w.stash.alone {
		return w.unstash()
	}
	if recordedFrom(w.meta, w.req.Stream) && w.req.Source != nil {
		g := Gap{Seq: w.end.seq + 1, SeqTo: to, After: w.end.streamSeq, Before: before}
		for m, err := range w.req.Source.Refill(ctx, g) {
			if err == nil && (m.Seq <= w.end.seq || m.Seq > to) {
				err = fmt.Errorf("got line %d", m.Seq)
			}
			if err == nil {
				err = w.refill(m)
			}
			if err != nil {
				return fmt.Errorf("refill lines %d to %d: %w", g.Seq, to, err)
			}
		}
	}
	if err := w.unstash(); err != nil {
		return err
	}
	if w.end.seq >= to {
		return nil
	}
	return w.lose(to, max(covered, w.end.streamSeq))
}

// unstash writes the line that had no witness, since the stream has nothing to
// put in its place.
func (w *rewriter) unstash() error {
	l := w.stash
	if w.stash = nil; l == nil {
		return nil
	}
	return w.copyLine(l)
}

func (w *rewriter) refill(m Message) error {
	if l := w.stash; l != nil && m.Seq > l.seqTo {
		if err := w.unstash(); err != nil {
			return err
		}
	}
	if m.Seq > w.end.seq+1 {
		if err := w.lose(m.Seq-1, w.end.streamSeq); err != nil {
			return err
		}
	}
	if err := w.begin(m.StoredAt); err != nil {
		return err
	}
	text := appendMessage(nil, w.meta.Session, w.meta.Agent, m,
		events.Position{Seq: m.Seq, StreamSeq: m.StreamSeq, StoredAt: m.StoredAt}, w.end.link)
	link := events.HashLine(text)
	if l := w.stash; l != nil && l.Seq == m.Seq {
		l.drop, w.stash = l.link != link, nil
	}
	w.report.Refilled++
	w.advance(m.Seq, m.StreamSeq)
	return w.emit(text, link)
}

// lose writes the line that stands for all up to and including to.
func (w *rewriter) lose(to, streamSeq uint64) error {
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
