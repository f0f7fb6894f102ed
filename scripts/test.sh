#!/usr/bin/env bash
# The whole test run: release (g++-12), ASan+UBSan (g++-12), TSan (clang-22, concurrent parts). Called by ./run test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=$1
shift

step() { printf '\n=== %s\n' "$*"; }

build() { # preset compiler [targets...]
  local preset=$1 compiler=$2
  shift 2
  if [ ! -e "build/$preset/build.ninja" ]; then
    cmake --preset "$preset" -DCMAKE_CXX_COMPILER="$compiler" -DAQL_WERROR=ON >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; exit 1; }
    rm -f "build-$preset.log"
  fi
  cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"}
}

step "release: g++-12"
build release g++-12
ctest --test-dir build/release -j "$jobs" --output-on-failure --no-tests=error "$@"

step "ASan and UBSan: g++-12"
build dev g++-12
ctest --test-dir build/dev -j "$jobs" --output-on-failure --no-tests=error -LE 'consumer|long' "$@"

step "TSan: clang-22, the concurrent parts"
clang=$(command -v clang++-22)
build tsan "$clang" tsan_tests
TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" ctest --test-dir build/tsan -j "$jobs" --output-on-failure --no-tests=error -L concurrent "$@"
