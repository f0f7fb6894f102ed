#pragma once
// One wave on a bench: registers, memory, LDS and a code cache, for tests of single instructions. No packet processor.
//
//   IsaBench b(Arch::gfx942);
//   b.v(1, 3) = 5;                                    // VGPR 1, lane 3
//   REQUIRE(b.run(AsmCase{"v_add_u32_e32 v0, 1, v1", {0x68000281}}));
//   CHECK(b.v(0, 3) == 6);
//   b.agreed();                                       // counts as executed and checked, for docs/isa_coverage.md
//
// agreed() notes (target, format, mnemonic) of every instruction run since the last call. The notes of a test run are files
// in <build>/isa_coverage; `isa_coverage` collects them.

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/exec/code_cache.hpp"
#include "sim/exec/exec.hpp"
#include "sim/exec/trace.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::test {

using sim::Arch;
inline constexpr Arch kAllArchs[] = {Arch::gfx90a, Arch::gfx942, Arch::gfx950};

// Assembly text with its words. Text may be several lines; words are what an assembler makes of it.
struct AsmCase {
  std::string text;
  std::vector<std::uint32_t> words;
  std::uint8_t targets = 7; // arch_bit()s for which text and words belong together
};

// A list of cases at namespace scope: one test of each binary checks all of them against llvm-mc where there is one.
class AsmCases {
public:
  AsmCases(std::initializer_list<AsmCase> cases);
  AsmCases(std::vector<AsmCase> cases);
  [[nodiscard]] auto begin() const { return cases_.begin(); }
  [[nodiscard]] auto end() const { return cases_.end(); }
  [[nodiscard]] std::size_t size() const { return cases_.size(); }
  [[nodiscard]] const AsmCase& operator[](std::size_t n) const { return cases_[n]; }

private:
  std::vector<AsmCase> cases_;
};
[[nodiscard]] const std::vector<const AsmCase*>& registered_asm_cases(); // in order of registration

// The distribution's assembler: present?, and its words for a text (empty on error; messages to `errors`).
[[nodiscard]] bool have_assembler();
[[nodiscard]] std::vector<std::uint32_t> assemble(Arch arch, std::string_view text, std::string* errors = nullptr);
// One process for many independent texts.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> assemble_each(Arch arch, const std::vector<std::string>& texts, std::string* errors = nullptr);

struct BenchOptions {
  std::uint32_t vgprs = 256, agprs = 256;
  std::uint32_t lds_bytes = 65536;
};

class IsaBench {
public:
  explicit IsaBench(Arch arch, BenchOptions options = {});
  ~IsaBench();
  IsaBench(const IsaBench&) = delete;
  IsaBench& operator=(const IsaBench&) = delete;

  // --- state. exec starts as all ones, MODE as clang sets it (RNE, denormals kept, DX10_CLAMP, IEEE), all registers 0.
  sim::AddressMap map;
  sim::MemoryPort port{map};
  sim::Fault fault;
  sim::DispatchContext dispatch;
  sim::Workgroup group;
  sim::Wave wave;

  [[nodiscard]] std::uint32_t& v(unsigned reg, unsigned lane) { return wave.v(reg).lane[lane]; }
  [[nodiscard]] std::uint32_t& a(unsigned reg, unsigned lane) { return wave.a(reg).lane[lane]; }
  [[nodiscard]] std::uint32_t& s(unsigned reg) { return wave.sgpr[reg]; }
  [[nodiscard]] std::uint64_t v64(unsigned reg, unsigned lane) { return v(reg, lane) | std::uint64_t{v(reg + 1, lane)} << 32; }
  void set_v64(unsigned reg, unsigned lane, std::uint64_t value) {
    v(reg, lane) = static_cast<std::uint32_t>(value);
    v(reg + 1, lane) = static_cast<std::uint32_t>(value >> 32);
  }

  // Zero-filled device memory (page-aligned device address, exactly `size` bytes accessible).
  struct Buffer {
    std::uint64_t address;
    std::span<std::byte> host;
    template <class T>
    [[nodiscard]] T* as() const { return reinterpret_cast<T*>(host.data()); }
  };
  Buffer buffer(std::size_t size, std::uint8_t permissions = sim::kRead | sim::kWrite, std::string label = "buffer");

  // Places the program, followed by s_endpgm, and runs it. True: it ended; false: it faulted (see `fault`) or ran for more than
  // a million instructions. s_sleep and s_barrier go on at once.
  bool run(std::span<const std::uint32_t> words);
  bool run(std::initializer_list<std::uint32_t> words) { return run(std::span<const std::uint32_t>(words.begin(), words.size())); }
  bool run(const AsmCase& c) { return run(std::span<const std::uint32_t>(c.words)); }
  // Needs the assembler.
  bool run(std::string_view text);

  // What was run since the last call has been compared with a reference and agreed.
  void agreed();

  // Address of the first instruction of the last program.
  [[nodiscard]] std::uint64_t code_address() const { return code_.address; }
  [[nodiscard]] sim::CodeCache& code() { return *cache_; }
  [[nodiscard]] Arch arch() const { return dispatch.arch; }

private:
  struct Recorder;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::unique_ptr<sim::VReg[]> registers_;
  std::vector<std::byte> lds_;
  Buffer code_{};
  std::uint64_t next_address_ = 0x7f1000000000;
  std::unique_ptr<sim::CodeCache> cache_;
  std::unique_ptr<Recorder> recorder_;
  std::set<std::string> pending_;
};

// "VOP3", "VOP2_SDWA", "VOP1_DPP" ...: the row of the opcode tables that an instruction belongs to.
[[nodiscard]] std::string row_format(const sim::Inst& inst);

} // namespace aql::test
