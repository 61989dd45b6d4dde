package wirelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/archive/wirelog/crashfs"
	"github.com/stenohq/steno/pkg/events"
)

const (
	main0    = events.AgentID("main")
	mainDir  = "sessions/s-1/agents/main/"
	mainFile = mainDir + "wire.jsonl"
)

// recorded returns a file system on which n messages were recorded and
// committed, the messages, and the anchor.
func recorded(tb testing.TB, n int) (*crashfs.FS, []wirelog.Message, *wirelog.Anchor) {
	tb.Helper()
	fsys := crashfs.New(1)
	var msgs []wirelog.Message
	for i := range n {
		text := fmt.Sprintf("text %d ä", i)
		if i == 4 {
			text = strings.Repeat("ä", 40)
		}
		msgs = append(msgs, wirelog.Message{
			StreamSeq: uint64(10 * (i + 1)), StoredAt: 1700000000000 + int64(i),
			Data: fmt.Appendf(nil, `{"event_type":"assistant.delta","payload":{"delta":%q}}`, text),
		})
	}
	ag, _ := reopen(tb, fsys, nil, nil, msgs)
	if n == 0 {
		return fsys, nil, nil
	}
	mark := ag.Mark()
	return fsys, msgs, &mark
}

// reopen opens the agent, adds the messages behind the anchor and commits.
func reopen(tb testing.TB, fsys *crashfs.FS, anchor *wirelog.Anchor, src wirelog.Source, msgs []wirelog.Message) (*wirelog.Agent, wirelog.Repair) {
	tb.Helper()
	dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
	if err != nil {
		tb.Fatal(err)
	}
	defer dir.Close()
	ag, report, err := dir.Open(tb.Context(), wirelog.OpenRequest{
		Session: session, Agent: main0, Epoch: epoch, Stream: stream, Anchor: anchor, Source: src,
	})
	if err != nil {
		tb.Fatal(err)
	}
	var after uint64
	if anchor != nil {
		after = anchor.StreamSeq
	}
	if err := addAll(ag, msgs, after); err != nil {
		tb.Fatal(err)
	}
	if err := dir.Commit(tb.Context(), []*wirelog.Agent{ag}); err != nil {
		tb.Fatal(err)
	}
	return ag, report
}

// outline reads everything back: "e1 e2 l3-4 e5" and the joined data.
func outline(tb testing.TB, fsys *crashfs.FS) (string, [][]byte) {
	tb.Helper()
	var out []string
	var data [][]byte
	for line, err := range wirelog.NewReaderFS(fsys).Read(tb.Context(), session, main0, 0) {
		if err != nil {
			tb.Fatal(err)
		}
		switch line.Kind {
		case archive.Event:
			out = append(out, fmt.Sprintf("e%d", line.Seq))
		case archive.Invalid:
			out = append(out, fmt.Sprintf("i%d", line.Seq))
		case archive.Lost:
			out = append(out, fmt.Sprintf("l%d-%d", line.Seq, line.SeqTo))
		}
		data = append(data, bytes.Clone(line.Data))
	}
	return strings.Join(out, " "), data
}

func findings(tb testing.TB, fsys *crashfs.FS) string {
	tb.Helper()
	var kinds []string
	for f, err := range wirelog.NewReaderFS(fsys).Verify(tb.Context(), session, main0) {
		if err != nil {
			tb.Fatal(err)
		}
		kinds = append(kinds, string(f.Kind))
	}
	return strings.Join(kinds, " ")
}

// lineSpan is where line n (0 is the metadata) stands.
func lineSpan(b []byte, n int) (from, to int) {
	for range n {
		from += bytes.IndexByte(b[from:], '\n') + 1
	}
	return from, from + bytes.IndexByte(b[from:], '\n')
}

func flip(b []byte, line int, mark string) []byte {
	from, to := lineSpan(b, line)
	i := from + bytes.Index(b[from:to], []byte(mark))
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

func without(b []byte, line int) []byte {
	from, to := lineSpan(b, line)
	return append(bytes.Clone(b[:from]), b[to+1:]...)
}

func TestDamage(t *testing.T) {
	t.Parallel()
	const all = "e1 e2 e3 e4 e5 e6"
	tests := []struct {
		name    string
		corrupt func(b []byte) []byte
		found   string // by Verify before the repair
		trimmed string // outline when the stream has none of it any more
		after   string // Verify then; with the stream nothing is found
		aside   int    // lines set aside
	}{
		{"intact", func(b []byte) []byte { return b }, "", all, "", 0},
		{"torn record", func(b []byte) []byte { return append(bytes.Clone(b), `{"event_type":"x","pay`...) }, "torn", all, "", 0},
		{"torn inside a character", func(b []byte) []byte {
			from, _ := lineSpan(b, 5)
			return append(bytes.Clone(b), b[from:from+60]...)
		}, "torn", all, "", 0},
		{"zeros at the end", func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, 5000)...) }, "torn", all, "", 0},
		{"whole record without newline", func(b []byte) []byte { return b[:len(b)-1] }, "torn", all, "", 0},
		{"cut in the last record", func(b []byte) []byte { return b[:len(b)-20] }, "torn", "e1 e2 e3 e4 e5 l6-6", "lost", 0},
		{"cut in the middle", func(b []byte) []byte { from, _ := lineSpan(b, 4); return b[:from+30] }, "torn", "e1 e2 e3 l4-6", "lost", 0},
		{"flipped in the middle", func(b []byte) []byte { return flip(b, 3, "text") }, "chain", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 1},
		{"flipped in the last line", func(b []byte) []byte { return flip(b, 6, "text") }, "", "e1 e2 e3 e4 e5 l6-6", "lost", 1},
		{"flipped in a hash", func(b []byte) []byte { return flip(b, 3, `","h":"`) }, "bad gap", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 1},
		{"flipped digit of a hash", func(b []byte) []byte { return bytes.Replace(b, h(b, 3), h(b, 2), 1) }, "chain chain", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 1},
		{"flipped seq", func(b []byte) []byte { return flip(b, 3, `3,"stream_seq"`) }, "double chain gap", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 1},
		{"flipped metadata", func(b []byte) []byte { return flip(b, 0, "abcd") }, "chain", all, "", 1},
		{"metadata that is no JSON", func(b []byte) []byte { return flip(b, 0, "{") }, "bad", all, "", 1},
		{"only metadata", func(b []byte) []byte { _, to := lineSpan(b, 0); return b[:to+1] }, "", "l1-6", "lost", 0},
		{"empty", func([]byte) []byte { return nil }, "", "l1-6", "lost", 0},
		{"missing line", func(b []byte) []byte { return without(b, 3) }, "chain gap", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 0},
		{"two lines glued", func(b []byte) []byte {
			_, to := lineSpan(b, 3)
			return append(bytes.Clone(b[:to]), b[to+1:]...)
		}, "bad gap", "e1 e2 l3-4 e5 e6", "lost repaired", 1},
		{"torn in the middle", func(b []byte) []byte {
			from, _ := lineSpan(b, 3)
			_, to := lineSpan(b, 4)
			return append(append(bytes.Clone(b[:from+25]), '\n'), b[to+1:]...)
		}, "bad gap", "e1 e2 l3-4 e5 e6", "lost repaired", 1},
		{"a block doubled", func(b []byte) []byte {
			from, _ := lineSpan(b, 2)
			_, to := lineSpan(b, 4)
			block := b[from : to+1]
			return append(append(bytes.Clone(b[:to+1]), block...), b[to+1:]...)
		}, "chain double double double", all, "", 3},
		{"binary in the middle", func(b []byte) []byte {
			from, _ := lineSpan(b, 3)
			return append(append(bytes.Clone(b[:from]), "\x00\x01\xff\n\n"...), b[from:]...)
		}, "bad bad", all, "", 1},
		// Found by TestRandomDamage: junk hid that the next line does not name
		// the altered one, whose stream_seq was that of the line before.
		{"altered stream_seq with junk behind it", func(b []byte) []byte {
			return behind(replace(b, `3,"stream_seq":30`, `3,"stream_seq":20`), 3, "94e9d75688f0\n")
		}, "double bad", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 2},
		{"altered text with junk behind it", func(b []byte) []byte {
			return behind(flip(b, 3, "text"), 3, "junk\n")
		}, "bad", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 2},
		{"altered text with another line behind it", func(b []byte) []byte {
			from, to := lineSpan(b, 6)
			return behind(flip(b, 3, "text"), 3, string(b[from:to+1]))
		}, "chain gap chain double double double", "e1 e2 l3-3 e4 e5 e6", "lost repaired", 2},
		{"junk between intact lines", func(b []byte) []byte {
			return behind(behind(b, 4, "junk\n"), 3, "junk\n")
		}, "bad bad", all, "", 2},
		{"altered stream_seq, what is behind it gone", func(b []byte) []byte {
			b = replace(b, `3,"stream_seq":30`, `3,"stream_seq":50`)
			return without(b, 4)
		}, "chain gap", "e1 e2 l3-4 e5 e6", "lost repaired", 1},
		{"a later block before an earlier one", func(b []byte) []byte {
			from, _ := lineSpan(b, 4)
			_, to := lineSpan(b, 5)
			return behind(b, 1, string(b[from:to+1]))
		}, "chain gap chain double double double double", all, "", 2},
		{"two lines swapped", func(b []byte) []byte {
			from, to := lineSpan(b, 4)
			return behind(without(b, 4), 2, string(b[from:to+1]))
		}, "chain gap chain double chain", all, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, trimmed := range []bool{false, true} {
				fsys, msgs, anchor := recorded(t, 6)
				want := fsys.Bytes(mainFile)
				fsys.SetBytes(mainFile, tt.corrupt(bytes.Clone(want)))
				if got := findings(t, fsys); got != tt.found {
					t.Errorf("found %q, want %q", got, tt.found)
				}
				src := refill{msgs: msgs}
				if trimmed {
					src.trimmed = 99
				}
				ag, report := reopen(t, fsys, anchor, src, msgs)
				if ag.Seq() != 6 || ag.StreamSeq() != 60 {
					t.Errorf("continues behind seq %d, stream_seq %d", ag.Seq(), ag.StreamSeq())
				}
				if report.SetAside != tt.aside {
					t.Errorf("%d lines set aside, want %d", report.SetAside, tt.aside)
				}
				got, data := outline(t, fsys)
				wantOutline, wantFound := all, ""
				if trimmed {
					wantOutline, wantFound = tt.trimmed, tt.after
				}
				if got != wantOutline {
					t.Errorf("trimmed %v: %q, want %q", trimmed, got, wantOutline)
				}
				if got := findings(t, fsys); got != wantFound {
					t.Errorf("trimmed %v: after the repair found %q, want %q", trimmed, got, wantFound)
				}
				if !trimmed {
					for i, m := range msgs {
						if !bytes.Equal(data[i], m.Data) {
							t.Errorf("message %d is %s", i+1, data[i])
						}
					}
					if !bytes.Equal(fsys.Bytes(mainFile), want) {
						t.Errorf("not what it was before:\n%s\nwant\n%s", fsys.Bytes(mainFile), want)
					}
				}
				again := fsys.Bytes(mainFile)
				_, second := reopen(t, fsys, new(ag.Mark()), src, msgs)
				if second != (wirelog.Repair{}) || !bytes.Equal(again, fsys.Bytes(mainFile)) {
					t.Errorf("a second repair: %+v", second)
				}
			}
		})
	}
}

// Lines 3 and 5 are gone, so nothing vouches for 4 (nor for 2). Such a line must
// not bound what the stream is asked for, nor be kept against what it has.
func TestDamageWithoutWitness(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		by       string // in place of line 4's "stream_seq":40
		trimmed  uint64
		want     string
		refilled uint64
		aside    int
	}{
		{"intact", "40", 0, "e1 e2 e3 e4 e5 e6", 4, 0},
		{"intact, the stream has none", "40", 99, "e1 e2 l3-3 e4 l5-5 e6", 0, 0},
		{"intact, the stream has what follows", "40", 4, "e1 e2 l3-3 e4 e5 e6", 1, 0},
		{"too low", "25", 0, "e1 e2 e3 e4 e5 e6", 4, 1},
		{"too high", "55", 0, "e1 e2 e3 e4 e5 e6", 4, 1},
		{"as high as what follows", "50", 4, "e1 e2 l3-4 e5 e6", 1, 1},
		{"higher than what follows", "55", 4, "e1 e2 l3-4 e5 e6", 1, 1},
		{"as high as the next witness", "60", 99, "e1 e2 l3-5 e6", 0, 1},
		{"as low as the last witness", "20", 99, "e1 e2 l3-5 e6", 0, 1},
		{"not to be known", "45", 99, "e1 e2 l3-3 e4 l5-5 e6", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fsys, msgs, anchor := recorded(t, 7)
			b := fsys.Bytes(mainFile)
			_, end2 := lineSpan(b, 2)
			head := b[:end2+1]
			from4, to4 := lineSpan(b, 4)
			from6, _ := lineSpan(b, 6)
			line4 := replace(b[from4:to4+1], `"stream_seq":40`, `"stream_seq":`+tt.by)
			fsys.SetBytes(mainFile, slices.Concat(head, line4, b[from6:]))
			_, report := reopen(t, fsys, anchor, refill{msgs: msgs, trimmed: tt.trimmed}, msgs)
			if got, _ := outline(t, fsys); got != tt.want+" e7" {
				t.Errorf("%q, want %q", got, tt.want+" e7")
			}
			for f, err := range wirelog.NewReaderFS(fsys).Verify(t.Context(), session, main0) {
				if err != nil || f.Damage() {
					t.Errorf("%v %v", f, err)
				}
			}
			if report.Refilled != tt.refilled || report.SetAside != tt.aside {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// behind puts text behind a line.
func behind(b []byte, line int, text string) []byte {
	_, to := lineSpan(b, line)
	return append(append(bytes.Clone(b[:to+1]), text...), b[to+1:]...)
}

func replace(b []byte, what, by string) []byte {
	return bytes.Replace(b, []byte(what), []byte(by), 1)
}

// h is the hash in a line.
func h(b []byte, line int) []byte {
	_, to := lineSpan(b, line)
	return b[to-66 : to-2]
}

func TestRebuildsMissingFile(t *testing.T) {
	t.Parallel()
	fsys, msgs, anchor := recorded(t, 6)
	want := fsys.Bytes(mainFile)
	fsys.Delete(mainFile)
	_, report := reopen(t, fsys, anchor, refill{msgs: msgs}, msgs)
	if report.Refilled != 6 || report.Lost != 0 || report.Problem == "" {
		t.Errorf("report %+v", report)
	}
	if !bytes.Equal(fsys.Bytes(mainFile), want) {
		t.Error("the file is not what it was")
	}
	fsys.Delete(mainFile)
	_, report = reopen(t, fsys, anchor, refill{msgs: msgs, trimmed: 4}, msgs)
	if got, _ := outline(t, fsys); got != "l1-4 e5 e6" || report.Refilled != 2 || report.Lost != 4 {
		t.Errorf("%q, report %+v", got, report)
	}
}

// What was written but not committed must be what the stream holds.
func TestDistrustsUncommittedLines(t *testing.T) {
	t.Parallel()
	fsys, msgs, _ := recorded(t, 6)
	want := fsys.Bytes(mainFile)
	fsys.SetBytes(mainFile, flip(bytes.Clone(want), 6, "text"))
	dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	req := wirelog.OpenRequest{Session: session, Agent: main0, Epoch: epoch, Stream: stream}
	ag, _, err := dir.Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var differs *wirelog.DiffersError
	if err := addAll(ag, msgs, 0); !asDiffers(err, &differs) || differs.Seq != 6 {
		t.Fatalf("got %v", err)
	}
	if got := ag.Mark().Seq; got != 5 {
		t.Errorf("proven up to %d, want 5", got)
	}
	req.Distrust = differs.Seq
	if ag, _, err = dir.Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if err := addAll(ag, msgs, 0); err != nil {
		t.Fatal(err)
	}
	if err := dir.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fsys.Bytes(mainFile), want) {
		t.Error("the file is not what it was")
	}
}

// Another recorder wrote up to seq 10; this directory goes on behind it.
func TestTakesOverFromAnotherDirectory(t *testing.T) {
	t.Parallel()
	fsys, msgs, anchor := recorded(t, 6)
	foreign := *anchor
	foreign.Seq, foreign.StreamSeq, foreign.Part, foreign.H = 10, 100, 3, wirelog.Hash{1}
	dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ag, _, err := dir.Open(t.Context(), wirelog.OpenRequest{
		Session: session, Agent: main0, Epoch: epoch, Stream: stream, Anchor: &foreign, Foreign: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	next := msgs[0]
	next.StreamSeq = 110
	if added, err := ag.Add(next); !added || err != nil {
		t.Fatal(added, err)
	}
	if err := dir.Commit(context.WithoutCancel(t.Context()), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	if m := ag.Mark(); m.Seq != 11 || m.Part != 4 {
		t.Errorf("mark %+v", m)
	}
	meta := string(fsys.Bytes(mainFile))
	if !strings.Contains(meta, `"part":4,"first_seq":11,"prev_h":"01000000`) {
		t.Errorf("metadata %s", meta)
	}
	if fsys.Bytes(mainDir+"wire.0001.jsonl") == nil {
		t.Error("the former part was not finished")
	}
}

// A restore made a new stream from this archive: same messages, same numbers,
// other stream sequences.
func TestGoesOnInAnotherIncarnation(t *testing.T) {
	t.Parallel()
	fsys, msgs, anchor := recorded(t, 6)
	next := stream
	next.Created = next.Created.AddDate(1, 0, 0)
	open := func(a *wirelog.Anchor) (*wirelog.Dir, *wirelog.Agent) {
		dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
		if err != nil {
			t.Fatal(err)
		}
		ag, _, err := dir.Open(t.Context(), wirelog.OpenRequest{
			Session: session, Agent: main0, Epoch: "new", Stream: next, Anchor: a,
		})
		if err != nil {
			t.Fatal(err)
		}
		return dir, ag
	}
	add := func(ag *wirelog.Agent, i int) bool {
		added, err := ag.Add(wirelog.Message{StreamSeq: uint64(i), StoredAt: 5, Data: msgs[(i-1)%6].Data})
		if err != nil {
			t.Fatal(err)
		}
		return added
	}
	dir, ag := open(anchor)
	for i := 1; i <= 4; i++ {
		if add(ag, i) {
			t.Errorf("message %d stands twice", i)
		}
	}
	mark := ag.Mark()
	if mark.Seq != 4 || mark.StreamSeq != 4 {
		t.Errorf("mark %+v", mark)
	}
	dir.Close()
	other := wirelog.Message{StreamSeq: 5, Data: []byte("{}")}
	if _, err := ag.Add(other); !errors.Is(err, wirelog.ErrOtherLog) {
		t.Errorf("a stream of something else: %v", err)
	}
	dir, ag = open(&mark) // died after a commit in the middle
	defer dir.Close()
	for i := 5; i <= 8; i++ {
		if add(ag, i) != (i > 6) {
			t.Errorf("message %d: added is wrong", i)
		}
	}
	if err := dir.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	if got, _ := outline(t, fsys); got != "e1 e2 e3 e4 e5 e6 e7 e8" {
		t.Error(got)
	}
	if got := findings(t, fsys); got != "" {
		t.Error(got)
	}
}
