#pragma once
// Compressed offload bundles (`CCOB`): header and decompression. zstd and zlib stay in the .cpp. Internal to the loader.

#include <memory>

#include <aql/bundle.hpp>

#include "loader/bytes.hpp"

namespace aql::loader {

struct CompressedHeader {
  std::uint32_t version = 0;
  Compression method = Compression::none;
  std::uint64_t file_size = 0; // header and data; version 1 does not say: everything that was given
  std::uint64_t raw_size = 0;
  std::uint64_t hash = 0; // low half of the MD5 of the decompressed bytes
  std::size_t header_size = 0;
};

[[nodiscard]] bool is_compressed_bundle(ByteSpan bytes) noexcept;
[[nodiscard]] Result<CompressedHeader> read_compressed_header(ByteSpan bytes);

struct Decompressed {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;
};

// Refuses more than `limit` bytes before it allocates; checks size and hash afterwards.
[[nodiscard]] Result<Decompressed> decompress(ByteSpan bytes, const CompressedHeader& header, std::uint64_t limit);

} // namespace aql::loader
