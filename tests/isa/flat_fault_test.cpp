// Bad addresses, instruction by instruction: what the fault says, and that nothing has happened.
#include "support/catch.hpp"

#include <array>
#include <cstring>
#include <memory>

#include "support/isa_bench.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

const AsmCases kCases{
    {"global_load_dword v16, v[2:3], off", {0xdc508000, 0x107f0002}},
    {"global_store_dword v[2:3], v8, off", {0xdc708000, 0x007f0802}},
    {"global_atomic_add v[2:3], v8, off", {0xdd088000, 0x007f0802}},
    {"flat_load_dword v16, v[2:3]", {0xdc500000, 0x10000002}},
    {"flat_store_dword v[2:3], v8", {0xdc700000, 0x00000802}},
    {"flat_atomic_add v[2:3], v8", {0xdd080000, 0x00000802}},
};
enum Kind : unsigned { kLoad, kStore, kAtomic };

const AsmCases kFlatOffset{
    {"flat_load_dword v1, v[2:3] offset:32", {0xdc500020, 0x01000002}},
    {"flat_store_dword v[2:3], v4 offset:4", {0xdc700004, 0x00000402}},
};

const AsmCase kStoreX4{"global_store_dwordx4 v[2:3], v[8:11], off", {0xdc7c8000, 0x007f0802}};
const AsmCases kWide{kStoreX4};

struct Bench : IsaBench {
  explicit Bench(Arch arch = Arch::gfx942) : IsaBench(arch) {
    good = buffer(1024, kRead | kWrite, "a");
    for (unsigned l = 0; l < 64; ++l) {
      set_v64(2, l, good.address + l * 4);
      v(8, l) = l + 1;
      v(16, l) = 0xcccccccc;
    }
  }
  Buffer good;
};

// Only lane 63 is active, or all lanes and only lane 63 is bad.
void expect_fault(Bench& b, std::uint64_t address, const std::string& nearest) {
  for (unsigned n = 0; n < kCases.size(); ++n) {
    for (const std::uint64_t exec : {~0ull, 1ull << 63}) {
      INFO(kCases[n].text << ", exec " << exec);
      std::memset(b.good.host.data(), 0, b.good.host.size());
      b.set_v64(2, 63, address);
      b.wave.set_exec(exec);
      REQUIRE_FALSE(b.run(kCases[n]));
      CHECK(b.fault.code == Errc::memory_fault);
      CHECK(b.fault.lane == 63);
      CHECK(b.fault.address == address);
      CHECK(b.fault.size_bytes == 4);
      CHECK(b.fault.access == (n % 3 == kLoad ? FaultAccess::read : n % 3 == kStore ? FaultAccess::write : FaultAccess::atomic));
      CHECK(b.fault.nearest == nearest);
      CHECK(b.fault.pc == b.code_address());
      CHECK(b.fault.words[0] == kCases[n].words[0]);
      CHECK(b.fault.word_count == 2);
      CHECK(b.wave.pc == b.code_address());
      CHECK(b.v(16, 0) == 0xcccccccc);
      CHECK(b.good.as<std::uint32_t>()[0] == 0);
    }
  }
}

} // namespace

TEST_CASE("fault: null, address 8, non-canonical and never registered addresses are named", "[isa]") {
  Bench b;
  const auto host = std::make_unique<std::uint32_t>(7u);
  expect_fault(b, 0, "null pointer");
  expect_fault(b, 8, "null page, 8 bytes past address 0");
  expect_fault(b, 0x8000000000000000, "non-canonical address: bits 63-47 differ");
  expect_fault(b, reinterpret_cast<std::uint64_t>(host.get()), "no allocation near");
  CHECK(*host == 7);
}

TEST_CASE("fault: one byte past the end, inside a freed buffer", "[isa]") {
  Bench b;
  const auto other = b.buffer(4096, kRead | kWrite, "other");
  expect_fault(b, b.good.address + 1024, "0 bytes past buffer 'a' of 1024 bytes at 0x7f1000020000, device coarse");
  expect_fault(b, b.good.address + 1028, "4 bytes past buffer 'a' of 1024 bytes at 0x7f1000020000, device coarse");
  expect_fault(b, b.good.address + 1021, "crosses the end of buffer 'a' of 1024 bytes at 0x7f1000020000, device coarse: 1 of 4 bytes are past it");
  REQUIRE(b.map.unmap(other.address));
  expect_fault(b, other.address + 16, "inside a freed buffer: 16 bytes into buffer 'other' of 4096 bytes at 0x7f1000040000, device coarse");
}

TEST_CASE("fault: stores and atomics to read-only memory", "[isa]") {
  Bench b;
  const auto constant = b.buffer(256, kRead, "constant");
  b.set_v64(2, 63, constant.address);
  REQUIRE(b.run(kCases[kLoad]));
  for (const Kind kind : {kStore, kAtomic}) {
    REQUIRE_FALSE(b.run(kCases[kind]));
    CHECK(b.fault.nearest == "0 bytes into buffer 'constant' of 256 bytes at 0x7f1000040000, device coarse, which is read-only");
  }
  CHECK(constant.as<std::uint32_t>()[0] == 0);
}

TEST_CASE("fault: inactive lanes never fault, and no lane does when EXEC is zero", "[isa]") {
  Bench b;
  for (unsigned n = 0; n < kCases.size(); ++n) {
    b.set_v64(2, 63, 0);
    b.wave.set_exec(~0ull >> 1);
    CHECK(b.run(kCases[n]));
    b.set_v64(2, 0, 0);
    b.wave.set_exec(0);
    CHECK(b.run(kCases[n]));
    b.set_v64(2, 0, b.good.address);
  }
}

TEST_CASE("fault: a wide store of which one lane's last byte is outside writes nothing", "[isa]") {
  Bench b;
  for (unsigned l = 0; l < 64; ++l) b.set_v64(2, l, b.good.address + l * 16);
  b.set_v64(2, 40, b.good.address + 1024 - 15);
  REQUIRE_FALSE(b.run(kStoreX4));
  CHECK(b.fault.lane == 40);
  CHECK(b.good.as<std::uint32_t>()[0] == 0);
  CHECK(b.fault.size_bytes == 16);
}

TEST_CASE("fault: flat accesses beyond LDS or private memory violate the aperture", "[isa]") {
  for (const Arch arch : kAllArchs) {
    Bench b(arch);
    const auto scratch = b.buffer(64 * 64);
    b.dispatch.scratch_wave_bytes = 64 * 64;
    b.wave.scratch_base = scratch.address;
    b.wave.set_sgpr64(kFlatScratchLo, scratch.address);
    for (unsigned n = 3; n < 6; ++n) {
      b.set_v64(2, 17, b.dispatch.shared_aperture + 65536 - 2);
      REQUIRE_FALSE(b.run(kCases[n]));
      CHECK(b.fault.code == (n == 5 ? Errc::memory_fault : Errc::memory_aperture_violation)); // a misaligned atomic, or out of range
      CHECK(b.fault.lane == 17);
      b.set_v64(2, 17, b.dispatch.private_aperture + 64);
      REQUIRE_FALSE(b.run(kCases[n]));
      CHECK(b.fault.code == Errc::memory_aperture_violation);
      CHECK(b.fault.nearest == "private offset 64, this dispatch has 64 bytes a work-item");
      CHECK(b.good.as<std::uint32_t>()[0] == 0);
      b.set_v64(2, 17, b.dispatch.private_aperture + 60);
      CHECK(b.run(kCases[n]));
      std::memset(b.good.host.data(), 0, b.good.host.size());
    }
  }
}

TEST_CASE("fault: scratch accesses beyond the private segment, or without one", "[isa]") {
  for (const Arch arch : kAllArchs) {
    Bench b(arch);
    b.v(2, 5) = 64;
    b.wave.set_exec(1u << 5);
    REQUIRE_FALSE(b.run("scratch_load_dword v16, v2, off"));
    CHECK(b.fault.code == Errc::memory_aperture_violation);
    CHECK(b.fault.nearest == "private offset 64, this dispatch has 0 bytes a work-item");
    const auto scratch = b.buffer(64 * 64);
    b.dispatch.scratch_wave_bytes = 64 * 64;
    b.wave.scratch_base = scratch.address;
    b.wave.set_sgpr64(kFlatScratchLo, scratch.address);
    REQUIRE_FALSE(b.run("scratch_load_dword v16, v2, off offset:-4095"));
    CHECK(b.fault.nearest == "private offset -4031, this dispatch has 64 bytes a work-item");
    CHECK(b.run("scratch_load_dword v16, v2, off offset:-4"));
  }
}

TEST_CASE("fault: a misaligned atomic leaves memory alone", "[isa]") {
  Bench b;
  b.set_v64(2, 3, b.good.address + 2);
  for (const unsigned n : {2u, 5u}) {
    REQUIRE_FALSE(b.run(kCases[n]));
    CHECK(b.fault.lane == 3);
    CHECK(b.fault.reason == "atomic on an address that is not a multiple of 4");
    CHECK(b.good.as<std::uint32_t>()[0] == 0);
  }
}

// The hardware looks at the address registers only: clang folds offsets only where that makes no difference.
TEST_CASE("fault: an offset carries a flat access neither into an aperture nor out of it", "[isa]") {
  for (const Arch arch : kAllArchs) {
    Bench b(arch);
    b.wave.set_exec(1);
    const std::uint64_t shared = b.dispatch.shared_aperture;
    b.set_v64(2, 0, shared - 16);
    REQUIRE_FALSE(b.run(kFlatOffset[0]));
    CHECK(b.fault.code == Errc::memory_fault);
    CHECK(b.fault.address == shared + 16);
    b.set_v64(2, 0, shared + 0xfffffffc);
    reinterpret_cast<std::uint32_t*>(b.group.lds)[0] = 77;
    b.v(4, 0) = 5;
    (void)b.run(kFlatOffset[1]); // out of the range of LDS: dropped or a fault, but nowhere else
    CHECK(reinterpret_cast<std::uint32_t*>(b.group.lds)[0] == 77);
  }
}
