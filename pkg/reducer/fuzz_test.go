package reducer

import (
	"os"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func seedOps(f *testing.F) {
	data, err := os.ReadFile("testdata/ops.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f.Add([]byte("[" + line + "]"))
	}
	f.Add([]byte(`[{"op":"append","target":{"type":"task","taskId":"k"},"offset":0,"text":"\ud83d"},{"op":"append","target":{"type":"task","taskId":"k"},"offset":1,"text":"\ude00"}]`))
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Add([]byte(`[{"op":"meta.merge","meta":{"agent":{"contextTokens":1e308}}}]`))
}

// FuzzDecodeOps: what is accepted is written back and read again as the same
// bytes, applies without a panic, and leaves a state that round-trips.
func FuzzDecodeOps(f *testing.F) {
	seedOps(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, err := DecodeOps(data)
		if err != nil {
			return
		}
		text := AppendOps(nil, ops)
		again, err := DecodeOps(text)
		if err != nil {
			t.Fatalf("%v in what was written: %s", err, text)
		}
		if got := AppendOps(nil, again); string(got) != string(text) {
			t.Fatalf("%s\nbecame %s", text, got)
		}
		tr := NewTranscript("main")
		first := tr.Snapshot(-1)
		tr.Apply(ops)
		tr.Apply(ops)
		if got := snapshotJSON(first); got != snapshotJSON(&Snapshot{}) {
			t.Fatalf("an earlier snapshot became %s", got)
		}
		roundTrip(t, tr.Snapshot(-1))
		roundTrip(t, tr.Snapshot(1))
		roundTrip(t, tr.Snapshot(-1).Window(WindowOptions{Turns: 2, Steps: 2, Bytes: 1000}))
	})
}

// FuzzDecodeSnapshot: the same for snapshots.
func FuzzDecodeSnapshot(f *testing.F) {
	f.Add([]byte(`{"items":[]}`))
	f.Add([]byte(`{"items":[{"kind":"marker","markerId":"a","marker":"b"},{"kind":"turn","turnId":"a","ordinal":3,"state":"queued","origin":{"kind":"side"},"steps":[]}],"hasMoreOlder":true}`))
	data, err := os.ReadFile("testdata/ops.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	reset, _, _ := strings.Cut(string(data), "\n")
	_, snapshot, _ := strings.Cut(reset, `"snapshot":`)
	f.Add([]byte(strings.TrimSuffix(snapshot, "}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSnapshot(data)
		if err != nil {
			return
		}
		roundTrip(t, s)
		tr := NewTranscript("main")
		tr.Apply([]Op{{Kind: OpReset, Snapshot: s}})
		if got := snapshotJSON(tr.Snapshot(-1)); got != snapshotJSON(s) {
			t.Fatalf("%s\nbecame %s", snapshotJSON(s), got)
		}
		for _, q := range []PageQuery{{}, {Size: 1}, {Before: "t3"}, {After: "t1", MaxBytes: 100}, {Turn: "t2", BeforeStep: 2}} {
			p, err := Paginate(s, q)
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, p.Snapshot)
			tr.LoadOlder(p.Snapshot, p.HasMore)
			roundTrip(t, tr.Snapshot(-1))
		}
	})
}

func roundTrip(t *testing.T, s *Snapshot) {
	t.Helper()
	text := snapshotJSON(s)
	again, err := DecodeSnapshot([]byte(text))
	if err != nil {
		t.Fatalf("%v in what was written: %s", err, text)
	}
	if got := snapshotJSON(again); got != text {
		t.Fatalf("%s\nbecame %s", text, got)
	}
}

// FuzzGrow compares the append rules with UTF-16 arithmetic, for any bytes.
func FuzzGrow(f *testing.F) {
	f.Add("a\xED\xA0\xBD", 2, "\xED\xB8\x80b", "x")
	f.Add("abc", 1, "bcd", "\xFF")
	f.Add("😀😀", 1, "\xED\xB8\x80\xED\xA0\xBD", "\xED\xB8\x80")
	f.Fuzz(func(t *testing.T, local string, offset int, chunk, more string) {
		g := textOf(local)
		u := unitsOf(CanonicalText(local))
		for _, step := range []struct {
			at    int
			chunk string
		}{{offset, chunk}, {g.units, more}, {offset, more}} {
			c := unitsOf(CanonicalText(step.chunk))
			want := mismatch
			if step.at >= 0 && step.at <= len(u) {
				tail := u[step.at:]
				n := min(len(tail), len(c))
				switch {
				case string(utf16.Decode(tail[:n])) != string(utf16.Decode(c[:n])) || !equalUnits(tail[:n], c[:n]):
				case len(c) <= len(tail):
					want = unchanged
				default:
					want, u = changed, append(u, c[n:]...)
				}
			}
			if got := g.growAt(new(owner), step.at, step.chunk); got != want {
				t.Fatalf("%q at %d: outcome %d, want %d", step.chunk, step.at, got, want)
			}
			if g.units != len(u) || !equalUnits(unitsOf(g.String()), u) {
				t.Fatalf("%q: %d units, want %d", g.String(), g.units, len(u))
			}
			quoted := string(g.appendQuoted(nil))
			if !utf8.ValidString(quoted) || UTF16Len(quoted) < g.units+2 {
				t.Fatalf("quoted %q", quoted)
			}
		}
	})
}

func equalUnits(a, b []uint16) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func unitsOf(s string) []uint16 {
	var out []uint16
	u := unitReader{s: s}
	for c, ok := u.next(); ok; c, ok = u.next() {
		out = append(out, c)
	}
	return out
}
