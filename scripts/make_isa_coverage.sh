#!/usr/bin/env bash
# Writes docs/isa_coverage.md: runs the instruction tests of build/release (build them first) and puts the page they imply in place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/${1:-release}
rm -f "$build/isa_coverage.md"
ctest --test-dir "$build" -R '^isa_coverage:' --output-on-failure || true # fails where the page was not up to date
[ -e "$build/isa_coverage.md" ] || { echo "no page: an instruction test failed (see above), so its records are not complete" >&2; exit 1; }
cp "$build/isa_coverage.md" docs/isa_coverage.md
git --no-pager diff --stat -- docs/isa_coverage.md
