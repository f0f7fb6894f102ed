// The one translation unit that compiles Catch2's runner.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "support/skip.hpp"

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  if (failed == 0 && aql::test::skipped_cases.load() != 0) return 77;
  return failed;
}
