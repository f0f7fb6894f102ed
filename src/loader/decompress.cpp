#include "loader/decompress.hpp"

#include <new>

#include <zlib.h>
#include <zstd.h>

#include "base/try.hpp"
#include "loader/md5.hpp"

namespace aql::loader {
namespace {

constexpr std::string_view kWhere = "Bundle::open";

Result<std::size_t> run_zstd(ByteSpan data, std::byte* out, std::size_t size) {
  const std::size_t frame = ZSTD_findFrameCompressedSize(data.data(), data.size());
  if (ZSTD_isError(frame) != 0)
    return refuse(Errc::invalid_code_object, kWhere, "compressed offload bundle: {}", ZSTD_getErrorName(frame));
  const std::size_t made = ZSTD_decompress(out, size, data.data(), frame);
  if (ZSTD_isError(made) != 0)
    return refuse(Errc::invalid_code_object, kWhere, "compressed offload bundle (zstd): {}", ZSTD_getErrorName(made));
  return made;
}

Result<std::size_t> run_zlib(ByteSpan data, std::byte* out, std::size_t size) {
  uLongf made = size;
  uLong used = data.size();
  const int status = ::uncompress2(reinterpret_cast<Bytef*>(out), &made, reinterpret_cast<const Bytef*>(data.data()), &used);
  if (status != Z_OK) return refuse(Errc::invalid_code_object, kWhere, "compressed offload bundle (zlib): {}", ::zError(status));
  return std::size_t{made};
}

} // namespace

bool is_compressed_bundle(ByteSpan bytes) noexcept { return bytes.size() >= 4 && std::memcmp(bytes.data(), "CCOB", 4) == 0; }

Result<CompressedHeader> read_compressed_header(ByteSpan bytes) {
  CompressedHeader h;
  AQL_TRY(h.version, load<std::uint16_t>(bytes, 4, "the version of the compressed bundle header"));
  AQL_TRY(const auto method, load<std::uint16_t>(bytes, 6, "the method of the compressed bundle header"));
  constexpr std::string_view what = "the compressed bundle header";
  switch (h.version) {
  case 1: {
    AQL_TRY(h.raw_size, load<std::uint32_t>(bytes, 8, what));
    AQL_TRY(h.hash, load<std::uint64_t>(bytes, 12, what));
    h.file_size = bytes.size();
    h.header_size = 20;
    break;
  }
  case 2: {
    AQL_TRY(h.file_size, load<std::uint32_t>(bytes, 8, what));
    AQL_TRY(h.raw_size, load<std::uint32_t>(bytes, 12, what));
    AQL_TRY(h.hash, load<std::uint64_t>(bytes, 16, what));
    h.header_size = 24;
    break;
  }
  case 3: {
    AQL_TRY(h.file_size, load<std::uint64_t>(bytes, 8, what));
    AQL_TRY(h.raw_size, load<std::uint64_t>(bytes, 16, what));
    AQL_TRY(h.hash, load<std::uint64_t>(bytes, 24, what));
    h.header_size = 32;
    break;
  }
  default:
    return refuse(Errc::unsupported, kWhere, "compressed offload bundle with header version {} (offset 4), this build reads 1 to 3",
                  h.version);
  }
  switch (method) {
  case 0: h.method = Compression::zlib; break;
  case 1: h.method = Compression::zstd; break;
  default:
    return refuse(Errc::unsupported, kWhere,
                  "compressed offload bundle with method {} (offset 6), this build reads 0 (zlib) and 1 (zstd)", method);
  }
  if (h.file_size < h.header_size || h.file_size > bytes.size()) {
    return refuse(Errc::invalid_code_object, kWhere,
                  "compressed offload bundle says it has {} bytes (offset 8), {} were given; is the file cut off?", h.file_size,
                  bytes.size());
  }
  return h;
}

Result<Decompressed> decompress(ByteSpan bytes, const CompressedHeader& header, std::uint64_t limit) {
  if (header.raw_size > limit) {
    return refuse(Errc::out_of_resources, kWhere,
                  "compressed offload bundle would grow to {} bytes, the limit is {} (BundleOptions::max_decompressed_bytes)",
                  header.raw_size, limit);
  }
  // Not zeroed on purpose: a header that promises much and delivers little costs address space only.
  Decompressed out;
  out.size = static_cast<std::size_t>(header.raw_size);
  out.data.reset(new (std::nothrow) std::byte[out.size + 1]);
  if (out.data == nullptr)
    return refuse(Errc::out_of_resources, kWhere, "no memory for {} bytes of a compressed offload bundle", header.raw_size);
  const auto data = bytes.subspan(header.header_size, static_cast<std::size_t>(header.file_size) - header.header_size);
  AQL_TRY(const auto made,
          header.method == Compression::zstd ? run_zstd(data, out.data.get(), out.size) : run_zlib(data, out.data.get(), out.size));
  if (made != out.size) {
    return refuse(Errc::invalid_code_object, kWhere, "compressed offload bundle promises {} bytes and holds {}", header.raw_size,
                  made);
  }
  const auto digest = md5({out.data.get(), out.size});
  std::uint64_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  if (hash != header.hash) {
    return refuse(Errc::invalid_code_object, kWhere,
                  "compressed offload bundle is damaged: its hash is {:#018x}, the header says {:#018x}", hash, header.hash);
  }
  return out;
}

} // namespace aql::loader
