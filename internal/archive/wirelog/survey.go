package wirelog

import (
	"errors"
	"io"
)

// surveyed is one physical line of a damaged file.
type surveyed struct {
	parsed
	off    int64
	n      int // without newline
	whole  bool
	sound  bool // decodes in full: asked only where nothing vouches
	linked bool // follows by hash from the line before it
	drop   bool // set aside
	alone  bool // kept, but nothing vouches for it
}

// counted tells whether the line stands for stored messages.
func (l *surveyed) counted() bool {
	return l.class >= event && l.class <= lost
}

// survey reads every line of a damaged file and decides which are kept.
// sameStream says that the anchor's stream sequences are those of the file.
func survey(r io.Reader, anchor *Anchor, sameStream bool) ([]surveyed, error) {
	var lines []surveyed
	sc := newLineScanner(r, 0)
	for {
		l, err := sc.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		s := surveyed{off: l.off, n: int(l.size), whole: l.whole}
		if l.whole {
			s.n--
		}
		if !l.tooBig {
			s.parsed = parseLinked(l.text)
			s.sound = plausible(l.text, &s.parsed)
			s.reason, s.raw = nil, nil
		}
		if s.class == metadata && !s.sound {
			s.class = bad
		}
		if len(lines) > 0 && s.class != bad {
			before := &lines[len(lines)-1]
			s.linked = before.class != bad && s.prev == before.link
		}
		lines = append(lines, s)
	}
	judge(lines, anchor)
	if !sameStream {
		anchor = nil
	}
	order(lines, anchor)
	return lines, nil
}

// judge drops the lines that were altered. A line is vouched for when the next
// one names its hash, or the anchor does. Of two neighbours that do not fit,
// the one without a witness is the altered one.
func judge(lines []surveyed, anchor *Anchor) {
	vouched := func(i int) bool {
		if i < 0 || i >= len(lines) || lines[i].class == bad {
			return false
		}
		if i+1 < len(lines) && lines[i+1].linked {
			return true
		}
		l := &lines[i]
		return anchor != nil && anchor.H != Hash{} && l.counted() && l.seqTo == anchor.Seq && l.link == anchor.H
	}
	readable := func(i int) bool { return i >= 0 && i < len(lines) && lines[i].class != bad }
	for i := range lines {
		l := &lines[i]
		switch {
		case l.class == bad, l.class == metadata && i > 0:
			l.drop = true
		case vouched(i):
		case !l.sound:
			l.drop = true
		case readable(i+1) && vouched(i+1) && adjacent(l, &lines[i+1]):
			l.drop = true
		case l.class != metadata && !l.linked && readable(i-1) && adjacent(&lines[i-1], l):
			l.drop = true
		case l.linked && l.counted() && lines[i-1].counted() && l.Seq != lines[i-1].seqTo+1:
			l.drop = true // its number was altered, the rest of it proves where it stood
		case anchor != nil && anchor.H != Hash{} && l.counted() && l.seqTo == anchor.Seq:
			l.drop = true
		default:
			l.alone = l.counted() && l.class != lost
		}
	}
}

// adjacent tells whether b must name the hash of a: by their numbers no line
// is missing between them.
func adjacent(a, b *surveyed) bool {
	return a.class == metadata || a.class == chain || b.class == chain || a.seqTo+1 == b.Seq
}

// order drops what is out of order among the lines that were not altered:
// chained lines come first, a lone one is kept where its numbers fit between
// them and on its side of the anchor.
func order(lines []surveyed, anchor *Anchor) {
	chained := func(i int) bool {
		return lines[i].linked || i+1 < len(lines) && lines[i+1].linked && !lines[i+1].drop
	}
	// The numbers of the next chained line, for each line.
	type numbers struct{ seq, streamSeq uint64 }
	next := make([]numbers, len(lines)+1)
	next[len(lines)] = numbers{^uint64(0), ^uint64(0)}
	for i := len(lines) - 1; i >= 0; i-- {
		next[i] = next[i+1]
		if l := &lines[i]; !l.drop && l.counted() && chained(i) && !l.alone {
			next[i] = numbers{l.Seq, l.StreamSeq}
		}
	}
	var seq, streamSeq uint64
	for i := range lines {
		l := &lines[i]
		if l.drop || !l.counted() {
			continue
		}
		fits := l.Seq > seq && l.StreamSeq >= streamSeq
		if !chained(i) || l.alone {
			fits = fits && l.seqTo < next[i+1].seq && l.StreamSeq < next[i+1].streamSeq
			fits = fits && (anchor == nil || (l.seqTo <= anchor.Seq) == (l.StreamSeq <= anchor.StreamSeq))
		}
		if !fits {
			l.drop = true
			continue
		}
		seq, streamSeq = l.seqTo, l.StreamSeq
	}
}
