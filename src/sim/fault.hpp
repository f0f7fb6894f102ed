#pragma once
// What stopped a wave, with everything a report needs.

#include <cstdint>
#include <string>

#include <aql/error.hpp>

namespace aql::sim {

enum class FaultAccess : std::uint8_t { none, read, write, atomic, fetch };

struct Fault {
  Errc code = Errc::ok;             // memory_fault, memory_aperture_violation, illegal_instruction, unsupported (not implemented), exception, hang, ...
  std::string reason;               // "illegal instruction", "v_foo_b32 is not implemented by the software GPU", ...
  std::uint64_t pc = 0;
  std::uint32_t words[4] = {0, 0, 0, 0};
  std::uint32_t word_count = 0;
  std::string instruction;          // the words as assembly text
  FaultAccess access = FaultAccess::none;
  std::uint64_t address = 0;
  std::uint32_t size_bytes = 0;
  std::uint32_t lane = 0;
  std::string nearest;              // "4 bytes past buffer 'a' of 1024 bytes at 0x..., device coarse", from AddressMap::describe
  // Filled by the packet processor before reporting:
  std::string kernel;               // symbol, if known
  std::uint32_t workgroup[3] = {0, 0, 0};
  std::uint32_t wave = 0;           // index inside the workgroup
  std::uint64_t packet_index = 0;

  // Several lines, human readable.
  [[nodiscard]] std::string report() const;
};

} // namespace aql::sim
