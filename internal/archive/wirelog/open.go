package wirelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// OpenRequest names an agent log and what is known about it.
type OpenRequest struct {
	Session events.SessionID
	Agent   events.AgentID
	Epoch   string            // of the session, for new parts
	Stream  eventlog.StreamID // that is being recorded
	// Anchor is the position that was committed, nil when none was. Foreign
	// says that it is about another directory's files.
	Anchor  *Anchor
	Foreign bool
	// Distrust, above 0, sets aside the lines from that seq on: the messages
	// will be added again.
	Distrust uint64
	Source   Source // nil: what is missing is lost
}

// Open opens the log of an agent and makes it when it is new. It follows the
// open part from its first line, cuts an unfinished record, sets aside what
// was altered, fills in what is missing and makes everything durable. The same
// agent must not be opened twice at a time.
func (d *Dir) Open(ctx context.Context, req OpenRequest) (*Agent, Repair, error) {
	dir, err := agentDir(req.Session, req.Agent)
	if err != nil {
		return nil, Repair{}, err
	}
	o := opener{d: d, dir: dir, req: &req}
	a, err := o.open(ctx)
	if err != nil {
		return nil, o.report, fmt.Errorf("open %s: %w", dir, err)
	}
	return a, o.report, nil
}

// opener is one Open under way.
type opener struct {
	d      *Dir
	dir    string
	req    *OpenRequest
	parts  []partFile // that are finished
	before *ending    // where they end, once it was asked for
	num    int        // of the last one
	end    ending
	report Repair
}

func (o *opener) open(ctx context.Context) (*Agent, error) {
	parts, err := listParts(o.d.fs, o.dir)
	switch {
	case notExist(err):
		if err := o.d.fs.MkdirAll(o.dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	exists := len(parts) > 0 && parts[len(parts)-1].num == 0
	if exists {
		parts = parts[:len(parts)-1]
	}
	if o.parts = parts; len(parts) > 0 {
		o.num = parts[len(parts)-1].num
	}
	if exists {
		if exists, err = o.openPart(ctx); err != nil {
			return nil, err
		}
	}
	if !exists {
		before, err := o.finished()
		if err != nil {
			return nil, err
		}
		if o.mine() && o.req.Anchor.Seq > before.seq {
			if err := o.rebuild(ctx); err != nil {
				return nil, err
			}
			exists = true
		}
	}
	return o.agent(ctx, exists)
}

// mine tells whether the anchor is about the files of this directory.
func (o *opener) mine() bool { return o.req.Anchor != nil && !o.req.Foreign }

// anchor is the anchor as far as the file must agree with it.
func (o *opener) anchor() *Anchor {
	if o.mine() {
		return o.req.Anchor
	}
	return nil
}

// finished learns where the finished parts end. When the last one is damaged,
// which Verify reports, the committed position tells it too.
func (o *opener) finished() (*ending, error) {
	if o.before != nil {
		return o.before, nil
	}
	o.before = &ending{}
	if o.num == 0 {
		return o.before, nil
	}
	p := o.parts[len(o.parts)-1]
	r, err := openPart(o.d.fs, p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	*o.before, err = check(r, nil)
	if _, broken := errors.AsType[*damage](err); !broken {
		return o.before, err
	}
	a := o.anchor()
	if a == nil || a.Part > p.num || a.H == (Hash{}) {
		return nil, fmt.Errorf("%s is damaged: %w: restore the file from a copy", p.name, err)
	}
	o.report.Problem = fmt.Sprintf("%s is damaged: %v", p.name, err)
	*o.before = ending{seq: a.Seq, streamSeq: a.StreamSeq, link: a.H, meta: Metadata{
		Part: p.num, Stream: a.Stream.Name, StreamCreated: a.Stream.Created.UnixMilli(),
	}}
	return o.before, nil
}

// openPart checks the open file and repairs it. It returns false when there is
// nothing in it.
func (o *opener) openPart(ctx context.Context) (bool, error) {
	f, err := o.d.fs.Open(o.dir+"/"+openFile, false)
	if err != nil {
		return false, err
	}
	defer func() { f.Close() }()
	size, err := f.Size()
	if err != nil {
		return false, err
	}
	o.end, err = check(io.NewSectionReader(f, 0, size), o.anchor())
	var broken *damage
	switch {
	case errors.As(err, &broken):
	case err != nil:
		return false, err
	case o.req.Distrust > 0 && o.req.Distrust <= o.end.seq:
		broken = &damage{problem: fmt.Sprintf("lines from seq %d are not what the stream holds", o.req.Distrust)}
	}
	if o.ofAnother() {
		if !o.mine() || o.end.seq >= o.end.meta.FirstSeq {
			return false, fmt.Errorf("%w: %s holds session %q, agent %q; ids that differ only in case need a file system that tells them apart",
				ErrForeign, openFile, o.end.meta.Session, o.end.meta.Agent)
		}
		// Lines were recorded here and none follows from this metadata: it is
		// the metadata that was altered.
		broken = &damage{line: 1, problem: "metadata of another agent"}
	}
	if broken == nil {
		return true, o.settle(f, size)
	}
	if o.end.size == 0 {
		// Perhaps not even the metadata line was finished.
		if whole, err := hasLine(f, size); err != nil || !whole {
			o.report.Cut = size
			return false, errors.Join(err, f.Truncate(0))
		}
	}
	o.report.Problem = broken.Error()
	err = o.repair(ctx, f, size)
	return o.end.meta.Part > 0, err
}

// hasLine tells whether a file holds at least one newline.
func hasLine(f ReadFile, size int64) (bool, error) {
	l, err := newLineScanner(io.NewSectionReader(f, 0, size), 0).next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return l.whole, err
}

// ofAnother tells whether the metadata names another agent.
func (o *opener) ofAnother() bool {
	m := &o.end.meta
	return m.Part > 0 && (m.Session != o.req.Session || m.Agent != o.req.Agent)
}

// settle ends a good file with a whole line and makes it durable. What lies
// behind the anchor is written again first: a process before this one may have
// seen a sync fail, and then its pages pass as clean though they are not on
// the disk.
func (o *opener) settle(f File, size int64) error {
	e := &o.end
	if e.torn {
		o.report.Problem, o.report.Cut = "unfinished record at the end", size-e.size
		if err := f.Truncate(e.size); err != nil {
			return err
		}
	}
	if e.newline {
		if _, err := f.WriteAt([]byte{'\n'}, e.size); err != nil {
			return err
		}
		e.size++
	}
	if e.anchored == e.size && !e.torn {
		return nil
	}
	buf := make([]byte, scanBuffer)
	for off := e.anchored; off < e.size; {
		b := buf[:min(int64(len(buf)), e.size-off)]
		if _, err := f.ReadAt(b, off); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		n, err := f.WriteAt(b, off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return o.d.fs.Persist([]File{f}, o.dirs())
}

// dirs are the directories that hold the names on the way to the file.
func (o *opener) dirs() []string {
	s := sessionsDir + "/" + string(o.req.Session)
	return []string{o.dir, s + "/" + agentsDir, s, sessionsDir, "."}
}

// repair writes the open part anew from what is good of it and the source.
func (o *opener) repair(ctx context.Context, f File, size int64) error {
	anchor := o.anchor()
	sameStream := anchor != nil && (o.end.meta.Part == 0 || recordedFrom(o.end.meta, anchor.Stream))
	lines, err := survey(io.NewSectionReader(f, 0, size), anchor, sameStream)
	if err != nil {
		return err
	}
	if o.ofAnother() {
		lines[0].drop = true
	}
	if o.req.Distrust > 0 {
		for i := range lines {
			if l := &lines[i]; l.counted() && l.seqTo >= o.req.Distrust {
				l.drop = true
			}
		}
	}
	meta, err := o.remade(lines)
	if err != nil {
		return err
	}
	if err := o.doubtMetadata(f, lines, meta); err != nil {
		return err
	}
	return o.rewrite(ctx, f, lines, meta)
}

// doubtMetadata drops metadata that no line follows from and that are not what
// is known of this part.
func (o *opener) doubtMetadata(f ReadFile, lines []surveyed, want Metadata) error {
	if !o.mine() || len(lines) == 0 || lines[0].class != metadata || lines[0].drop || lines[0].vouched {
		return nil
	}
	text := make([]byte, lines[0].n)
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	m, err := parseMetadata(text)
	if err != nil {
		return err
	}
	want.Epoch, want.CreatedAt = m.Epoch, m.CreatedAt
	lines[0].drop = m != want
	return nil
}

// rebuild makes an open part that has vanished.
func (o *opener) rebuild(ctx context.Context) error {
	o.report.Problem = fmt.Sprintf("%s is missing, seq %d was recorded", openFile, o.req.Anchor.Seq)
	meta, err := o.remade(nil)
	if err != nil {
		return err
	}
	return o.rewrite(ctx, nil, nil, meta)
}

// remade is the metadata of the open part as far as it is known from outside.
func (o *opener) remade(lines []surveyed) (Metadata, error) {
	m := Metadata{Session: o.req.Session, Agent: o.req.Agent, Epoch: o.req.Epoch, Part: o.num + 1, FirstSeq: 1}
	recorded := o.req.Stream
	if o.mine() && o.req.Anchor.Part >= m.Part {
		m.Part, recorded = o.req.Anchor.Part, o.req.Anchor.Stream
	}
	m.Stream, m.StreamCreated = recorded.Name, recorded.Created.UnixMilli()
	if o.num > 0 {
		before, err := o.finished()
		if err != nil {
			return m, err
		}
		m.FirstSeq, m.Prev = before.seq+1, before.link
		return m, nil
	}
	kept := inOrder(lines)
	first := slices.IndexFunc(kept, (*surveyed).counted)
	if m.Part > 1 && first >= 0 {
		m.FirstSeq = kept[first].Seq // what comes before was recorded elsewhere
	}
	return m, nil
}

func (o *opener) rewrite(ctx context.Context, f ReadFile, lines []surveyed, meta Metadata) error {
	w := rewriter{d: o.d, dir: o.dir, req: o.req, meta: meta, anchor: o.anchor(), src: f}
	if o.before != nil {
		w.before = *o.before
	}
	problem := o.report.Problem
	err := w.rewrite(ctx, lines)
	o.report, o.end = w.report, w.end
	o.report.Problem = problem
	if err != nil {
		return err
	}
	return o.d.fs.Persist(nil, o.dirs())
}

// agent returns the log as it stands now.
func (o *opener) agent(ctx context.Context, exists bool) (*Agent, error) {
	a := &Agent{
		session: o.req.Session, agent: o.req.Agent, epoch: o.req.Epoch, stream: o.req.Stream, dir: o.dir,
		bufs: &o.d.bufs,
	}
	e := o.end
	if exists {
		a.part, a.durable = e.meta.Part, e.size
	} else {
		e = *o.before
		a.newPart(o.num)
		a.syncDirs = o.dirs()
		if err := o.create(); err != nil {
			return nil, err
		}
	}
	a.seq, a.link = e.seq, e.link
	anchor, ahead := o.req.Anchor, o.req.Foreign && o.req.Anchor != nil && o.req.Anchor.Seq > e.seq
	if exists && (ahead || !recordedFrom(e.meta, o.req.Stream)) {
		if err := finishPart(o.d.fs, a); err != nil {
			return nil, err
		}
	}
	if ahead {
		a.newPart(max(a.part-1, anchor.Part))
		a.seq, a.link, e.proofs = anchor.Seq, anchor.H, nil
	}
	o.position(a, &e)
	a.readFormer = o.formerReader(context.WithoutCancel(ctx))
	return a, nil
}

// formerAtOnce is how many lines are read at a time to be compared.
const formerAtOnce = 256

// formerReader reads what the log holds behind a seq.
func (o *opener) formerReader(ctx context.Context) func(uint64) ([]formerLine, error) {
	r, s, a := NewReaderFS(o.d.fs), o.req.Session, o.req.Agent
	return func(after uint64) ([]formerLine, error) {
		var lines []formerLine
		for l, err := range r.Read(ctx, s, a, after) {
			if err != nil {
				return nil, err
			}
			lines = append(lines, formerLine{seqTo: l.SeqTo, lost: l.Kind == archive.Lost, data: events.HashLine(l.Data)})
			if len(lines) == formerAtOnce {
				break
			}
		}
		return lines, nil
	}
}

// create makes the empty file here, so that no commit has to wait for it.
func (o *opener) create() error {
	if o.num > 0 {
		// The name must be free on the disk too, or a crash could put the new
		// file in the place of the part that was renamed.
		if err := o.d.fs.Persist(nil, []string{o.dir}); err != nil {
			return err
		}
	}
	f, err := o.d.fs.Open(o.dir+"/"+openFile, true)
	if err != nil {
		return err
	}
	return f.Close()
}

// position sets what of the stream the log holds, and how much of it is sure.
func (o *opener) position(a *Agent, e *ending) {
	anchor := o.req.Anchor
	current := anchor != nil && sameStream(anchor.Stream, o.req.Stream)
	if recordedFrom(e.meta, o.req.Stream) {
		a.streamSeq = e.streamSeq
	}
	if current {
		a.seen = anchor.Seq
		if anchor.Seq == a.seq {
			a.streamSeq = max(a.streamSeq, anchor.StreamSeq)
		}
	}
	switch {
	case a.streamSeq == 0: // of another incarnation, or empty
		a.mark = Anchor{Part: a.part, Seq: a.seen, Stream: a.stream}
		if current {
			a.mark = *anchor
		}
	case len(e.proofs) > 0:
		a.proofs = e.proofs
		a.mark = Anchor{Part: a.part, Stream: a.stream}
		if current {
			a.mark = *anchor
		}
	default:
		a.mark = a.position()
	}
}
