#pragma once
// Exact binary arithmetic for the references of the vector ALU: numbers of any size that IEEE formats and their products reach,
// and one rounding to a format. Slow and plain; knows nothing of the host's floating point.

#include <array>
#include <cstdint>

namespace aql::test {

enum class Rounding : unsigned { nearest_even = 0, up = 1, down = 2, zero = 3 }; // as MODE encodes it

// Sign and magnitude, fixed point: word 0 bit 0 has the weight 2^kLowest.
class Exact {
public:
  static constexpr int kWords = 220, kLowest = -3600;

  Exact() = default;
  // (-1)^negative * mantissa * 2^exponent
  Exact(bool negative, std::uint64_t mantissa, int exponent);
  [[nodiscard]] static Exact of_f32(std::uint32_t bits);
  [[nodiscard]] static Exact of_f64(std::uint64_t bits);
  [[nodiscard]] static Exact product_f32(std::uint32_t a, std::uint32_t b);
  [[nodiscard]] static Exact product_f64(std::uint64_t a, std::uint64_t b);

  [[nodiscard]] bool is_zero() const;
  [[nodiscard]] bool negative() const { return negative_; }
  [[nodiscard]] Exact scaled(int exponent) const; // * 2^exponent
  // A sum that is zero has the sign of both terms if they agree, else - only when rounding down.
  [[nodiscard]] Exact plus(const Exact& other, Rounding rounding) const;

  // Overflow gives infinity or the largest number, as the direction says. A zero keeps its sign.
  [[nodiscard]] std::uint32_t to_f32(Rounding rounding) const;
  [[nodiscard]] std::uint64_t to_f64(Rounding rounding) const;

private:
  void place(std::uint64_t mantissa, int exponent); // adds to the magnitude
  [[nodiscard]] int top() const;                    // index of the highest set bit, -1 for zero
  [[nodiscard]] bool bit(int n) const;
  [[nodiscard]] std::uint64_t round_to(int fraction_bits, int min_exponent, int max_exponent, Rounding rounding) const;

  bool negative_ = false;
  std::array<std::uint32_t, kWords> word_{};
};

} // namespace aql::test
