package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is where the programs are.
var bin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "steno-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, name := range []string{"steno", "recorder", "projector", "gateway"} {
		args = append(args, "github.com/stenohq/steno/cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the programs:", err)
		return 1
	}
	return m.Run()
}

const corpus = "../../../shared/corpus/claude-code"

// corpusPath skips a test where the corpus is not beside the project.
func corpusPath(t *testing.T, names ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{corpus}, names...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no corpus beside the project: " + err.Error())
	}
	return path
}
