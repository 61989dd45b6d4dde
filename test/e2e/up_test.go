package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestUp(t *testing.T) {
	data := t.TempDir()
	up := start(t, "steno", "up", "--data", data, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
	begun := time.Now()
	t.Logf("ready after %v", up.shows("data="+data+"\n").Sub(begun).Round(time.Millisecond))
	if out := up.output(); strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "ready gateway=http://127.0.0.1:") || !strings.Contains(out, " nats=nats://127.0.0.1:") {
		t.Errorf("the ready line is %q", out)
	}

	t.Run("one directory, one process", func(t *testing.T) {
		code, out, errs := call(t, "", "steno", "up", "--data", data, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
		if code != 1 || out != "" || !strings.Contains(errs, "is in use by process") || strings.Count(errs, "\n") != 1 {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errs)
		}
	})
	t.Run("one address, one process", func(t *testing.T) {
		address := strings.TrimPrefix(strings.Fields(up.output())[1], "gateway=http://")
		code, _, errs := call(t, "", "steno", "up", "--data", t.TempDir(), "--listen", address, "--nats-listen", "none")
		if code != 1 || !strings.Contains(errs, "address already in use") || !strings.Contains(errs, "--listen") {
			t.Errorf("exit code %d, stderr %q", code, errs)
		}
	})
	t.Run("one NATS address, one process", func(t *testing.T) {
		address := strings.TrimPrefix(strings.Fields(up.output())[2], "nats=nats://")
		code, _, errs := call(t, "", "steno", "up", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--nats-listen", address)
		if code != 1 || !strings.Contains(errs, address+" is in use") || !strings.Contains(errs, "--nats-listen") || strings.Count(errs, "\n") != 1 {
			t.Errorf("exit code %d, stderr %q", code, errs)
		}
	})
	t.Run("an outside server", func(t *testing.T) {
		server := strings.TrimPrefix(strings.Fields(up.output())[2], "nats=")
		second := start(t, "steno", "up", "--data", t.TempDir(), "--nats-url", server, "--roles", "gateway", "--listen", "127.0.0.1:0")
		second.shows("nats=" + server)
		if code := second.stop(); code != 0 {
			t.Errorf("exit code %d: %s", code, second.errors())
		}
	})
	t.Run("wrong usage", func(t *testing.T) {
		for _, c := range []struct{ args, want string }{
			{"--durability maybe", "want power or process"},
			{"--roles recorder,cook", `role "cook"`},
			{"--listen 0.0.0.0:0", "--insecure"},
			{"--listen nowhere", "want host:port"},
			{"--log-level loud", "log level"},
			{"extra", "unknown command"},
		} {
			code, _, errs := call(t, "", "steno", append([]string{"up", "--data", t.TempDir(), "--nats-listen", "none"}, strings.Fields(c.args)...)...)
			if code == 0 || !strings.Contains(errs, c.want) {
				t.Errorf("%s: exit code %d, stderr %q", c.args, code, errs)
			}
		}
	})
	if code := up.stop(); code != 0 || up.errors() != "" {
		t.Errorf("exit code %d, stderr %q", code, up.errors())
	}
	again := start(t, "steno", "up", "--data", data, "--listen", "127.0.0.1:0", "--nats-listen", "none", "--durability", "process")
	again.shows(" nats=none data=")
	_ = again.cmd.Process.Signal(os.Interrupt) // a stop, then at once
	_ = again.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-again.done:
	case <-time.After(patience):
		t.Fatal("two signals do not end it")
	}
}

// TestFollow: a file that is cut, replaced, deleted or new is noticed, and
// nothing of it comes twice.
func TestFollow(t *testing.T) {
	s := startUp(t, "recorder,projector,gateway")
	dir := t.TempDir()
	first := newGrowing(t, "first")
	path := filepath.Join(dir, "first.jsonl")
	follow := start(t, "steno", "follow", "--nats-url", s.natsURL(), dir, filepath.Join(dir, "later.jsonl"))
	follow.shows("later.jsonl: waiting for its first record")

	rename := func(g *growing, to string) {
		t.Helper()
		if err := os.Rename(g.path, to); err != nil {
			t.Fatal(err)
		}
	}
	one := first.write()
	rename(first, path)
	follow.shows("first.jsonl: following as session first")
	screen := start(t, "steno", "tail", "--gateway", s.gatewayURL(), "--since-seq", "0", "first")
	screen.shows(one)
	two := first.write()
	screen.shows(two)

	// Deleted, and back with the same beginning: what was known is not added.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	follow.shows("first.jsonl: deleted")
	back := newGrowing(t, "first")
	back.write()
	back.write()
	three := back.write()
	rename(back, path)
	follow.shows("first.jsonl: replaced")
	screen.shows(three)

	// Rewritten before the point that is known: told, not merged.
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(readFile(t, path), `"u3"`, `"other"`)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	follow.shows("first.jsonl: cut")

	// A file that did not exist, and one that appears below a directory.
	for _, name := range []string{"later", "third"} {
		g := newGrowing(t, name)
		token := g.write()
		rename(g, filepath.Join(dir, name+".jsonl"))
		follow.shows(name + ".jsonl: following as session " + name)
		tail := start(t, "steno", "tail", "--gateway", s.gatewayURL(), "--since-seq", "0", name)
		tail.shows(token)
	}
	for _, token := range []string{one, two, three} {
		if n := strings.Count(screen.output(), token); n != 1 {
			t.Errorf("%s is on the screen %d times", token, n)
		}
	}
	if n := len(s.messages("first", "main")); n != 8 {
		t.Errorf("%d messages are stored", n)
	}
	if code := follow.stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, follow.errors())
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
