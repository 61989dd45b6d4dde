package fold_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// epoch is the stored time of record 0; record n is stored n seconds later.
const epoch = 1767225600000

// world folds a log and checks after every record what must always hold: the
// operations applied by a reader give the fold's snapshot, and a fold that
// goes on from a checkpoint does the same.
type world struct {
	t       tester
	live    *fold.Agent
	reader  *reducer.Transcript
	batches []fold.Batch
	closed  bool // something has closed: the reader holds more than the fold
	split   bool // also go through a checkpoint before every record
}

func newWorld(t tester) *world {
	w := &world{t: t, reader: reducer.NewTranscript("main"), split: true}
	w.live = fold.New("s-1", "main", fold.WithSink(w))
	return w
}

// Close notes that the reader now holds more than the fold.
func (w *world) Close(reducer.Closed) { w.closed = true }

// Gone is the other half of fold.Sink.
func (w *world) Gone(int) { w.closed = true }

// ev makes an envelope. Extra members are given as JSON, `"run_id":"r"`.
func ev(typ, payload string, extra ...string) string {
	s := `{"event_type":` + strconv.Quote(typ) + `,"payload":` + payload
	for _, x := range extra {
		s += "," + x
	}
	return s + "}"
}

// add folds records.
func (w *world) add(lines ...string) *world {
	w.t.Helper()
	for _, line := range lines {
		w.record(fold.Record{Data: []byte(line)})
	}
	return w
}

func (w *world) record(rec fold.Record) fold.Batch {
	w.t.Helper()
	rec.Seq = w.live.Seq() + 1
	rec.StreamSeq = rec.Seq * 10
	rec.StoredAt = epoch + int64(rec.Seq)*1000
	var twin *fold.Agent
	if w.split {
		twin = w.reopen(w.live.Encode())
	}
	b := w.live.Step(rec)
	if twin != nil {
		got := twin.Step(rec)
		if a, b := opsJSON(got.Ops), opsJSON(b.Ops); a != b {
			w.t.Fatalf("record %d: from a checkpoint the operations are\n%s\nwithout one\n%s", rec.Seq, a, b)
		}
		if !bytes.Equal(twin.Encode().Head, w.live.Encode().Head) {
			w.t.Fatalf("record %d: the states differ", rec.Seq)
		}
		if a, b := snapJSON(twin.Snapshot(-1)), snapJSON(w.live.Snapshot(-1)); a != b {
			w.t.Fatalf("record %d: from a checkpoint the snapshot is\n%s\nwithout one\n%s", rec.Seq, a, b)
		}
	}
	w.batches = append(w.batches, b)
	if strings.Contains(opsJSON(b.Ops), "could not be folded") {
		w.t.Fatalf("record %d: the fold panicked on %s", rec.Seq, rec.Data)
	}
	if gap := w.reader.Apply(b.Ops).Gap; gap != nil {
		w.t.Fatalf("record %d: gap %+v", rec.Seq, *gap)
	}
	if w.closed {
		checkKept(w.t, w.live.Snapshot(-1), w.reader.Snapshot(-1))
	} else {
		if a, b := snapJSON(w.reader.Snapshot(-1)), snapJSON(w.live.Snapshot(-1)); a != b {
			w.t.Fatalf("record %d: the reader has\n%s\nthe fold has\n%s\nafter %s", rec.Seq, a, b, opsJSON(w.last().Ops))
		}
	}
	return b
}

func (w *world) reopen(s fold.State) *fold.Agent {
	w.t.Helper()
	a, err := fold.Decode("s-1", "main", s)
	if err != nil {
		w.t.Fatalf("decode: %v", err)
	}
	if again := a.Encode(); !bytes.Equal(again.Head, s.Head) {
		w.t.Fatalf("a decoded state encodes differently")
	}
	return a
}

func (w *world) last() fold.Batch {
	if len(w.batches) == 0 {
		return fold.Batch{}
	}
	return w.batches[len(w.batches)-1]
}

// ops returns the operations of the last n records, one JSON each.
func (w *world) ops(n int) []string {
	var list []string
	for _, b := range w.batches[len(w.batches)-n:] {
		for i := range b.Ops {
			list = append(list, string(b.Ops[i].AppendJSON(nil)))
		}
	}
	return list
}

// kinds returns the kinds of the last record's operations.
func (w *world) kinds() string {
	var list []string
	for _, op := range w.last().Ops {
		list = append(list, string(op.Kind))
	}
	return strings.Join(list, " ")
}

// at returns what stands at a path of the snapshot, as compact JSON; "" when
// there is nothing. A path is names and indices joined by dots; entities are
// found by id: tasks.bash-1.state.
func (w *world) at(path string) string {
	w.t.Helper()
	return lookup(w.t, snapJSON(w.live.Snapshot(-1)), path)
}

// want checks paths: path, value, path, value, …
func (w *world) want(pairs ...string) *world {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := w.at(pairs[i]); got != pairs[i+1] {
			w.t.Errorf("%s = %s, want %s", pairs[i], or(got, "nothing"), or(pairs[i+1], "nothing"))
		}
	}
	return w
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func lookup(t tester, doc, path string) string {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("bad JSON: %v in %s", err, doc)
	}
	for part := range strings.SplitSeq(path, "/") {
		v = member(v, part)
	}
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func member(v any, part string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[part]
	case []any:
		if i, err := strconv.Atoi(part); err == nil {
			if i < 0 {
				i += len(v)
			}
			if i < len(v) && i >= 0 {
				return v[i]
			}
			return nil
		}
		if part == "#" {
			return json.Number(strconv.Itoa(len(v)))
		}
		for _, one := range v {
			m, _ := one.(map[string]any)
			for key, value := range m {
				if value == part && (strings.HasSuffix(key, "Id") || key == "marker") {
					return one
				}
			}
		}
	}
	return nil
}

func snapJSON(s *reducer.Snapshot) string { return string(s.AppendJSON(nil)) }

func opsJSON(ops []reducer.Op) string { return string(reducer.AppendOps(nil, ops)) }

// stamp is the RFC 3339 time at which record n was stored.
func stamp(n int) string {
	return time.UnixMilli(epoch + int64(n)*1000).UTC().Format("2006-01-02T15:04:05.000Z")
}

func quoted(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return string(out)
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// sorted returns JSON as lookup does: compact, with sorted keys.
func sorted(doc string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return quoted(v)
}

func record(n uint64, line string) fold.Record {
	return fold.Record{Seq: n, StreamSeq: n, StoredAt: epoch + int64(n)*1000, Data: []byte(line)}
}

func lostRecord(from, to uint64) fold.Record {
	return fold.Record{Kind: fold.Lost, Seq: from, SeqTo: to, StreamSeq: to, StoredAt: epoch}
}

func isError(err, target error) bool { return errors.Is(err, target) }
