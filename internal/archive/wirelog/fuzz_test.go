package wirelog_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/archive/wirelog/crashfs"
)

// Whatever a file was turned into, opening it keeps every line before the
// first changed byte, puts nothing in the place of another, and what the
// stream still has stands again where it stood.
func FuzzOpen(f *testing.F) {
	intact, msgs, anchor := recorded(f, 6)
	text := intact.Bytes(mainFile)
	f.Add(text, true)
	f.Add(text[:len(text)/2], false)
	f.Add(flip(bytes.Clone(text), 3, "text"), false)
	f.Add(without(text, 2), true)
	f.Add([]byte{}, false)
	f.Add([]byte("\n\n"), true)
	f.Add([]byte(`{"type":"metadata"}`+"\n"), true)
	f.Add(append(bytes.Clone(text), text...), true)
	f.Fuzz(func(t *testing.T, damaged []byte, trimmed bool) {
		same := 0
		for same < min(len(damaged), len(text)) && damaged[same] == text[same] {
			same++
		}
		whole := bytes.Count(text[:same], []byte("\n")) // lines before the damage, metadata included
		fsys := crashfs.New(1)
		fsys.SetBytes(mainFile, damaged)
		dir, err := wirelog.OpenDirFS(fsys, wirelog.Options{Delay: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		src := refill{msgs: msgs}
		if trimmed {
			src.trimmed = 99
		}
		ag, _, err := dir.Open(context.Background(), wirelog.OpenRequest{
			Session: session, Agent: main0, Epoch: epoch, Stream: stream, Anchor: anchor, Source: src,
		})
		if err != nil {
			return // refused, and not touched: another agent's, or a later format
		}
		if ag.Seq() < 6 {
			t.Fatalf("ends with seq %d", ag.Seq())
		}
		for f, err := range wirelog.NewReaderFS(fsys).Verify(context.Background(), session, main0) {
			if err != nil || f.Damage() {
				t.Fatalf("after the repair: %v %v", f, err)
			}
		}
		lines := 0
		for line, err := range wirelog.NewReaderFS(fsys).Read(context.Background(), session, main0, 0) {
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			lines++
			switch {
			case lines < whole && (line.Seq != uint64(lines) || string(line.Data) != string(msgs[lines-1].Data)):
				t.Fatalf("line %d before the damage became %+v", lines, line)
			case !trimmed && line.Seq <= 6 && line.SeqTo > line.Seq:
				t.Fatalf("lost %d to %d though the stream has them", line.Seq, line.SeqTo)
			}
		}
	})
}
