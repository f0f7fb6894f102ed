#pragma once
// A bench with memory, LDS and scratch full of random bytes, and a copy of all that for the model to work on.

#include <cstring>
#include <random>
#include <vector>

#include "isa/mem_cases.hpp"
#include "isa/mem_model.hpp"

namespace aql::test {

using Lanes64 = std::array<std::uint64_t, 64>;

struct MemFixture {
  static constexpr std::uint32_t kBuffer = 16384, kLds = 65536, kLaneBytes = 64;

  IsaBench bench;
  std::mt19937_64 random;
  IsaBench::Buffer buffer = bench.buffer(kBuffer), scratch = bench.buffer(kLaneBytes * 64, sim::kRead | sim::kWrite, "scratch");
  std::vector<std::uint8_t> want_buffer, want_scratch, want_lds; // what the model leaves
  model::Regs want_result[64];
  std::uint64_t exec = 0;

  explicit MemFixture(Arch arch, std::uint64_t seed = 1) : bench(arch, {.vgprs = 256, .agprs = 256, .lds_bytes = kLds}), random(seed) {
    bench.dispatch.scratch_wave_bytes = kLaneBytes * 64;
    bench.dispatch.scratch_lane_bytes = kLaneBytes;
    bench.wave.scratch_base = scratch.address;
    if (arch == Arch::gfx90a) bench.wave.set_sgpr64(sim::kFlatScratchLo, scratch.address);
  }

  // New contents everywhere, a new EXEC, new data registers v8-v15/a8-a15 and results v16-v19/a16-a19.
  void shuffle(unsigned round) {
    fill(buffer.host.data(), buffer.host.size());
    fill(scratch.host.data(), scratch.host.size());
    fill(bench.group.lds, kLds);
    copy(want_buffer, buffer.host.data(), buffer.host.size());
    copy(want_scratch, scratch.host.data(), scratch.host.size());
    copy(want_lds, bench.group.lds, kLds);
    exec = round % 4 == 0 ? ~0ull : round % 4 == 1 ? 1ull << (random() % 64) : round % 4 == 2 ? random() : random() & random() & random();
    bench.wave.set_exec(exec);
    for (unsigned r = 8; r < 20; ++r) {
      for (unsigned l = 0; l < 64; ++l) {
        bench.v(r, l) = model::interesting(random);
        bench.a(r, l) = model::interesting(random);
      }
    }
  }

  [[nodiscard]] bool active(unsigned lane) const { return ((exec >> lane) & 1) != 0; }
  [[nodiscard]] model::Regs registers(bool acc, unsigned first, unsigned lane) {
    model::Regs r;
    for (unsigned d = 0; d < 4; ++d) r[d] = acc ? bench.a(first + d, lane) : bench.v(first + d, lane);
    return r;
  }

  // Byte n of an access that begins at an offset of the buffer, of LDS, or of a lane's private segment.
  [[nodiscard]] model::ByteAt in_buffer(std::uint64_t offset) {
    return [this, offset](std::uint32_t n) -> std::uint8_t& { return want_buffer.at(offset + n); };
  }
  [[nodiscard]] model::ByteAt in_lds(std::uint64_t offset) {
    return [this, offset](std::uint32_t n) -> std::uint8_t& { return want_lds.at(offset + n); };
  }
  [[nodiscard]] model::ByteAt in_scratch(std::uint64_t offset, unsigned lane) {
    return [this, offset, lane](std::uint32_t n) -> std::uint8_t& {
      const std::uint64_t at = offset + n;
      return want_scratch.at(at / 4 * 256 + lane * 4 + at % 4); // dword by dword, all 64 lanes side by side
    };
  }

  [[nodiscard]] bool memory_agrees() const {
    return std::memcmp(buffer.host.data(), want_buffer.data(), want_buffer.size()) == 0 &&
           std::memcmp(scratch.host.data(), want_scratch.data(), want_scratch.size()) == 0 && std::memcmp(bench.group.lds, want_lds.data(), kLds) == 0;
  }

  [[nodiscard]] sim::Arch arch() const { return bench.arch(); }

private:
  void fill(void* to, std::size_t bytes) {
    auto* out = static_cast<std::byte*>(to);
    for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
      const std::uint32_t v = model::interesting(random);
      std::memcpy(out + i, &v, 4);
    }
  }
  static void copy(std::vector<std::uint8_t>& to, const std::byte* from, std::size_t bytes) {
    to.resize(bytes);
    std::memcpy(to.data(), from, bytes);
  }
};

} // namespace aql::test
