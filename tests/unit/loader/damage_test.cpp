// Any damage: refused or read, never a crash. The same walk as the fuzzer's.

#include "support/catch.hpp"
#include "support/exercise_loader.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"
#include "unit/loader/sources.hpp"

using aql::test::Bytes;

TEST_CASE("damage: cut off at any byte the object is refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes file = aql::test::compile_code_object({.text = aql::test::kSeveralKernels, .options = "-O2"}).bytes();
  REQUIRE(aql::test::exercise_loader(file) != 0);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::vector<std::byte> cut(file.begin(),
                                     file.begin() + static_cast<std::ptrdiff_t>(size)); // own allocation: overruns are seen
    if (aql::test::exercise_loader(cut) != 0) FAIL("accepted with " << size << " of " << file.size() << " bytes");
  }
}

TEST_CASE("damage: any single byte may change") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes good = aql::test::compile_code_object({.text = aql::test::kSeveralKernels, .options = "-O2"}).bytes();
  std::size_t refused = 0, read = 0;
  for (const auto change : {std::byte{0xff}, std::byte{0x01}, std::byte{0x80}, std::byte{0x10}}) {
    Bytes file = good;
    for (auto& byte : file) {
      byte ^= change;
      (aql::test::exercise_loader(file) == 0 ? refused : read) += 1;
      byte ^= change;
    }
  }
  CHECK(refused > 1000); // headers, metadata, tables
  CHECK(read > 1000);    // code, padding, names nobody asks for
}
