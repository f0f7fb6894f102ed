#!/usr/bin/env bash
# usage: test.sh JOBS release|sanitizers [CTEST-ARGS]. Called by ./run test and ./run sanitize.
# release: everything, g++-12. sanitizers: ASan+UBSan (g++-12) on everything but the consumers, TSan (clang-22) on the concurrent parts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=$1
shift

step() { printf '\n=== %s\n' "$*"; }

build() { # preset compiler [targets...]
  local preset=$1 compiler=$2
  shift 2
  if [ ! -e "build/$preset/build.ninja" ]; then
    cmake --preset "$preset" -DCMAKE_CXX_COMPILER="$compiler" ${CI:+-DAQL_WERROR=ON} >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; exit 1; }
    rm -f "build-$preset.log"
  fi
  cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"}
}

what=$1
shift

if [ "$what" = release ]; then
  step "release: g++-12"
  build release g++-12
  ctest --test-dir build/release -j "$jobs" --output-on-failure --no-tests=error "$@"
  exit
fi

step "ASan and UBSan: g++-12"
build dev g++-12
ctest --test-dir build/dev -j "$jobs" --output-on-failure --no-tests=error -LE 'consumer|long' "$@"

step "TSan: clang-22, the concurrent parts"
clang=$(command -v clang++-22)
build tsan "$clang" tsan_tests test_kernels
TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" ctest --test-dir build/tsan -j "$jobs" --output-on-failure --no-tests=error -L concurrent "$@"
