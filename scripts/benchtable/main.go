// Command benchtable sets the output of `go test -bench` (on stdin) beside the
// targets of a TSV file: benchmark, unit, "min" or "max", target, what it means.
// It quotes the median of the runs of each benchmark and always exits 0 when it
// could read both: a benchmark informs, it does not fail a build.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: go test -bench . ./... | benchtable TARGETS.tsv")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	targets, err := parseTargets(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	results, err := parseResults(io.TeeReader(in, out))
	if err != nil {
		return err
	}
	return table(out, targets, results)
}

// target is one row: the benchmark's figure must be at least (min) or at most
// (max) bound.
type target struct {
	bench, unit string
	atLeast     bool
	bound       float64
	meaning     string
}

func parseTargets(text string) ([]target, error) {
	var all []target
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 5 || f[2] != "min" && f[2] != "max" {
			return nil, fmt.Errorf("line %d: want benchmark, unit, min or max, target, meaning, with tabs between", i+1)
		}
		bound, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: target: %w", i+1, err)
		}
		all = append(all, target{f[0], f[1], f[2] == "min", bound, f[4]})
	}
	return all, nil
}

// key names one figure: a benchmark's name without the processor count, and
// the unit.
type key struct{ bench, unit string }

func parseResults(in io.Reader) (map[key][]float64, error) {
	results := make(map[key][]float64)
	procs := regexp.MustCompile(`-\d+$`)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := procs.ReplaceAllString(f[0], "")
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				break
			}
			k := key{name, f[i+1]}
			results[k] = append(results[k], v)
		}
	}
	return results, lines.Err()
}

func table(out io.Writer, targets []target, results map[key][]float64) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nwhat\tmedian\ttarget\t\truns\tbenchmark")
	for _, t := range targets {
		runs := results[key{t.bench, t.unit}]
		sign := "≤"
		if t.atLeast {
			sign = "≥"
		}
		goal := fmt.Sprintf("%s %s %s", sign, number(t.bound), t.unit)
		if len(runs) == 0 {
			fmt.Fprintf(w, "%s\t—\t%s\tnot run\t0\t%s\n", t.meaning, goal, t.bench)
			continue
		}
		m := median(runs)
		verdict := "met"
		if t.atLeast && m < t.bound || !t.atLeast && m > t.bound {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", t.meaning, number(m), goal, verdict, len(runs), t.bench)
	}
	return w.Flush()
}

func median(runs []float64) float64 {
	slices.Sort(runs)
	return runs[len(runs)/2]
}

func number(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + " M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + " k"
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}
