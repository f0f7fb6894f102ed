#include "isa/matrix_inputs.hpp"

#include <algorithm>
#include <cstdint>

namespace aql::test {

namespace {

using sim::MatrixType;

struct Layout {
  unsigned exponent_bits, mantissa_bits;
};

Layout layout_of(MatrixType type) {
  switch (type) {
  case MatrixType::f64: return {11, 52};
  case MatrixType::f16: return {5, 10};
  case MatrixType::bf16:
  case MatrixType::bf16x2: return {8, 7};
  case MatrixType::fp8_fnuz:
  case MatrixType::fp8_ocp: return {4, 3};
  case MatrixType::bf8_fnuz:
  case MatrixType::bf8_ocp: return {5, 2};
  case MatrixType::fp6: return {2, 3};
  case MatrixType::bf6: return {3, 2};
  case MatrixType::fp4: return {2, 1};
  case MatrixType::i8:
  case MatrixType::i32: return {0, 0};
  default: return {8, 23};
  }
}

class Source {
public:
  Source(MatrixType type, InputKind kind, std::mt19937& random) : layout_(layout_of(type)), bits_(element_bits(type)), kind_(kind), random_(random) {}

  std::uint64_t next() {
    const std::uint64_t raw = std::uint64_t{random_()} << 32 | random_();
    const std::uint64_t mask = bits_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits_) - 1;
    if (kind_ == InputKind::any_bits || layout_.exponent_bits == 0) return raw & mask;
    const unsigned top = (1u << layout_.exponent_bits) - 1, middle = top / 2;
    switch (kind_) {
    case InputKind::ordinary: return value(raw, std::clamp(middle + below(5), 2u, middle + 2) - (layout_.exponent_bits > 4 ? 2 : 0));
    case InputKind::wide: return value(raw, below(top));
    case InputKind::tiny: return below(3) == 0 ? raw & (mask ^ mask >> 1) : value(raw, below(2) * below(4));
    case InputKind::cancelling: last_ = ++count_ % 2 ? value(raw, middle + below(2)) : last_ ^ (mask ^ mask >> 1); return last_;
    case InputKind::huge: return value(raw, top - 1 - below(2));
    case InputKind::sparse_zeros: return below(4) != 0 ? raw & (mask ^ mask >> 1) : value(raw, middle - below(std::min(middle, 40u)));
    default: return below(64) == 0 ? (raw & mask) | std::uint64_t{top} << layout_.mantissa_bits : value(raw, middle);
    }
  }

private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  [[nodiscard]] std::uint64_t value(std::uint64_t raw, unsigned exponent) const {
    const std::uint64_t mantissa = raw & ((std::uint64_t{1} << layout_.mantissa_bits) - 1);
    const std::uint64_t sign = (raw >> 63) << (bits_ - 1);
    return sign | std::uint64_t{exponent} << layout_.mantissa_bits | mantissa;
  }

  Layout layout_;
  unsigned bits_;
  InputKind kind_;
  std::mt19937& random_;
  std::uint64_t last_ = 0;
  unsigned count_ = 0;
};

Registers fill(unsigned regs, MatrixType type, InputKind kind, std::mt19937& random) {
  Registers out(regs);
  Source source(type, kind, random);
  const unsigned bits = element_bits(type);
  for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
    for (unsigned item = 0; item < regs * 32 / bits; ++item) {
      const std::uint64_t value = source.next();
      for (unsigned bit = 0; bit < bits; ++bit) {
        const unsigned position = item * bits + bit;
        out[position / 32].lane[lane] |= static_cast<std::uint32_t>((value >> bit) & 1) << (position % 32);
      }
    }
  }
  return out;
}

} // namespace

std::string_view to_string(InputKind kind) {
  static constexpr std::string_view kNames[] = {"any_bits", "ordinary", "wide", "tiny", "cancelling", "huge", "sparse_zeros", "rare_special"};
  return kNames[static_cast<unsigned>(kind)];
}

MatrixInputs make_inputs(const sim::MatrixPlan& plan, InputKind kind, std::mt19937& random, bool modifiers) {
  MatrixInputs in;
  in.a = fill(plan.a_regs, plan.row.a, kind, random);
  in.b = fill(plan.b_regs, plan.row.b, kind, random);
  in.c = fill(plan.d_regs, plan.row.d, kind, random);
  for (std::uint32_t& lane : in.index.lane) lane = static_cast<std::uint32_t>(random());
  if (modifiers) {
    in.cbsz = static_cast<std::uint8_t>(random() % 5);
    in.abid = static_cast<std::uint8_t>(random() % 16);
    in.blgp = static_cast<std::uint8_t>(random() % 8);
  }
  return in;
}

} // namespace aql::test
