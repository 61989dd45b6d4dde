package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readme returns the fenced blocks of a language in the README.
func readme(t *testing.T, language string) []string {
	t.Helper()
	text := readFile(t, filepath.Join("..", "..", "README.md"))
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)\n```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// The README's Go program compiles as it stands, runs, and its session shows.
func TestReadmeGo(t *testing.T) {
	blocks := readme(t, "go")
	if len(blocks) != 1 {
		t.Fatalf("%d Go snippets, want 1", len(blocks))
	}
	s := startUp(t, "recorder,projector,gateway")
	const address = `"nats://127.0.0.1:4222"`
	if !strings.Contains(blocks[0], address) {
		t.Fatalf("the snippet does not connect to %s", address)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "hello")
	if err := os.WriteFile(file, []byte(strings.Replace(blocks[0], address, `"`+s.natsURL()+`"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, out, errs := call(t, "", "steno", "show", "--gateway", s.gatewayURL(), "my-go-session")
	if code != 0 || !strings.Contains(out, "> Say hello\n  Hello.\n■ t0 completed") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
}

// The README's events publish as they stand, and every command it names knows
// the flags it is given there.
func TestReadmeCommands(t *testing.T) {
	s := startUp(t, "recorder,projector,gateway")
	shell := strings.Join(readme(t, "sh"), "\n")
	m := regexp.MustCompile(`(?s)bin/steno publish my-session <<'EOF'\n(.*?)EOF\n`).FindStringSubmatch(shell)
	if m == nil {
		t.Fatal("no events to publish")
	}
	if code, out, errs := call(t, m[1], "steno", "publish", "--nats-url", s.natsURL(), "my-session"); code != 0 || out != "3 events stored\n" {
		t.Errorf("publish: exit code %d, %q, %s", code, out, errs)
	}
	commands := regexp.MustCompile(`(?m)^bin/steno ([a-z]+)([^#<\n]*)`).FindAllStringSubmatch(shell, -1)
	if len(commands) < 8 {
		t.Fatalf("only %d commands found", len(commands))
	}
	for _, c := range commands {
		args := append(append([]string{c[1]}, strings.Fields(c[2])...), "--help")
		if code, _, errs := call(t, "", "steno", args...); code != 0 {
			t.Errorf("%s: exit code %d: %s", c[0], code, errs)
		}
	}
}
