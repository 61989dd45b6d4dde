package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	targets := filepath.Join(t.TempDir(), "t.tsv")
	rows := "# comment\n" +
		"BenchmarkA\tns/op\tmax\t500\tdecode\n" +
		"BenchmarkB/x=1\tevents/s\tmin\t1000000\tfold\n" +
		"BenchmarkC\tns/op\tmax\t1\tabsent\n"
	if err := os.WriteFile(targets, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	in := `goos: linux
BenchmarkA-2   100   400 ns/op   0 B/op
BenchmarkA-2   100   480 ns/op   0 B/op
BenchmarkA-2   100   9000 ns/op   0 B/op
BenchmarkB/x=1-2   100   9 ns/op   900000 events/s
PASS
`
	var out strings.Builder
	if err := run([]string{targets}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"480", "met", "900 k", "≥ 1 M events/s", "MISSED", "not run"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestTargetsAreChecked(t *testing.T) {
	for _, bad := range []string{"BenchmarkA\tns/op\tmost\t1\tx", "BenchmarkA\tns/op\tmax\tone\tx", "BenchmarkA"} {
		if _, err := parseTargets(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

// TestTargetsExist keeps the committed file readable.
func TestTargetsExist(t *testing.T) {
	text, err := os.ReadFile("../targets.tsv")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := parseTargets(string(text))
	if err != nil || len(targets) == 0 {
		t.Fatalf("%d targets, %v", len(targets), err)
	}
}
