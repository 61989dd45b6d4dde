package wirelog

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/stenohq/steno/pkg/events"
)

// surveyed is one physical line of a damaged file.
type surveyed struct {
	parsed
	off     int64
	n       int // without newline
	whole   bool
	sound   bool // decodes in full: asked only where nothing vouches
	vouched bool // as it was written: another line or the anchor names its hash
	drop    bool // set aside
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
		if s.class == metadata {
			s.number(l.text)
		}
		lines = append(lines, s)
	}
	newJudge(lines, anchor, sameStream).judge(lines)
	return lines, nil
}

// number lets the line behind the metadata follow from it.
func (l *surveyed) number(text []byte) {
	m, err := parseMetadata(text)
	if err != nil {
		l.class = bad
		return
	}
	l.Position, l.seqTo = events.Position{}, m.FirstSeq-1
}

// judge tells the lines that were altered from those that stand as they were
// written. Where a line stands in the file does not matter to it: junk, doubled
// and displaced lines between two lines do not hide that one names, or does not
// name, the hash of the other.
type judge struct {
	named  map[Hash]struct{} // by the line that followed
	joined map[Hash]struct{} // what the line behind a chain line names
	sure   []*surveyed       // lines that are vouched for, by number
	anchor *Anchor
	stream bool // the anchor's stream sequences are those of the file
}

func newJudge(lines []surveyed, anchor *Anchor, sameStream bool) *judge {
	j := &judge{
		named: make(map[Hash]struct{}, len(lines)), joined: map[Hash]struct{}{},
		anchor: anchor, stream: anchor != nil && sameStream,
	}
	for i := range lines {
		l := &lines[i]
		if l.class != bad && l.class != metadata {
			j.named[l.prev] = struct{}{}
		}
		if l.class == chain {
			j.joined[l.link] = struct{}{}
		}
	}
	return j
}

func (j *judge) judge(lines []surveyed) {
	var open []*surveyed
	for i := range lines {
		l := &lines[i]
		_, named := j.named[l.link]
		switch {
		case l.class == bad, l.class == metadata && i > 0:
			l.drop = true
		case l.class == chain:
			l.drop = !named
		case named || j.anchored(l) && l.link == j.anchor.H:
			l.vouched = true
			j.sure = append(j.sure, l)
		default:
			open = append(open, l)
		}
	}
	slices.SortStableFunc(j.sure, byNumber)
	j.sure = slices.DeleteFunc(j.sure, dropsDoubles())
	slices.SortStableFunc(open, byNumber)
	var last *surveyed // of those that nothing vouches for and nothing speaks against
	for _, l := range open {
		if l.class == metadata {
			l.drop = j.metadataAltered(lines, l)
			continue
		}
		if l.drop = j.altered(l, last); !l.drop {
			last = l
		}
	}
}

// anchored tells whether the anchor knows the hash of the line's number.
func (j *judge) anchored(l *surveyed) bool {
	return j.anchor != nil && j.anchor.H != Hash{} && l.counted() && l.seqTo == j.anchor.Seq
}

// dropsDoubles drops what does not follow the line kept before it.
func dropsDoubles() func(*surveyed) bool {
	var last *surveyed
	return func(l *surveyed) bool {
		if l.drop = last != nil && !follows(last, l); !l.drop {
			last = l
		}
		return l.drop
	}
}

// metadataAltered judges metadata whose hash no line names.
func (j *judge) metadataAltered(lines []surveyed, l *surveyed) bool {
	return len(lines) > 1 && lines[1].vouched || len(j.sure) > 0 && j.sure[0].Seq <= l.seqTo+1
}

// altered judges a line that nothing vouches for. It stays only where its
// numbers fit between its neighbours, and when neither is the very next line:
// those would name its hash, or it theirs. last is the line before it of its
// own sort.
func (j *judge) altered(l, last *surveyed) bool {
	if !l.sound || j.anchored(l) {
		return true
	}
	if j.stream && (l.seqTo <= j.anchor.Seq) != (l.StreamSeq <= j.anchor.StreamSeq) {
		return true
	}
	i, found := slices.BinarySearchFunc(j.sure, l, byNumber)
	if found {
		return true
	}
	if i < len(j.sure) && (!follows(l, j.sure[i]) || j.sure[i].Seq == l.seqTo+1) {
		return true
	}
	before := last
	if i > 0 && (last == nil || last.Seq < j.sure[i-1].Seq) {
		before = j.sure[i-1]
	}
	if before == nil {
		return false
	}
	_, joined := j.joined[l.prev]
	next := l.Seq == before.seqTo+1
	return !follows(before, l) || !joined && next != (l.prev == before.link)
}

func byNumber(a, b *surveyed) int { return cmp.Compare(a.Seq, b.Seq) }

// follows tells whether b may stand somewhere behind a by its numbers: the
// same that check and Verify ask.
func follows(a, b *surveyed) bool {
	return b.Seq > a.seqTo && (b.StreamSeq > a.StreamSeq || b.class == lost && b.StreamSeq == a.StreamSeq)
}

// inOrder returns the lines that are kept: metadata, then by number.
func inOrder(lines []surveyed) []*surveyed {
	var kept []*surveyed
	for i := range lines {
		if l := &lines[i]; !l.drop && l.class != chain {
			kept = append(kept, l)
		}
	}
	slices.SortStableFunc(kept, byNumber)
	return kept
}
