// Package conformance checks that every line of the conformance list of the
// transcript is a test, or is said not to be ours, and why.
//
// A test covers a line when it is named after it: a function TestP5, a case or
// subtest whose name begins with the id ("P5a two chunks"), or a function whose
// comment begins with the ids it covers ("// P37, L40: …"). P5 covers P5a and
// P5b.
package conformance

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/transcript.txt from the specification")

const (
	root      = "../.."
	specFile  = "../../../shared/spec/conformance-transcript.md"
	committed = "testdata/transcript.txt"
)

// TestTranscript fails for each line that is neither tested nor declared.
func TestTranscript(t *testing.T) {
	ids := specIDs(t)
	covered := coveredIDs(t)
	tested, elsewhere := 0, 0
	for _, id := range ids {
		at, ok := covered[id]
		if !ok {
			at, ok = covered[strings.TrimRight(id, "abcdefgh")]
		}
		reason := declared(id)
		switch {
		case ok && reason != "":
			t.Logf("%s is declared and tested at %s: the declaration can go", id, at)
			tested++
		case ok:
			tested++
		case reason != "":
			elsewhere++
		default:
			t.Errorf("%s is neither tested nor declared", id)
		}
	}
	t.Logf("%d lines: %d tested, %d declared", len(ids), tested, elsewhere)
}

// TestDeclarations: nothing is declared that is no line.
func TestDeclarations(t *testing.T) {
	ids := specIDs(t)
	for _, d := range declarations() {
		for id := range strings.FieldsSeq(d.ids) {
			if !slices.Contains(ids, id) {
				t.Errorf("%s is declared and is no line of the list", id)
			}
		}
		if d.reason == "" {
			t.Errorf("%s: no reason", d.ids)
		}
	}
}

func declared(id string) string {
	for _, d := range declarations() {
		if slices.Contains(strings.Fields(d.ids), id) {
			return d.reason
		}
	}
	return ""
}

// specIDs reads the ids from the specification when it is there, and compares
// it with the committed list, which is used when it is not.
func specIDs(t *testing.T) []string {
	data, err := os.ReadFile(specFile)
	var fromSpec []string
	if err == nil {
		body, _, _ := strings.Cut(string(data), "\n## 8.")
		line := regexp.MustCompile(`(?m)^- ([A-Z][0-9]+[a-z]?) `)
		for _, m := range line.FindAllStringSubmatch(body, -1) {
			fromSpec = append(fromSpec, m[1])
		}
	}
	if *update && fromSpec != nil {
		if err := os.WriteFile(committed, []byte(strings.Join(fromSpec, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Fields(string(list))
	if fromSpec != nil && !slices.Equal(ids, fromSpec) {
		t.Errorf("%s differs from the specification: run go test ./pkg/conformance -update", committed)
	}
	return ids
}

// coveredIDs collects the ids that tests are named after, with a place each.
func coveredIDs(t *testing.T) map[string]string {
	covered := map[string]string{}
	for _, dir := range []string{"pkg", "internal"} {
		walkTests(t, filepath.Join(root, dir), covered)
	}
	return covered
}

func walkTests(t *testing.T, dir string, covered map[string]string) {
	fset := token.NewFileSet()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "conformance") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "/resume/") || strings.Contains(filepath.ToSlash(path), "/memory/") {
			return nil // resume and memory have a list of their own
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		collect(fset, file, covered)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	idList   = regexp.MustCompile(`^(?:[A-Z][0-9]+[a-z]?(?:–[A-Z]?[0-9]+)?(?:, | and | |: |:|\.|$))+`)
	idInside = regexp.MustCompile(`[A-Z][0-9]+[a-z]?`)
	literal  = regexp.MustCompile(`^([A-Z][0-9]+[a-z]?)(?: |$|:)`)
	function = regexp.MustCompile(`^Test([A-Z][0-9]+[a-z]?)(?:[A-Z_].*)?$`)
)

func collect(fset *token.FileSet, file *ast.File, covered map[string]string) {
	note := func(id string, pos token.Pos) {
		if covered[id] == "" {
			p := fset.Position(pos)
			covered[id] = filepath.ToSlash(p.Filename) + ":" + strconv.Itoa(p.Line)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if !strings.HasPrefix(n.Name.Name, "Test") {
				return true
			}
			if m := function.FindStringSubmatch(n.Name.Name); m != nil {
				note(m[1], n.Pos())
			}
			for _, id := range idInside.FindAllString(idList.FindString(n.Doc.Text()), -1) {
				note(id, n.Pos())
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(n.Value); err == nil {
				if m := literal.FindStringSubmatch(s); m != nil {
					note(m[1], n.Pos())
				}
			}
		}
		return true
	})
}
