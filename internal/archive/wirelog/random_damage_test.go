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

// After any damage the log is what it was, as far as the stream has it; and
// where it has nothing, what remains stands in its place and the rest is said
// to be lost.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	intact, msgs, anchor := recorded(t, 12)
	text := intact.Bytes(mainFile)
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(text)
		for range rapid.IntRange(1, 4).Draw(t, "damages") {
			b = drawDamage(t, b)
		}
		trimmed := rapid.SampledFrom([]uint64{0, 0, 5, 99}).Draw(t, "trimmed")
		fsys := crashfs.New(1)
		fsys.SetBytes(mainFile, b)
		dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		ag, report, err := dir.Open(t.Context(), wirelog.OpenRequest{
			Session: session, Agent: main0, Epoch: epoch, Stream: stream, Anchor: anchor,
			Source: refill{msgs: msgs, trimmed: trimmed},
		})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		if ag.Seq() != anchor.Seq || ag.StreamSeq() != anchor.StreamSeq {
			t.Fatalf("goes on behind seq %d, stream_seq %d", ag.Seq(), ag.StreamSeq())
		}
		whole := bytes.Count(commonPrefix(b, text), []byte("\n")) // metadata included
		checkAfterDamage(t, fsys, msgs, trimmed, whole)
		if t.Failed() {
			t.Logf("report %+v\nfrom\n%s\nto\n%s", report, b, fsys.Bytes(mainFile))
		}
	})
}

func commonPrefix(a, b []byte) []byte {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func checkAfterDamage(t *rapid.T, fsys *crashfs.FS, msgs []wirelog.Message, trimmed uint64, whole int) {
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
		switch {
		case line.Kind == archive.Lost && line.SeqTo > trimmed:
			t.Errorf("lost %d to %d, but only up to %d it was trimmed", line.Seq, line.SeqTo, trimmed)
		case line.Kind == archive.Lost && line.Seq < uint64(whole):
			t.Errorf("lost %d, which stood before the damage", line.Seq)
		case line.Kind != archive.Lost && string(line.Data) != string(msgs[line.Seq-1].Data) && line.Seq > trimmed:
			t.Errorf("line %d is %s", line.Seq, line.Data)
		}
	}
	if next != uint64(len(msgs))+1 {
		t.Errorf("ends with %d:%s", next-1, outline)
	}
	for f, err := range r.Verify(t.Context(), session, main0) {
		if err != nil || f.Damage() {
			t.Errorf("%v %v", f, err)
		}
	}
}
