#include "sim/fault.hpp"

#include <iterator>

#include <fmt/format.h>

namespace aql::sim {
namespace {

const char* verb(FaultAccess access) noexcept {
  switch (access) {
  case FaultAccess::none: return "access";
  case FaultAccess::read: return "read";
  case FaultAccess::write: return "write";
  case FaultAccess::atomic: return "atomic";
  case FaultAccess::fetch: return "instruction fetch";
  }
  return "access";
}

} // namespace

std::string Fault::report() const {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{}: {}\n", to_string(code), reason.empty() ? "no reason given" : reason);
  fmt::format_to(out, "  kernel:    {}\n", kernel.empty() ? "(no symbol)" : kernel);
  fmt::format_to(out, "  pc:        {:#x}", pc);
  if (word_count != 0) {
    text += "  words";
    for (std::uint32_t i = 0; i < word_count && i < std::size(words); ++i) fmt::format_to(out, " {:08x}", words[i]);
  }
  if (!instruction.empty()) fmt::format_to(out, "  {}", instruction);
  text += '\n';
  fmt::format_to(out, "  workgroup: ({}, {}, {})  wave {}  packet {}\n", workgroup[0], workgroup[1], workgroup[2], wave, packet_index);
  if (access != FaultAccess::none) {
    fmt::format_to(out, "  access:    {} of {} bytes at {:#x}", verb(access), size_bytes, address);
    if (access != FaultAccess::fetch) fmt::format_to(out, ", lane {}", lane);
    text += '\n';
    if (!nearest.empty()) fmt::format_to(out, "  nearest:   {}\n", nearest);
  }
  return text;
}

} // namespace aql::sim
