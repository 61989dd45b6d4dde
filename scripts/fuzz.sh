#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time, one after another,
# and sums up how many inputs were executed.
set -euo pipefail
fuzztime=${1:-20s}
total=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  echo "== $package $target"
  # Minimizing each new input for a minute, the default, leaves no time to fuzz.
  log=$(go test "$package" -run '^$' -fuzz "^${target}\$" -fuzztime "$fuzztime" -fuzzminimizetime 10x | tee >(cat >&2))
  execs=$(grep -oE 'execs: [0-9]+' <<<"$log" | tail -n 1 | grep -oE '[0-9]+' || echo 0)
  total=$((total + execs))
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's/func //; s|^\./||' | sort)
echo "fuzz: $total executions"
