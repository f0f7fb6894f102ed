// Any bytes into the loader: as a file (ELF or bundle), and straight into the metadata reader, which a mutated file seldom reaches.

#include <cstddef>
#include <cstdint>
#include <span>

#include "loader/metadata.hpp"
#include "support/exercise_loader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  aql::test::exercise_loader(bytes);
  if (size < 4096) (void)aql::loader::read_metadata(bytes, 0);
  return 0;
}
