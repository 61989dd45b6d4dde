package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/stenohq/steno"

// banned names what the core must not import, directly or through others of
// its own packages, and why.
func banned() map[string]string {
	return map[string]string{
		"context":                    "nothing in the core waits, so there is nothing to cancel",
		"database/sql":               "the core has no I/O",
		"encoding/gob":               "its output depends on map order and on registration",
		"expvar":                     "it is process-wide state",
		"flag":                       "configuration belongs to the programs",
		"io/fs":                      "the core has no I/O",
		"io/ioutil":                  "the core has no I/O",
		"log":                        "the core reports by its results",
		"log/slog":                   "the core reports by its results",
		"math/rand":                  "the same log must give the same bytes",
		"math/rand/v2":               "the same log must give the same bytes",
		"crypto/rand":                "the same log must give the same bytes",
		"net":                        "the core has no I/O",
		"net/http":                   "the core has no I/O",
		"os":                         "the core has no I/O",
		"os/exec":                    "the core has no I/O",
		"os/signal":                  "the core has no I/O",
		"path/filepath":              "it differs between operating systems",
		"plugin":                     "the core is closed",
		"reflect":                    "the core's codecs are written out, so that their bytes cannot drift",
		"runtime":                    "results must not depend on the machine",
		"runtime/debug":              "results must not depend on the machine",
		"sync":                       "the core has no goroutine to guard against",
		"sync/atomic":                "the core has no goroutine to guard against",
		"syscall":                    "the core has no I/O",
		"syscall/js":                 "the core runs everywhere, not only in a browser",
		"testing":                    "tests stay out of programs",
		"html/template":              "the core makes no markup",
		"text/template":              "it works by reflection",
		"github.com/nats-io/nats.go": "the core does not know what carries its events",
	}
}

// allowed are the modules beside the standard library that the core may use.
func allowed() []string { return []string{"github.com/go-json-experiment/json/jsontext"} }

// TestCoreIsPure lists what the core imports when it is built for a browser.
func TestCoreIsPure(t *testing.T) {
	core := corePackages(t)
	if len(core) < 5 {
		t.Fatalf("only %d core packages: %v", len(core), core)
	}
	args := append([]string{"list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}"}, core...)
	for line := range strings.Lines(goWasm(t, args...)) {
		fields := strings.Fields(line)
		for _, imported := range fields[1:] {
			why, bad := banned()[imported]
			switch {
			case bad:
				t.Errorf("%s imports %s: %s", fields[0], imported, why)
			case strings.HasPrefix(imported, module+"/internal/"), strings.HasPrefix(imported, module+"/cmd/"), imported == module+"/pkg/agent":
				t.Errorf("%s imports %s, which is not of the core", fields[0], imported)
			case strings.HasPrefix(imported, module+"/"), !strings.Contains(strings.Split(imported, "/")[0], "."):
			default:
				ok := false
				for _, a := range allowed() {
					ok = ok || imported == a || strings.HasPrefix(imported, a+"/")
				}
				if !ok {
					t.Errorf("%s imports %s; the core uses the standard library and %v", fields[0], imported, allowed())
				}
			}
		}
	}
}

// TestCoreBuildsForTheBrowser compiles it.
func TestCoreBuildsForTheBrowser(t *testing.T) {
	goWasm(t, append([]string{"build"}, corePackages(t)...)...)
}

// TestCoreHasNoClock looks for what imports do not show: package time may
// parse and format, but not tell or wait; nothing runs beside the caller.
func TestCoreHasNoClock(t *testing.T) {
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Local", "LoadLocation"}
	for _, name := range coreFiles(t) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine", fset.Position(n.Pos()))
			case *ast.SelectStmt:
				t.Errorf("%s: a select", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && x.Obj == nil && slices.Contains(clocks, n.Sel.Name) {
					t.Errorf("%s: time.%s", fset.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s: init", fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func corePackages(t *testing.T) []string {
	var core []string
	for p := range strings.FieldsSeq(goWasm(t, "list", module+"/pkg/...")) {
		if p != module+"/pkg/agent" && !strings.HasPrefix(p, module+"/pkg/agent/") && !testOnly(p) {
			core = append(core, p)
		}
	}
	return core
}

// testOnly reports packages that hold nothing but tests or are made for tests.
func testOnly(p string) bool {
	return p == module+"/pkg" || p == module+"/pkg/conformance" || p == module+"/pkg/internal/pubmodel" || strings.HasSuffix(p, "test")
}

func coreFiles(t *testing.T) []string {
	var files []string
	args := append([]string{"list", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`}, corePackages(t)...)
	for f := range strings.FieldsSeq(goWasm(t, args...)) {
		files = append(files, filepath.FromSlash(f))
	}
	return files
}

func goWasm(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
