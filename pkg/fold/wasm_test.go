//go:build !js

package fold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestWasm runs the golden logs in the js/wasm build under Node: they give the
// same bytes there.
func TestWasm(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the core for another platform; not in short mode")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed: the core under js/wasm is not tested")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH: the core under js/wasm is not tested")
	}
	out, err := exec.CommandContext(t.Context(), goTool, "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	runner := filepath.Join(strings.TrimSpace(string(out)), "lib", "wasm", "go_js_wasm_exec")
	if _, err := os.Stat(runner); err != nil {
		t.Skipf("this Go installation has no runner for js/wasm: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), goTool, "test", "-count=1", "-run", "^TestGolden$", "-exec", runner, ".")
	cmd.Env = append(envWithout("GOOS", "GOARCH", "GOFLAGS"), "GOOS=js", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok") {
		t.Fatalf("go %s under %s: %v\n%s", strings.Join(cmd.Args[1:], " "), runtime.Version(), err, out)
	}
}

// envWithout is a small environment: the runner passes all of it on, and Node
// refuses one that is too large.
func envWithout(names ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		keep := name == "PATH" || name == "HOME" || name == "TMPDIR" || strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "XDG")
		for _, not := range names {
			keep = keep && name != not
		}
		if keep {
			env = append(env, kv)
		}
	}
	return env
}
