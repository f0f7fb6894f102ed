// Offload bundles, made by clang-offload-bundler where it is there, else by hand.

#include <aql/bundle.hpp>

#include <cstring>

#include <zlib.h>

#include "loader/md5.hpp"
#include "support/catch.hpp"
#include "support/compile.hpp"
#include "support/skip.hpp"
#include "unit/loader/sources.hpp"

namespace {

using aql::test::Bytes;

void append(Bytes& out, const void* data, std::size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + size);
}
template <class T>
void append(Bytes& out, T value) {
  append(out, &value, sizeof value);
}

struct Entry {
  std::string id;
  Bytes bytes;
};

// A plain bundle written from the format's description.
Bytes plain_bundle(const std::vector<Entry>& entries) {
  Bytes out;
  append(out, "__CLANG_OFFLOAD_BUNDLE__", 24);
  append<std::uint64_t>(out, entries.size());
  std::uint64_t at = 32;
  for (const auto& e : entries) at += 24 + e.id.size();
  for (const auto& e : entries) {
    append<std::uint64_t>(out, at);
    append<std::uint64_t>(out, e.bytes.size());
    append<std::uint64_t>(out, e.id.size());
    append(out, e.id.data(), e.id.size());
    at += e.bytes.size();
  }
  for (const auto& e : entries) append(out, e.bytes.data(), e.bytes.size());
  return out;
}

std::uint64_t hash_of(const Bytes& bytes) {
  const auto digest = aql::loader::md5(bytes);
  std::uint64_t hash = 0;
  std::memcpy(&hash, digest.data(), 8);
  return hash;
}

Bytes compressed_header(std::uint16_t version, std::uint16_t method, std::size_t data_size, std::uint64_t raw_size,
                        std::uint64_t hash) {
  Bytes out;
  append(out, "CCOB", 4);
  append(out, version);
  append(out, method);
  if (version == 3) {
    append<std::uint64_t>(out, 32 + data_size);
    append<std::uint64_t>(out, raw_size);
  } else {
    if (version == 2) append<std::uint32_t>(out, static_cast<std::uint32_t>(24 + data_size));
    append<std::uint32_t>(out, static_cast<std::uint32_t>(raw_size));
  }
  append(out, hash);
  return out;
}

Bytes zlib_bundle(std::uint16_t version, const Bytes& raw) {
  uLongf size = ::compressBound(raw.size());
  std::vector<Bytef> data(size);
  REQUIRE(::compress(data.data(), &size, reinterpret_cast<const Bytef*>(raw.data()), raw.size()) == Z_OK);
  Bytes out = compressed_header(version, 0, size, raw.size(), hash_of(raw));
  append(out, data.data(), size);
  return out;
}

std::string code_path(std::string_view target) {
  return aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = target}).path;
}
Bytes code(std::string_view target) { return aql::test::read_bytes(code_path(target)); }

// host + gfx90a + gfx942 by the distribution's bundler; empty if there is none.
Bytes real_bundle(std::string_view options, std::string_view environment = "") {
  const auto tool = aql::test::find_tool("clang-offload-bundler");
  if (!tool || !aql::test::kernel_compiler()) return {};
  const aql::test::TempDir dir;
  const std::string out = dir.file("out");
  const auto run =
      aql::test::run_command(std::string(environment) + " " + *tool + " -type=o -bundle-align=4096 " + std::string(options) +
                             " -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--"
                             "gfx942 -input=/dev/null -input=" +
                             code_path("gfx90a") + " -input=" + code_path("gfx942") + " -output=" + out);
  INFO(run.output);
  REQUIRE(run.status == 0);
  return aql::test::read_bytes(out);
}

bool holds_gemm_for(const Bytes& file, std::string_view target) {
  const auto object = aql::read_code_object(file, std::string(target) + ":sramecc+:xnack-");
  if (!object) {
    UNSCOPED_INFO(object.error().message());
    return false;
  }
  const Bytes expected = code(target);
  return object->target_id().processor == target && std::ranges::equal(object->bytes(), expected) &&
         object->find_kernel("gemm_tile");
}

} // namespace

TEST_CASE("bundle: bare ELF, plain bundle and compressed bundles give the same code object") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  if (!aql::test::find_tool("clang-offload-bundler")) AQL_SKIP("no clang-offload-bundler");
  const Bytes plain = real_bundle("");
  for (const std::string_view target : {"gfx90a", "gfx942"}) {
    INFO(target);
    CHECK(holds_gemm_for(code(target), target));
    CHECK(holds_gemm_for(plain, target));
    CHECK(holds_gemm_for(real_bundle("-compress"), target));
    CHECK(holds_gemm_for(real_bundle("-compress", "COMPRESSED_BUNDLE_FORMAT_VERSION=2"), target));
    CHECK(holds_gemm_for(zlib_bundle(1, plain), target));
    CHECK(holds_gemm_for(zlib_bundle(2, plain), target));
    CHECK(holds_gemm_for(zlib_bundle(3, plain), target));
  }
}

TEST_CASE("bundle: compression and header version are told") {
  if (!aql::test::find_tool("clang-offload-bundler") || !aql::test::kernel_compiler()) AQL_SKIP("no clang-offload-bundler");
  const Bytes v3 = real_bundle("-compress"), v2 = real_bundle("-compress", "COMPRESSED_BUNDLE_FORMAT_VERSION=2"),
              plain = real_bundle("");
  const auto a = aql::Bundle::open(v3), b = aql::Bundle::open(v2), c = aql::Bundle::open(plain);
  REQUIRE((a && b && c));
  CHECK((a->compression() == aql::Compression::zstd && a->header_version() == 3));
  CHECK((b->compression() == aql::Compression::zstd && b->header_version() == 2));
  CHECK((c->compression() == aql::Compression::none && c->header_version() == 0));
  CHECK(a->decompressed_size() == plain.size());
}

TEST_CASE("bundle: entries are listed with kind and target, host code included") {
  if (!aql::test::find_tool("clang-offload-bundler") || !aql::test::kernel_compiler()) AQL_SKIP("no clang-offload-bundler");
  const Bytes plain = real_bundle("");
  const auto bundle = aql::Bundle::open(plain);
  REQUIRE(bundle);
  REQUIRE(bundle->entries().size() == 3);
  CHECK(bundle->entries()[0].kind == "host");
  CHECK_FALSE(bundle->entries()[0].target);
  CHECK(bundle->entries()[1].kind == "hipv4");
  CHECK(bundle->entries()[1].target->processor == "gfx90a");
  CHECK(bundle->entries()[2].id == "hipv4-amdgcn-amd-amdhsa--gfx942");
}

TEST_CASE("bundle: no match lists the targets there are and why each does not fit") {
  const Bytes file = plain_bundle({{"host-x86_64-unknown-linux-gnu-", {}},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", Bytes(8)},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(8)},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx9999", Bytes(8)}});
  const auto object = aql::read_code_object(file, "gfx90a:sramecc+:xnack-");
  REQUIRE_FALSE(object);
  CHECK(object.error().code == aql::Errc::invalid_isa);
  const auto& text = object.error().detail;
  CHECK(text.find("no code for gfx90a:sramecc+:xnack-") != std::string::npos);
  CHECK(text.find("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+: the code needs xnack on") != std::string::npos);
  CHECK(text.find("hipv4-amdgcn-amd-amdhsa--gfx942: the code is for gfx942, the device is gfx90a") != std::string::npos);
  CHECK(text.find("gfx9999: not a target this build knows") != std::string::npos);
  CHECK(text.find("host code") != std::string::npos);
}

TEST_CASE("bundle: an empty entry is said to be empty, and a bundle without entries to have none") {
  const auto empty_entry = aql::read_code_object(plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", {}}}), "gfx942");
  REQUIRE_FALSE(empty_entry);
  CHECK(empty_entry.error().detail.find("the entry is empty") != std::string::npos);
  const auto no_entries = aql::read_code_object(plain_bundle({}), "gfx942");
  REQUIRE_FALSE(no_entries);
  CHECK(no_entries.error().detail.find("it has no entries") != std::string::npos);
}

TEST_CASE("bundle: the processor itself beats its family, a stated feature an open one") {
  const Bytes file = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", Bytes(1)},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(2)},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack-", Bytes(3)},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", Bytes(4)}});
  const auto bundle = aql::Bundle::open(file);
  REQUIRE(bundle);
  const auto chosen = [&](std::string_view device) { return (*bundle->select(*aql::TargetId::parse(device)))->bytes.size(); };
  CHECK(chosen("gfx942:sramecc+:xnack-") == 3);
  CHECK(chosen("gfx942:sramecc+:xnack+") == 4);
  CHECK(chosen("gfx942") == 2);
  CHECK(chosen("gfx950:sramecc+:xnack-") == 1);
}

TEST_CASE("bundle: a code object for another device is refused by name") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::read_code_object(code("gfx90a"), "gfx942:sramecc+:xnack-");
  REQUIRE_FALSE(object);
  CHECK(object.error().code == aql::Errc::invalid_isa);
  CHECK(object.error().detail ==
        "this code object cannot run on gfx942:sramecc+:xnack-: the code is for gfx90a, the device is gfx942");
}

TEST_CASE("bundle: an entry whose id lies about its content is refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::read_code_object(plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", code("gfx90a")}}), "gfx942");
  REQUIRE_FALSE(object);
  CHECK(object.error().code == aql::Errc::invalid_isa);
}

TEST_CASE("bundle: a decompression bomb is refused before anything is decompressed") {
  const Bytes raw(1 << 20);
  const Bytes file = zlib_bundle(3, raw);
  const auto bundle = aql::Bundle::open(file, {.max_decompressed_bytes = 1 << 16});
  REQUIRE_FALSE(bundle);
  CHECK(bundle.error().code == aql::Errc::out_of_resources);
  CHECK(bundle.error().detail.find("would grow to 1048576 bytes, the limit is 65536") != std::string::npos);
}

TEST_CASE("bundle: data that grows beyond what the header promises is refused") {
  const Bytes raw = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(100000)}});
  Bytes file = zlib_bundle(3, raw);
  const std::uint64_t less = raw.size() - 1;
  std::memcpy(file.data() + 16, &less, 8);
  CHECK_FALSE(aql::Bundle::open(file));
  const std::uint64_t more = raw.size() + 1;
  std::memcpy(file.data() + 16, &more, 8);
  const auto bundle = aql::Bundle::open(file);
  REQUIRE_FALSE(bundle);
  CHECK(bundle.error().detail.find("promises " + std::to_string(more) + " bytes and holds " + std::to_string(raw.size())) !=
        std::string::npos);
}

TEST_CASE("bundle: damaged data is told by its hash") {
  const Bytes raw = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(100)}});
  Bytes file = zlib_bundle(2, raw);
  file[16] ^= std::byte{1};
  const auto bundle = aql::Bundle::open(file);
  REQUIRE_FALSE(bundle);
  CHECK(bundle.error().detail.find("is damaged: its hash is") != std::string::npos);
}

TEST_CASE("bundle: unknown header versions and methods are named") {
  Bytes file = zlib_bundle(3, plain_bundle({}));
  file[4] = std::byte{4};
  CHECK(aql::Bundle::open(file).error().detail.find("header version 4") != std::string::npos);
  file[4] = std::byte{3};
  file[6] = std::byte{9};
  CHECK(aql::Bundle::open(file).error().detail.find("method 9") != std::string::npos);
  CHECK(aql::Bundle::open(file).error().code == aql::Errc::unsupported);
}

TEST_CASE("bundle: counts, offsets and ids beyond the end are refused with their place") {
  Bytes many = plain_bundle({});
  many[31] = std::byte{0xff};
  CHECK(aql::Bundle::open(many).error().detail.find("entries (offset 24)") != std::string::npos);
  Bytes far = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(4)}});
  far[39] = std::byte{0xff};
  CHECK(aql::Bundle::open(far).error().detail.find("lie beyond the end") != std::string::npos);
  Bytes long_id = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(4)}});
  long_id[55] = std::byte{0xff};
  CHECK(aql::Bundle::open(long_id).error().detail.find("the id of entry 0") != std::string::npos);
}

TEST_CASE("bundle: cut off at any length it is refused, never read beyond its end") {
  const Bytes plain =
      plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", Bytes(40)}, {"hipv4-amdgcn-amd-amdhsa--gfx90a", Bytes(40)}});
  for (const Bytes& whole : {plain, zlib_bundle(1, plain), zlib_bundle(2, plain), zlib_bundle(3, plain)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK_FALSE(aql::Bundle::open(cut));
    }
  }
}

TEST_CASE("md5: the test suite of RFC 1321") {
  const auto hex = [](std::string_view text) {
    std::string out;
    for (const auto byte : aql::loader::md5(std::as_bytes(std::span(text.data(), text.size())))) {
      constexpr char digits[] = "0123456789abcdef";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
    return out;
  };
  CHECK(hex("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(hex("abc") == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(hex("message digest") == "f96b697d7cb7938d525a2f31aaf161d0");
  CHECK(hex("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == "d174ab98d277d9f5a5611c2c9f419d9f");
  CHECK(hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890") ==
        "57edf4a22be3c955ac49da2e2107b67a");
}
