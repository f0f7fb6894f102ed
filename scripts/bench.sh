#!/usr/bin/env bash
# Runs every benchmark (or those whose name holds FILTER). Ratios are printed beside each rival; absolute times are this machine's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
filter=${1:-}
for program in build/release/bin/bench_*; do
  [[ -x $program && $(basename "$program") == *"$filter"* ]] || continue
  printf '\n=== %s\n' "$(basename "$program")"
  "$program"
done
