// SDMA packets that move data: linear and rectangular copies, fills, writes.

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "sim/cp/sdma.hpp"

namespace aql::sim {
namespace {

constexpr std::uint32_t kLinearCountMask = 0x3fffffffu; // 22 bits on older engines, 30 from SDMA 4.4 on
constexpr std::uint32_t kCountMask = 0x3fffffu;
constexpr std::uint64_t kBounceBytes = 16384; // one access of the port

[[nodiscard]] constexpr std::uint64_t pair(std::uint32_t low, std::uint32_t high) noexcept {
  return low | static_cast<std::uint64_t>(high) << 32;
}

} // namespace

std::uint64_t SdmaInterpreter::contiguous(std::uint64_t address, std::uint64_t most) const {
  const auto extent = map_.extent(address);
  if (address < extent.begin || address >= extent.end) return most;
  return std::min(most, extent.end - address);
}

// Ascending addresses; the budget bounds one turn.
SdmaInterpreter::Step SdmaInterpreter::move(std::uint64_t source, std::uint64_t destination, std::uint64_t second,
                                            std::uint64_t bytes) {
  std::byte buffer[kBounceBytes];
  Fault bad;
  while (bytes != 0) {
    if (budget_ == 0) return Step::more;
    std::uint64_t n = std::min({bytes, budget_, kBounceBytes});
    n = contiguous(destination, contiguous(source, n));
    if (second != 0) n = contiguous(second, n);
    const auto size = static_cast<std::uint32_t>(n);
    if (!port_.read(source, buffer, size, bad) || !port_.write(destination, buffer, size, bad) ||
        (second != 0 && !port_.write(second, buffer, size, bad))) {
      return fault(bad);
    }
    source += n;
    destination += n;
    if (second != 0) second += n;
    bytes -= n;
    done_ += n;
    budget_ -= n;
  }
  return Step::next;
}

SdmaInterpreter::Step SdmaInterpreter::do_copy_linear(const std::uint32_t* p) {
  const bool broadcast = (p[0] & sdma::kCopyBroadcast) != 0;
  const std::uint64_t bytes = (p[1] & kLinearCountMask) + 1ull;
  if ((p[2] >> 16 & 3u) != 0 || (p[2] >> 24 & 3u) != 0) return fail(Errc::unsupported, "COPY_LINEAR with byte swap");
  return move(pair(p[3], p[4]) + done_, pair(p[5], p[6]) + done_, broadcast ? pair(p[7], p[8]) + done_ : 0, bytes - done_);
}

// Offsets, pitches and sizes count elements of 2^n bytes.
SdmaInterpreter::Step SdmaInterpreter::do_copy_rect(const std::uint32_t* p) {
  const std::uint32_t element = p[0] >> 29;
  if (element > 4)
    return fail(Errc::invalid_packet_format, fmt::format("sub-window copy with element size code {}; 0 to 4 exist", element));
  if ((p[12] >> 16 & 3u) != 0 || (p[12] >> 24 & 3u) != 0) return fail(Errc::unsupported, "sub-window copy with byte swap");
  struct Side {
    std::uint64_t base, pitch, slice;
  };
  const auto side = [element](const std::uint32_t* w) {
    Side s{pair(w[0], w[1]), ((w[3] >> 13) + 1ull) << element, ((w[4] & 0xfffffffu) + 1ull) << element};
    s.base +=
        (static_cast<std::uint64_t>(w[2] & 0x3fffu) << element) + (w[2] >> 16 & 0x3fffu) * s.pitch + (w[3] & 0x7ffu) * s.slice;
    return s;
  };
  const Side from = side(p + 1), to = side(p + 6);
  const std::uint64_t row = ((p[11] & 0x3fffu) + 1ull) << element, rows = (p[11] >> 16 & 0x3fffu) + 1ull,
                      slices = (p[12] & 0x7ffu) + 1ull, total = row * rows * slices;
  while (done_ < total) {
    const std::uint64_t index = done_ / row, x = done_ % row, y = index % rows, z = index / rows;
    const Step step = move(from.base + z * from.slice + y * from.pitch + x, to.base + z * to.slice + y * to.pitch + x, 0, row - x);
    if (step != Step::next) return step;
  }
  return Step::next;
}

// The fill size says how much of the data is repeated: a byte, two bytes or a dword. The count is the number of bytes minus one
// (or, as some write it, minus one unit).
SdmaInterpreter::Step SdmaInterpreter::do_fill(const std::uint32_t* p) {
  const std::uint32_t unit_log2 = p[0] >> 30;
  if (unit_log2 == 3) return fail(Errc::invalid_packet_format, "CONST_FILL with fill size code 3; 0, 1 and 2 exist");
  const std::uint64_t bytes = (((p[4] & kCountMask) >> unit_log2) + 1ull) << unit_log2;
  std::uint32_t pattern = p[3];
  if (unit_log2 == 0) pattern = (pattern & 0xffu) * 0x01010101u;
  if (unit_log2 == 1) pattern = (pattern & 0xffffu) * 0x00010001u;
  alignas(4) std::byte buffer[4096 + 4];
  for (std::size_t i = 0; i < sizeof buffer; i += 4) std::memcpy(buffer + i, &pattern, 4);
  const std::uint64_t base = pair(p[1], p[2]);
  Fault bad;
  while (done_ < bytes) {
    if (budget_ == 0) return Step::more;
    const std::uint64_t n = contiguous(base + done_, std::min<std::uint64_t>({bytes - done_, budget_, 4096}));
    if (!port_.write(base + done_, buffer + done_ % 4, static_cast<std::uint32_t>(n), bad)) return fault(bad);
    done_ += n;
    budget_ -= n;
  }
  return Step::next;
}

SdmaInterpreter::Step SdmaInterpreter::do_write(const std::uint32_t* p, std::uint32_t count) {
  const std::uint64_t base = pair(p[1] & ~3u, p[2]);
  if ((p[3] >> 24 & 3u) != 0) return fail(Errc::unsupported, "WRITE with byte swap");
  Fault bad;
  for (; done_ < 4ull * count; done_ += 4, budget_ -= 4) {
    if (budget_ < 4) return Step::more;
    std::uint32_t word = 0;
    if (!fetch(position_ + 4 + done_ / 4, 1, &word)) return Step::error;
    if (!port_.write(base + done_, &word, 4, bad)) return fault(bad);
  }
  return Step::next;
}

} // namespace aql::sim
