package wirelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/pkg/events"
)

func openDir(tb testing.TB, dir string, opts wirelog.Options) *wirelog.Dir {
	tb.Helper()
	d, err := wirelog.OpenDir(dir, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

func openAgent(tb testing.TB, d *wirelog.Dir, s events.SessionID, a events.AgentID) *wirelog.Agent {
	tb.Helper()
	ag, _, err := d.Open(tb.Context(), wirelog.OpenRequest{Session: s, Agent: a, Epoch: epoch, Stream: stream})
	if err != nil {
		tb.Fatal(err)
	}
	return ag
}

func message(i int) wirelog.Message {
	return wirelog.Message{
		StreamSeq: uint64(i), StoredAt: 1700000000000 + int64(i),
		Data: fmt.Appendf(nil, `{"event_type":"assistant.delta","event_id":"e-%d","run_id":"0190f7a0-0000-7000-8000-000000000000","n":%d,"step":3,"payload":{"delta":"some words of a model %d"}}`, i, i, i),
	}
}

func add(tb testing.TB, ag *wirelog.Agent, msgs ...wirelog.Message) {
	tb.Helper()
	for _, m := range msgs {
		if _, err := ag.Add(m); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestPermissionsAndLock(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "data")
	d := openDir(t, root, wirelog.Options{})
	ag := openAgent(t, d, session, main0)
	add(t, ag, message(1))
	if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wirelog.OpenDir(root, wirelog.Options{}); !errors.Is(err, wirelog.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
}

func TestIdentityStays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := wirelog.OpenDir(root, wirelog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := d.ID()
	if err := d.Close(); err != nil || id == "" {
		t.Fatal(id, err)
	}
	if again := openDir(t, root, wirelog.Options{}).ID(); again != id {
		t.Errorf("%s became %s", id, again)
	}
}

func TestRefusesBadIDs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := openDir(t, root, wirelog.Options{})
	r := wirelog.NewReader(root)
	for _, id := range []string{"", ".", "..", "../../etc", "a/b", "a\\b", "x*", "a\x00", strings.Repeat("a", 129), "ä"} {
		if _, _, err := d.Open(t.Context(), wirelog.OpenRequest{Session: events.SessionID(id), Agent: main0}); !errors.Is(err, events.ErrID) {
			t.Errorf("session %q: %v", id, err)
		}
		if _, _, err := d.Open(t.Context(), wirelog.OpenRequest{Session: session, Agent: events.AgentID(id)}); !errors.Is(err, events.ErrID) {
			t.Errorf("agent %q: %v", id, err)
		}
		for _, err := range r.Read(t.Context(), session, events.AgentID(id), 0) {
			if !errors.Is(err, events.ErrID) {
				t.Errorf("read agent %q: %v", id, err)
			}
		}
		if _, err := r.Agents(t.Context(), events.SessionID(id)); !errors.Is(err, events.ErrID) {
			t.Errorf("agents of %q: %v", id, err)
		}
	}
	ag := openAgent(t, d, "a.b", "...")
	add(t, ag, message(1))
	if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Error(err)
	}
}

// On a file system that does not tell upper from lower case two agents may
// meet in one directory; here a link plays that part.
func TestRefusesAnotherAgentsFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := openDir(t, root, wirelog.Options{})
	ag := openAgent(t, d, session, "Main")
	add(t, ag, message(1))
	if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(root, "sessions", string(session), "agents")
	if err := os.Symlink("Main", filepath.Join(agents, "main")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	_, _, err := d.Open(t.Context(), wirelog.OpenRequest{Session: session, Agent: "main", Epoch: epoch, Stream: stream})
	if !errors.Is(err, wirelog.ErrForeign) {
		t.Errorf("got %v", err)
	}
}

// A link that leads out of the data directory is not followed.
func TestStaysInside(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "sessions")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	d := openDir(t, root, wirelog.Options{})
	if _, _, err := d.Open(t.Context(), wirelog.OpenRequest{Session: session, Agent: main0, Epoch: epoch, Stream: stream}); err == nil {
		t.Error("opened outside of the data directory")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// Many goroutines commit their own agents; every line is there, and few files
// are open at a time.
func TestConcurrentCommits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := openDir(t, root, wirelog.Options{MaxOpen: 3, PartSize: 20_000})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			id := events.AgentID(fmt.Sprintf("a%d", w))
			ag := openAgent(t, d, session, id)
			for i := range 200 {
				if _, err := ag.Add(message(i + 1)); err != nil {
					t.Error(err)
				}
				if i%7 == w%7 {
					if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
						t.Error(err)
					}
				}
			}
			if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := wirelog.NewReader(root)
	agents, err := r.Agents(t.Context(), session)
	if err != nil || len(agents) != 8 {
		t.Fatal(agents, err)
	}
	for _, a := range agents {
		checkRead(t, r, a, 0, 200)
		checkRead(t, r, a, 150, 200)
		checkRead(t, r, a, 200, 200)
		for f, err := range r.Verify(t.Context(), session, a) {
			t.Error(f, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "sessions/s-1/agents/a0/wire.0002.jsonl")); err != nil {
		t.Errorf("no second part: %v", err)
	}
}

func checkRead(t *testing.T, r *wirelog.Reader, a events.AgentID, after, last int) {
	t.Helper()
	next := after + 1
	for line, err := range r.Read(t.Context(), session, a, uint64(after)) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Seq != uint64(next) || !bytes.Equal(line.Data, message(next).Data) {
			t.Fatalf("agent %s: line %d is %s", a, next, line.Data)
		}
		next++
	}
	if next != last+1 {
		t.Fatalf("agent %s after %d: read up to %d, want %d", a, after, next-1, last)
	}
}

// A finished part may be compressed; both forms may stand side by side.
func TestReadsCompressedParts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := openDir(t, root, wirelog.Options{PartSize: 2000})
	ag := openAgent(t, d, session, main0)
	for i := range 40 {
		add(t, ag, message(i+1))
		if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "sessions/s-1/agents/main")
	parts, err := filepath.Glob(filepath.Join(dir, "wire.0*.jsonl"))
	if err != nil || len(parts) < 3 {
		t.Fatal(parts, err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part+".zst", enc.EncodeAll(text, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if i != 1 {
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := wirelog.NewReader(root)
	checkRead(t, r, main0, 0, 40)
	checkRead(t, r, main0, 23, 40)
	for f, err := range r.Verify(t.Context(), session, main0) {
		t.Error(f, err)
	}
	if ag, _, err := d.Open(t.Context(), wirelog.OpenRequest{Session: session, Agent: main0, Epoch: epoch, Stream: stream}); err != nil || ag.Seq() != 40 {
		t.Errorf("opened behind compressed parts: %v", err)
	}
}

// Reading from far inside a big file begins near it, and finds the same.
func TestReadFromTheMiddle(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := openDir(t, root, wirelog.Options{})
	ag := openAgent(t, d, session, main0)
	const n = 20_000
	for i := range n {
		add(t, ag, message(i+1))
	}
	if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	r := wirelog.NewReader(root)
	for _, after := range []int{0, 1, 9_999, 15_000, n - 1, n, n + 5} {
		if after <= n {
			checkRead(t, r, main0, after, n)
			continue
		}
		for line, err := range r.Read(t.Context(), session, main0, uint64(after)) {
			t.Errorf("line %d, %v", line.Seq, err)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := wirelog.NewReader(filepath.Join(root, "none"))
	for _, err := range r.Read(t.Context(), session, main0, 0) {
		if !errors.Is(err, archive.ErrNotFound) {
			t.Error(err)
		}
	}
	if ids, err := r.Sessions(t.Context()); len(ids) > 0 || err != nil {
		t.Error(ids, err)
	}
	if _, err := r.Agents(t.Context(), session); !errors.Is(err, archive.ErrNotFound) {
		t.Error(err)
	}
	d := openDir(t, root, wirelog.Options{})
	ag := openAgent(t, d, session, main0)
	add(t, ag, message(1), message(2), message(3))
	if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Fatal(err)
	}
	r = wirelog.NewReader(root)
	if ids, err := r.Sessions(t.Context()); len(ids) != 1 || ids[0] != session || err != nil {
		t.Error(ids, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range r.Read(ctx, session, main0, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	file := filepath.Join(root, mainFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, without(text, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range r.Read(t.Context(), session, main0, 0) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "wire.jsonl line 3: seq 3 follows 1") {
		t.Errorf("got %v", last)
	}
	if err := d.Commit(t.Context(), []*wirelog.Agent{ag}); err != nil {
		t.Errorf("nothing to commit: %v", err)
	}
	add(t, ag, message(4))
	// The file is still open here, so its size is not looked at again; a new
	// opening finds what was done to it.
	if _, _, err := d.Open(t.Context(), wirelog.OpenRequest{
		Session: session, Agent: main0, Epoch: epoch, Stream: stream, Anchor: new(ag.Mark()),
	}); err != nil {
		t.Error(err)
	}
}
