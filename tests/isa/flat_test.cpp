#include "support/catch.hpp"

#include "isa/mem_fixture.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

constexpr MemLine kFlatLines[] = {
#include "isa/cases/flat.inc"
};
const MemCases kFlat(kFlatLines);
constexpr MemLine kGlobalLines[] = {
#include "isa/cases/global.inc"
};
const MemCases kGlobal(kGlobalLines);
constexpr MemLine kScratchLines[] = {
#include "isa/cases/scratch.inc"
};
const MemCases kScratch(kScratchLines);

enum class Where : std::uint8_t { buffer, lds, scratch };

// Result registers before and after, the model's memory: everything agrees.
bool agrees(MemFixture& f, const MemCase& c, const std::array<model::Regs, 64>& want) {
  if (!f.memory_agrees()) return false;
  for (unsigned l = 0; l < 64; ++l) {
    if (f.registers(c.acc, 16, l) != want[l]) return false;
  }
  return true;
}

std::array<model::Regs, 64> results(MemFixture& f, const MemCase& c) {
  std::array<model::Regs, 64> r;
  for (unsigned l = 0; l < 64; ++l) r[l] = f.registers(c.acc, 16, l);
  return r;
}

// The offset of a lane's access in its memory: any alignment except for atomics, with collisions in every other round.
std::uint32_t pick(MemFixture& f, const MemCase& c, unsigned round, std::uint32_t limit) {
  const unsigned bytes = model::access_bytes(c.name);
  const std::uint32_t align = c.name.rfind("atomic_", 0) == 0 ? bytes : round % 2 == 0 ? 4 : 1;
  const std::uint32_t range = round >= 4 ? std::min(limit, 64u) : limit;
  return static_cast<std::uint32_t>(f.random() % (range - bytes + 1)) / align * align;
}

void model_lane(MemFixture& f, const MemCase& c, unsigned lane, const model::ByteAt& at, bool in_lds, model::Regs& result) {
  model::LaneState state{.data = f.registers(c.acc, 8, lane), .result = result, .f32 = {}, .f64 = {}};
  if (!in_lds && f.arch() == Arch::gfx90a && c.name == "atomic_add_f32") state.f32 = {true, true};
  model::access(c.name, c.returns, at, state);
  result = state.result;
}

} // namespace

TEST_CASE("global: every instruction agrees with the model for random lanes, addresses and data", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kGlobal) {
      if (!c.on(arch) || c.name.find("_lds_") != std::string::npos) continue;
      INFO(isa::to_string(arch) << ": " << c.code.text);
      bool good = true;
      for (unsigned round = 0; round < 8; ++round) {
        f.shuffle(round);
        const std::uint64_t base = f.buffer.address - 0x12345; // the vector part makes up for it
        f.bench.wave.set_sgpr64(4, base);
        auto want = results(f, c);
        for (unsigned l = 0; l < 64; ++l) {
          const std::uint32_t at = pick(f, c, round, MemFixture::kBuffer);
          const std::uint64_t address = f.buffer.address + at - static_cast<std::uint64_t>(std::int64_t{c.imm});
          f.bench.set_v64(2, l, !f.active(l) ? 0xdeadbeef00 + l : c.form == MemForm::vector ? address : address - base);
          if (f.active(l)) model_lane(f, c, l, f.in_buffer(at), false, want[l]);
        }
        const bool ran = f.bench.run(c.code);
        INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
        REQUIRE(ran);
        good = good && agrees(f, c, want);
      }
      CHECK(good);
      if (good) f.bench.agreed();
    }
  }
}

TEST_CASE("flat: every instruction agrees with the model with lanes in memory, LDS and private memory at once", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kFlat) {
      if (!c.on(arch)) continue;
      INFO(isa::to_string(arch) << ": " << c.code.text);
      bool good = true;
      for (unsigned round = 0; round < 8; ++round) {
        f.shuffle(round);
        auto want = results(f, c);
        std::array<Where, 64> where;
        std::array<std::uint32_t, 64> at;
        for (unsigned l = 0; l < 64; ++l) {
          where[l] = round == 0 ? Where::buffer : static_cast<Where>(f.random() % 3);
          at[l] = pick(f, c, round, where[l] == Where::scratch ? MemFixture::kLaneBytes : where[l] == Where::lds ? MemFixture::kLds : MemFixture::kBuffer);
          if (where[l] != Where::buffer && at[l] < static_cast<std::uint32_t>(c.imm)) { // the registers alone choose the space
            where[l] = Where::buffer;
            at[l] = pick(f, c, round, MemFixture::kBuffer);
          }
          const std::uint64_t base = where[l] == Where::buffer ? f.buffer.address : where[l] == Where::lds ? f.bench.dispatch.shared_aperture : f.bench.dispatch.private_aperture;
          f.bench.set_v64(2, l, f.active(l) ? base + at[l] - static_cast<std::uint64_t>(std::int64_t{c.imm}) : 7);
        }
        for (unsigned l = 0; l < 64; ++l) {
          if (!f.active(l)) continue;
          const auto bytes = where[l] == Where::buffer ? f.in_buffer(at[l]) : where[l] == Where::lds ? f.in_lds(at[l]) : f.in_scratch(at[l], l);
          model_lane(f, c, l, bytes, where[l] == Where::lds, want[l]);
        }
        const bool ran = f.bench.run(c.code);
        INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
        REQUIRE(ran);
        good = good && agrees(f, c, want);
      }
      CHECK(good);
      if (good) f.bench.agreed();
    }
  }
}

TEST_CASE("scratch: every instruction agrees with the model in every addressing form", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kScratch) {
      if (!c.on(arch) || c.name.find("_lds_") != std::string::npos) continue;
      INFO(isa::to_string(arch) << ": " << c.code.text);
      bool good = true;
      for (unsigned round = 0; round < 8; ++round) {
        f.shuffle(round);
        auto want = results(f, c);
        const std::uint32_t uniform = pick(f, c, round, MemFixture::kLaneBytes);
        const std::uint32_t scalar = c.form == MemForm::scalar_base ? uniform - static_cast<std::uint32_t>(c.imm) : 8;
        f.bench.s(4) = scalar;
        for (unsigned l = 0; l < 64; ++l) {
          const std::uint32_t random_at = pick(f, c, round, MemFixture::kLaneBytes - 24) + 24; // room for base and offset below
          std::uint32_t at = uniform;
          if (c.form == MemForm::immediate) at = static_cast<std::uint32_t>(c.imm);
          if (c.form == MemForm::vector || c.form == MemForm::vector_and_scalar) at = random_at;
          f.bench.v(2, l) = f.active(l) ? at - static_cast<std::uint32_t>(c.imm) - (c.form == MemForm::vector_and_scalar ? scalar : 0) : 0xdeadbeef;
          if (f.active(l)) model_lane(f, c, l, f.in_scratch(at, l), false, want[l]);
        }
        const bool ran = f.bench.run(c.code);
        INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
        REQUIRE(ran);
        good = good && agrees(f, c, want);
      }
      CHECK(good);
      if (good) f.bench.agreed();
    }
  }
}

TEST_CASE("flat: loads to LDS put lane l's data at M0 + offset + l times 4, or 16 for three and four dwords", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const bool is_global : {true, false}) {
      for (const MemCase& c : is_global ? kGlobal : kScratch) {
        if (!c.on(arch) || c.name.find("_lds_") == std::string::npos) continue;
        INFO(isa::to_string(arch) << ": " << c.code.text);
        const std::string plain = "load_" + c.name.substr(9); // without "lds_"
        const unsigned bytes = model::access_bytes(plain), dwords = std::max(1u, bytes / 4), stride = dwords > 2 ? 16 : 4;
        bool good = true;
        for (unsigned round = 0; round < 8; ++round) {
          f.shuffle(round);
          const std::uint32_t m0 = 5000 + static_cast<std::uint32_t>(f.random() % 50000); // room for negative offsets
          f.bench.s(kM0) = m0;
          const std::uint64_t base = f.buffer.address - 0x12345;
          const std::uint32_t scalar = is_global ? 0 : c.form == MemForm::scalar_base ? 24 - static_cast<std::uint32_t>(c.imm) : 8;
          f.bench.s(4) = scalar;
          if (is_global) f.bench.wave.set_sgpr64(4, base);
          for (unsigned l = 0; l < 64; ++l) {
            std::uint32_t at = static_cast<std::uint32_t>(f.random() % (is_global ? MemFixture::kBuffer - 16 : 32)) + (is_global ? 0 : 24);
            if (!is_global && c.form == MemForm::scalar_base) at = 24;
            if (!is_global && c.form == MemForm::immediate) at = static_cast<std::uint32_t>(c.imm);
            const std::uint64_t address = f.buffer.address + at - static_cast<std::uint64_t>(std::int64_t{c.imm});
            if (is_global) f.bench.set_v64(2, l, c.form == MemForm::vector ? address : address - base);
            else f.bench.v(2, l) = at - static_cast<std::uint32_t>(c.imm) - (c.form == MemForm::vector_and_scalar ? scalar : 0);
            if (!f.active(l)) continue;
            model::LaneState state{};
            model::access(plain, false, is_global ? f.in_buffer(at) : f.in_scratch(at, l), state);
            const std::uint32_t to = (m0 & 0xfffc) + static_cast<std::uint32_t>(c.imm) + l * stride;
            for (unsigned d = 0; d < dwords && to + dwords * 4 <= MemFixture::kLds; ++d) model::put(f.in_lds(to), d * 4, 4, state.result[d]);
          }
          const bool ran = f.bench.run(c.code);
          INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
          REQUIRE(ran);
          good = good && f.memory_agrees();
        }
        CHECK(good);
        if (good) f.bench.agreed();
      }
    }
  }
}
