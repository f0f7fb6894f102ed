#include <aql/error.hpp>

#include <cstring>

namespace aql {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
  case Errc::ok: return "ok";
  case Errc::invalid_argument: return "invalid_argument";
  case Errc::invalid_queue_creation: return "invalid_queue_creation";
  case Errc::invalid_allocation: return "invalid_allocation";
  case Errc::invalid_agent: return "invalid_agent";
  case Errc::out_of_resources: return "out_of_resources";
  case Errc::invalid_packet_format: return "invalid_packet_format";
  case Errc::incompatible_arguments: return "incompatible_arguments";
  case Errc::invalid_isa: return "invalid_isa";
  case Errc::invalid_code_object: return "invalid_code_object";
  case Errc::invalid_symbol_name: return "invalid_symbol_name";
  case Errc::exception: return "exception";
  case Errc::invalid_file: return "invalid_file";
  case Errc::memory_aperture_violation: return "memory_aperture_violation";
  case Errc::illegal_instruction: return "illegal_instruction";
  case Errc::memory_fault: return "memory_fault";
  case Errc::out_of_registers: return "out_of_registers";
  case Errc::unsupported: return "unsupported";
  case Errc::not_ready: return "not_ready";
  case Errc::timeout: return "timeout";
  case Errc::hang: return "hang";
  case Errc::queue_inactive: return "queue_inactive";
  case Errc::device_lost: return "device_lost";
  case Errc::system_error: return "system_error";
  case Errc::forked: return "forked";
  }
  return "unknown";
}

std::uint32_t hsa_status(Errc code) noexcept {
  switch (code) {
  case Errc::ok: return 0;
  case Errc::invalid_argument: return 0x1001;
  case Errc::invalid_queue_creation: return 0x1002;
  case Errc::invalid_allocation: return 0x1003;
  case Errc::invalid_agent: return 0x1004;
  case Errc::out_of_resources: return 0x1008;
  case Errc::invalid_packet_format: return 0x1009;
  case Errc::incompatible_arguments: return 0x100D;
  case Errc::invalid_isa: return 0x100F;
  case Errc::invalid_code_object: return 0x1010;
  case Errc::invalid_symbol_name: return 0x1013;
  case Errc::exception: return 0x1016;
  case Errc::invalid_file: return 0x1020;
  case Errc::memory_aperture_violation: return 41;
  case Errc::illegal_instruction: return 42;
  case Errc::memory_fault: return 43;
  case Errc::out_of_registers: return 45;
  default: return 0x1000;
  }
}

std::string Error::message() const {
  std::string text{to_string(code)};
  if (!detail.empty()) {
    text += ": ";
    text += detail;
  }
  if (os_error != 0) {
    text += " (";
    text += std::strerror(os_error);
    text += ")";
  }
  if (!where.empty()) {
    text += " [";
    text += where;
    text += "]";
  }
  return text;
}

} // namespace aql
