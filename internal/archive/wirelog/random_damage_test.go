package wirelog_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/archive/wirelog/crashfs"
)

// drawDamage alters a file in one of the ways disks and people do.
func drawDamage(t *rapid.T, b []byte) []byte {
	if len(b) < 2 {
		return b
	}
	at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
	to := min(len(b), at+rapid.IntRange(1, 700).Draw(t, "size"))
	switch rapid.IntRange(0, 8).Draw(t, "damage") {
	case 0: // a flipped bit
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case 1: // bytes are gone
		b = slices.Delete(b, at, to)
	case 2: // a block of zeros
		clear(b[at:to])
	case 3: // cut
		b = b[:at]
	case 4: // foreign bytes
		b = slices.Insert(b, at, rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")...)
	case 5: // a block twice
		b = slices.Insert(b, to, bytes.Clone(b[at:to])...)
	default: // whole lines
		lines := bytes.SplitAfter(b, []byte("\n"))
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		j := rapid.IntRange(0, len(lines)-1).Draw(t, "other line")
		switch rapid.IntRange(0, 2).Draw(t, "lines") {
		case 0:
			lines[i], lines[j] = lines[j], lines[i]
		case 1:
			lines = slices.Delete(lines, min(i, j), max(i, j)+1)
		case 2:
			lines = slices.Insert(lines, i, lines[j])
		}
		b = bytes.Join(lines, nil)
	}
	return b
}

// logs are what TestRandomDamage damages the open part of: a first part, and a
// second one with messages of every kind.
func logs(tb testing.TB) []damagedLog {
	intact, msgs, anchor := recorded(tb, 12)
	first := damagedLog{open: intact.Bytes(mainFile), msgs: msgs, anchor: *anchor}

	second := damagedLog{msgs: slices.Clone(msgs)}
	second.msgs[6].Data = []byte("{\"event_type\":\"x\",\n\"payload\":{}}")
	second.msgs[7].Data = []byte("no event")
	second.msgs[8] = wirelog.Message{StreamSeq: 90, StoredAt: 1700000000008, Lost: true}
	fsys := crashfs.New(1)
	ag, _ := reopen(tb, fsys, nil, nil, second.msgs[:4])
	if err := fsys.Rename(mainFile, mainDir+"wire.0001.jsonl"); err != nil {
		tb.Fatal(err)
	}
	ag, _ = reopen(tb, fsys, new(ag.Mark()), nil, second.msgs)
	second.open, second.first, second.anchor = fsys.Bytes(mainFile), fsys.Bytes(mainDir+"wire.0001.jsonl"), ag.Mark()
	if second.anchor.Part != 2 || second.anchor.Seq != 12 {
		tb.Fatalf("recorded up to %+v", second.anchor)
	}
	return []damagedLog{first, second}
}

type damagedLog struct {
	first  []byte // the finished part before the open one, if any
	open   []byte
	msgs   []wirelog.Message
	anchor wirelog.Anchor
}

// After any damage the log is what it was, as far as the stream has it; and
// where it has nothing, what remains stands in its place and the rest is said
// to be lost. That holds for a log that was repaired before as well.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	all := logs(t)
	rapid.Check(t, func(t *rapid.T) {
		log := all[rapid.IntRange(0, len(all)-1).Draw(t, "log")]
		trimmed := rapid.SampledFrom([]uint64{0, 0, 5, 8, 99}).Draw(t, "trimmed")
		for range rapid.IntRange(1, 2).Draw(t, "repairs") {
			log.repair(t, trimmed)
		}
	})
}

// repair damages the open part, opens the log and checks it.
func (log *damagedLog) repair(t *rapid.T, trimmed uint64) {
	b := bytes.Clone(log.open)
	for range rapid.IntRange(1, 4).Draw(t, "damages") {
		b = drawDamage(t, b)
	}
	fsys := crashfs.New(1)
	if log.first != nil {
		fsys.SetBytes(mainDir+"wire.0001.jsonl", log.first)
	}
	fsys.SetBytes(mainFile, b)
	dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ag, report, err := dir.Open(t.Context(), wirelog.OpenRequest{
		Session: session, Agent: main0, Epoch: epoch, Stream: stream, Anchor: &log.anchor,
		Source: refill{msgs: log.msgs, trimmed: trimmed},
	})
	if err != nil {
		t.Fatalf("open: %v\n%s\nfrom\n%s", err, log.open, b)
	}
	if ag.Seq() != log.anchor.Seq || ag.StreamSeq() != log.anchor.StreamSeq {
		t.Fatalf("goes on behind seq %d, stream_seq %d", ag.Seq(), ag.StreamSeq())
	}
	log.check(t, fsys, trimmed, untouched(log.open, b))
	if t.Failed() {
		t.Logf("report %+v\nof\n%s\nfrom\n%s\nto\n%s", report, log.open, b, fsys.Bytes(mainFile))
	}
	log.open, log.anchor = fsys.Bytes(mainFile), ag.Mark()
}

// untouched are the lines before the damage. When a chain line is damaged the
// one before it is not among them: a line that a repair put in has no other
// witness.
func untouched(intact, damaged []byte) []byte {
	n := 0
	for n < min(len(intact), len(damaged)) && intact[n] == damaged[n] {
		n++
	}
	end := bytes.LastIndexByte(intact[:n], '\n') + 1
	if bytes.HasPrefix(intact[end:], []byte(`{"type":"chain"`)) {
		end = bytes.LastIndexByte(intact[:end-1], '\n') + 1
	}
	return intact[:end]
}

// holds tells whether lines hold a message of these numbers.
func holds(lines []byte, seq, seqTo uint64) bool {
	for ; seq <= seqTo; seq++ {
		if bytes.Contains(lines, fmt.Appendf(nil, `,"seq":%d,"stream_seq"`, seq)) &&
			!bytes.Contains(lines, fmt.Appendf(nil, `"lost","seq":%d,`, seq)) {
			return true
		}
	}
	return false
}

// check reads and verifies the repaired log, of whose open part the lines in
// whole stood before the damage.
func (log *damagedLog) check(t *rapid.T, fsys *crashfs.FS, trimmed uint64, whole []byte) {
	r := wirelog.NewReaderFS(fsys)
	next, outline := uint64(1), ""
	for line, err := range r.Read(t.Context(), session, main0, 0) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if line.Seq != next {
			t.Fatalf("seq %d where %d should be", line.Seq, next)
		}
		next = line.SeqTo + 1
		outline += fmt.Sprintf(" %d-%d", line.Seq, line.SeqTo)
		m := log.msgs[line.Seq-1]
		switch {
		case line.Kind == archive.Lost && m.Lost && line.Seq == line.SeqTo:
		case line.Kind == archive.Lost && line.SeqTo > trimmed:
			t.Errorf("lost %d to %d, but only up to %d it was trimmed", line.Seq, line.SeqTo, trimmed)
		case line.Kind == archive.Lost && holds(whole, line.Seq, line.SeqTo):
			t.Errorf("lost %d to %d, which stood before the damage", line.Seq, line.SeqTo)
		case line.Kind != archive.Lost && line.StreamSeq != m.StreamSeq && line.Seq > trimmed:
			t.Errorf("line %d has stream_seq %d", line.Seq, line.StreamSeq)
		case line.Kind != archive.Lost && string(line.Data) != string(m.Data) && line.Seq > trimmed:
			t.Errorf("line %d is %s", line.Seq, line.Data)
		}
	}
	if next != uint64(len(log.msgs))+1 {
		t.Errorf("ends with %d:%s", next-1, outline)
	}
	for f, err := range r.Verify(t.Context(), session, main0) {
		if err != nil || f.Damage() {
			t.Errorf("%v %v", f, err)
		}
	}
}
