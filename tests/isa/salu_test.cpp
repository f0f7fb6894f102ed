// Scalar arithmetic and logic against a reference, over edge values, on every target.
#include "support/catch.hpp"

#include "salu_reference.hpp"
#include "sim/isa/op_info.hpp"
#include "support/isa_bench.hpp"
#include "support/isa_rows.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

constexpr std::uint64_t kValues[] = {0, 1, 2, 3, 0x1f, 0x20, 0x3f, 0x40, 0x7fff, 0x8000, 0xffff, 0x10000, 0x100005, 0x200000, 0x7f0003, 0x7fffffff,
                                     0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x123456789abcdef0, 0x7fffffffffffffff, 0x8000000000000000,
                                     0xffffffff00000000, 0xffffffffffffffff, 0x00ff00ff0f0f3355};

bool wide(const isa::OperandSpec& spec) { return spec.dwords() == 2; }

// Rows of a format whose mnemonic is in `table`, with every target they are on.
template <class Table, class Body>
void each_row(const char* format, const Table& table, Body body) {
  std::size_t rows = 0;
  for (const IsaRow& row : isa_rows()) {
    if (row.format != format) continue;
    const auto found = table.find(row.mnemonic);
    if (found == table.end()) continue;
    ++rows;
    for (const Arch arch : kAllArchs) {
      if ((row.targets & arch_bit(arch)) == 0) continue;
      INFO(isa::to_string(arch) << ' ' << row.example);
      IsaBench b(arch);
      body(b, row, *isa::find_mnemonic(row.mnemonic, arch), found->second);
      b.agreed();
    }
  }
  CHECK(rows == table.size()); // the reference describes no row that was not run
}

} // namespace

TEST_CASE("salu: SOP2 gives value and SCC of the reference for all edge values", "[isa]") {
  // Examples are "op s16, s48, s32".
  each_row("SOP2", salu::sop2(), [](IsaBench& b, const IsaRow& row, const isa::OpInfo& info, const salu::Reference& reference) {
    for (const std::uint64_t x : kValues) {
      for (const std::uint64_t y : kValues) {
        for (const bool scc : {false, true}) {
          b.wave.set_sgpr64(48, x);
          b.wave.set_sgpr64(32, y);
          b.wave.set_sgpr64(16, 0x5555555555555555);
          b.wave.scc = scc;
          REQUIRE(b.run(row.words));
          const salu::Outcome want = reference(x, y, scc);
          const std::uint64_t got = wide(info.dst[0]) ? b.wave.sgpr64(16) : b.s(16);
          if (got != want.value || (b.wave.scc != 0) != want.scc) {
            INFO(std::hex << x << ' ' << y << " scc " << scc << ": " << got << " not " << want.value << ", scc " << b.wave.scc << " not " << want.scc);
            FAIL();
          }
        }
      }
    }
    if (!wide(info.dst[0])) CHECK(b.s(17) == 0x55555555);
  });
}

TEST_CASE("salu: SOP1 gives value and SCC of the reference for all edge values", "[isa]") {
  // Examples are "op s16, s32".
  each_row("SOP1", salu::sop1(), [](IsaBench& b, const IsaRow& row, const isa::OpInfo& info, const salu::Reference& reference) {
    for (const std::uint64_t x : kValues) {
      for (const std::uint64_t old : {std::uint64_t{0x5555555555555555}, std::uint64_t{0xaaaaaaaaaaaaaaaa}}) {
        for (const bool scc : {false, true}) {
          b.wave.set_sgpr64(32, x);
          b.wave.set_sgpr64(16, old);
          b.wave.scc = scc;
          REQUIRE(b.run(row.words));
          const salu::Outcome want = reference(x, old, scc);
          const std::uint64_t got = wide(info.dst[0]) ? b.wave.sgpr64(16) : b.s(16);
          INFO(std::hex << x << " onto " << old << " scc " << scc);
          REQUIRE(got == want.value);
          REQUIRE((b.wave.scc != 0) == want.scc);
        }
      }
    }
  });
}

TEST_CASE("salu: SOPC sets SCC as the reference does for all edge values", "[isa]") {
  std::map<std::string, std::function<bool(std::uint64_t, std::uint64_t)>> named;
  for (const auto& [name, f] : salu::compares()) named[(name.starts_with("bit") ? "s_" : "s_cmp_") + name] = f;
  // Examples are "op s48, s32".
  each_row("SOPC", named, [](IsaBench& b, const IsaRow& row, const isa::OpInfo&, const auto& reference) {
    for (const std::uint64_t x : kValues) {
      for (const std::uint64_t y : kValues) {
        b.wave.set_sgpr64(48, x);
        b.wave.set_sgpr64(32, y);
        b.wave.scc = reference(x, y) ? 0 : 1;
        REQUIRE(b.run(row.words));
        INFO(std::hex << x << ' ' << y);
        REQUIRE((b.wave.scc != 0) == reference(x, y));
      }
    }
  });
}

TEST_CASE("salu: SOPK compares sign-extend their immediate for signed and zero-extend it for unsigned", "[isa]") {
  std::map<std::string, std::function<bool(std::uint64_t, std::uint64_t)>> named;
  for (const auto& [name, f] : salu::compares()) {
    if (name.ends_with("32") && !name.starts_with("bit")) named["s_cmpk_" + name] = f;
  }
  // Examples are "op s16, 0x4".
  each_row("SOPK", named, [](IsaBench& b, const IsaRow& row, const isa::OpInfo&, const auto& reference) {
    for (const std::uint64_t x : kValues) {
      for (const std::uint32_t imm : {0u, 1u, 4u, 0x1fu, 0x7fffu, 0x8000u, 0xfffeu, 0xffffu}) {
        const std::uint64_t y = row.mnemonic.ends_with("i32") ? static_cast<std::uint64_t>(salu::sign(imm, 16)) : imm;
        b.s(16) = static_cast<std::uint32_t>(x);
        b.wave.scc = reference(x, y) ? 0 : 1;
        REQUIRE(b.run({(row.words[0] & 0xffff0000u) | imm}));
        REQUIRE((b.wave.scc != 0) == reference(x, y));
      }
    }
  });
}

TEST_CASE("salu: SOPK moves, adds and multiplies with a sign-extended immediate", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    for (const std::uint64_t x : kValues) {
      for (const std::uint32_t imm : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu}) {
        const auto k = salu::sign(imm, 16);
        const auto run = [&](std::uint32_t opcode, bool scc) {
          b.s(16) = static_cast<std::uint32_t>(x);
          b.wave.scc = scc;
          REQUIRE(b.run({0xb0000000u | opcode << 23 | 16u << 16 | imm}));
        };
        run(0, false); // s_movk_i32
        CHECK(b.s(16) == static_cast<std::uint32_t>(k));
        run(1, false); // s_cmovk_i32
        CHECK(b.s(16) == static_cast<std::uint32_t>(x));
        run(1, true);
        CHECK(b.s(16) == static_cast<std::uint32_t>(k));
        run(14, false); // s_addk_i32
        const auto sum = salu::sign(x, 32) + k;
        CHECK(b.s(16) == static_cast<std::uint32_t>(sum));
        CHECK((b.wave.scc != 0) == (sum != salu::sign(static_cast<std::uint64_t>(sum), 32)));
        run(15, true); // s_mulk_i32
        CHECK(b.s(16) == static_cast<std::uint32_t>(salu::sign(x, 32) * k));
        CHECK(b.wave.scc == 1);
      }
    }
    b.agreed();
  }
}

TEST_CASE("salu: saveexec and wrexec combine source and exec as their names say", "[isa]") {
  struct Case {
    const char* name;
    std::uint64_t (*f)(std::uint64_t s, std::uint64_t e);
    bool saves_old;
  };
  const Case cases[] = {
      {"s_and_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return s & e; }, true},
      {"s_or_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return s | e; }, true},
      {"s_xor_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return s ^ e; }, true},
      {"s_andn2_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return s & ~e; }, true},
      {"s_orn2_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return s | ~e; }, true},
      {"s_nand_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return ~(s & e); }, true},
      {"s_nor_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return ~(s | e); }, true},
      {"s_xnor_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return ~(s ^ e); }, true},
      {"s_andn1_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return ~s & e; }, true},
      {"s_orn1_saveexec_b64", [](std::uint64_t s, std::uint64_t e) { return ~s | e; }, true},
      {"s_andn1_wrexec_b64", [](std::uint64_t s, std::uint64_t e) { return ~s & e; }, false},
      {"s_andn2_wrexec_b64", [](std::uint64_t s, std::uint64_t e) { return s & ~e; }, false},
  };
  for (const Case& c : cases) {
    for (const Arch arch : kAllArchs) {
      IsaBench b(arch);
      const std::uint32_t word = 0xbe900020u | std::uint32_t{isa::find_mnemonic(c.name, arch)->code} << 8; // s[16:17], s[32:33]
      for (const std::uint64_t source : kValues) {
        for (const std::uint64_t exec : kValues) {
          b.wave.set_sgpr64(32, source);
          b.wave.set_exec(exec);
          REQUIRE(b.run({word}));
          INFO(c.name);
          REQUIRE(b.wave.exec() == c.f(source, exec));
          REQUIRE(b.wave.sgpr64(16) == (c.saves_old ? exec : c.f(source, exec)));
          REQUIRE((b.wave.scc != 0) == (c.f(source, exec) != 0));
        }
      }
      b.agreed();
    }
  }
}

TEST_CASE("salu: a saveexec whose source is its destination reads before it writes", "[isa]") {
  IsaBench b(Arch::gfx942);
  b.wave.set_sgpr64(16, 0xff);
  b.wave.set_exec(0x0ff0);
  REQUIRE(b.run({0xbe902010})); // s_and_saveexec_b64 s[16:17], s[16:17]
  CHECK(b.wave.exec() == 0xf0);
  CHECK(b.wave.sgpr64(16) == 0x0ff0);
}
