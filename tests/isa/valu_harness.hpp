#pragma once
// Runs a vector ALU instruction on the bench and on every host tier, and compares all registers with the scalar reference.

#include <random>
#include <string>

#include "support/isa_bench.hpp"
#include "valu_reference.hpp"

namespace aql::test {

// 32 random bits at a time.
class Random {
public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

private:
  std::mt19937 engine_;
};

// 32-bit values at which operations change their ways.
std::uint32_t edge_value(Random& random);

class ValuHarness {
public:
  explicit ValuHarness(Arch arch, std::uint32_t vgprs = 32, std::uint32_t agprs = 8);

  [[nodiscard]] Arch arch() const { return arch_; }
  [[nodiscard]] RefState& state() { return state_; }

  // Registers with edge values, small numbers and random bits; EXEC, VCC, M0 and MODE at random, often all ones and the default.
  void randomize(Random& random);

  // Decodes; null if the words are no instruction of the target.
  [[nodiscard]] static bool decodes(Arch arch, std::span<const std::uint32_t> words, sim::Inst& inst);

  // Runs `words` (one instruction) on the current state: on the bench (which notes the row as covered) and with each tier's handler.
  // Empty: all agree with the reference, and the state is what it left. Else what differs.
  [[nodiscard]] std::string check(std::span<const std::uint32_t> words);
  [[nodiscard]] std::string check(std::initializer_list<std::uint32_t> words) { return check(std::span<const std::uint32_t>(words.begin(), words.size())); }

  // The same in GPR-index mode (MODE.GPR_IDX_EN and M0 of the current state), through the loop alone: the reference runs the instruction
  // with its registers moved.
  [[nodiscard]] std::string check_indexed(const AsmCase& c);

private:
  void load(sim::Wave& wave) const;
  [[nodiscard]] std::string compare(const sim::Wave& wave, const RefState& expected, const std::string& where) const;

  Arch arch_;
  RefState state_;
  IsaBench bench_;
};

} // namespace aql::test
