package fold_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// FuzzLog folds any bytes as a log: nothing panics, the state survives a
// checkpoint, operations fit a reader, and what is kept stays bounded.
func FuzzLog(f *testing.F) {
	logs, _ := filepath.Glob("testdata/logs/*.ndjson")
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 1<<14 {
			f.Add(data)
		}
	}
	for _, typ := range grammarTypes {
		f.Add([]byte(ev("turn.started", `{"prompt":"p"}`) + "\n" + ev("tool.call.started", `{"toolCallId":"c1","name":"X","args":{}}`) + "\n" + eventWith(typ, "", "")))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		a, reader := fold.New("s-1", "main", fold.TreeOnly()), reducer.NewTranscript("main")
		for i, line := range bytes.Split(log, []byte("\n")) {
			if i > 100 {
				break
			}
			n := uint64(i + 1)
			b := a.Step(fold.Record{Seq: n, StreamSeq: n, StoredAt: epoch, Data: bytes.Clone(line)})
			if gap := reader.Apply(b.Ops).Gap; gap != nil {
				t.Fatalf("record %d: gap %+v", n, *gap)
			}
			for _, op := range b.Ops {
				if op.Kind == reducer.OpMarkerUpsert && strings.Contains(string(op.Marker.Payload), "could not be folded") {
					t.Fatalf("record %d panicked: %s", n, line)
				}
			}
		}
		checkKept(t, a.Snapshot(-1), reader.Snapshot(-1))
		s := a.Encode()
		again, err := fold.Decode("s-1", "main", s, fold.TreeOnly())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Encode().Head, s.Head) || snapJSON(again.Snapshot(-1)) != snapJSON(a.Snapshot(-1)) {
			t.Fatal("the state does not survive a checkpoint")
		}
	})
}

// FuzzState decodes any bytes as a state: nothing panics, and what decodes
// encodes to something that decodes the same.
func FuzzState(f *testing.F) {
	a := fold.New("s-1", "main", fold.TreeOnly())
	for i, typ := range grammarTypes {
		a.Step(record(uint64(i+1), eventWith(typ, "", "")))
		f.Add(a.Encode().Head)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		a, err := fold.Decode("s-1", "main", fold.State{Head: head}, fold.TreeOnly())
		if err != nil {
			return
		}
		first := a.Encode().Head
		again, err := fold.Decode("s-1", "main", fold.State{Head: first}, fold.TreeOnly())
		if err != nil {
			t.Fatalf("its own encoding does not decode: %v", err)
		}
		if !bytes.Equal(again.Encode().Head, first) {
			t.Fatal("it encodes differently the second time")
		}
		a.Snapshot(-1)
		a.Snapshot(1)
		a.Info()
	})
}

// A state of another version, or a broken one, is refused with the reason.
func TestStateErrors(t *testing.T) {
	w := scene(t)
	head := w.live.Encode().Head
	newer := append([]byte{head[0] + 1}, head[1:]...)
	other := append([]byte{head[0], head[1] + 1}, head[2:]...)
	for _, c := range []struct {
		name  string
		head  []byte
		want  error
		agent events.AgentID
	}{
		{"newer format", newer, fold.ErrVersion, "main"},
		{"other fold", other, fold.ErrVersion, "main"},
		{"empty", nil, fold.ErrCorrupt, "main"},
		{"cut", head[:len(head)-1], fold.ErrCorrupt, "main"},
		{"longer", append(bytes.Clone(head), 0), fold.ErrCorrupt, "main"},
		{"of another agent", head, fold.ErrCorrupt, "sub"},
	} {
		if _, err := fold.Decode("s-1", c.agent, fold.State{Head: c.head}); err == nil || !isError(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for i := range head { // no cut of a state decodes, and none panics
		if _, err := fold.Decode("s-1", "main", fold.State{Head: head[:i]}); err == nil {
			t.Fatalf("the first %d bytes decode", i)
		}
	}
}
