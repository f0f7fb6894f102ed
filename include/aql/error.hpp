#pragma once
// Errors of every fallible cold call: a code, the operating system's code where there was one, a sentence, and where.
// Thread safety: values; no shared state.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <aql/export.hpp>

namespace aql {

// What went wrong. The comment names the HSA status with the same meaning (hsa.h, hsa_ext_amd.h), if there is one.
enum class Errc : std::uint32_t {
  ok = 0,
  invalid_argument,          // HSA_STATUS_ERROR_INVALID_ARGUMENT 0x1001
  invalid_queue_creation,    // 0x1002
  invalid_allocation,        // 0x1003
  invalid_agent,             // 0x1004
  out_of_resources,          // 0x1008
  invalid_packet_format,     // 0x1009
  incompatible_arguments,    // 0x100D
  invalid_isa,               // 0x100F
  invalid_code_object,       // 0x1010
  invalid_symbol_name,       // 0x1013
  exception,                 // HSA_STATUS_ERROR_EXCEPTION 0x1016
  invalid_file,              // HSA_STATUS_ERROR_INVALID_FILE 0x1020: a file that cannot be read
  memory_aperture_violation, // HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION 41
  illegal_instruction,       // HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION 42
  memory_fault,              // HSA_STATUS_ERROR_MEMORY_FAULT 43
  out_of_registers,          // HSA_STATUS_ERROR_OUT_OF_REGISTERS 45 in newer headers
  unsupported,               // asked for something this build or device cannot do
  not_ready,                 // the value does not exist yet, e.g. a timestamp before completion
  timeout,                   // a deadline passed
  hang,                      // the watchdog ended the dispatch, or every resident wave is blocked
  queue_inactive,            // the queue stopped because of an earlier error
  device_lost,               // the driver or device failed as a whole
  system_error,              // an operating-system call failed; see os_error
  forked,                    // used in a child process after fork
};

// Short lower-case name: "memory_fault".
[[nodiscard]] AQL_API std::string_view to_string(Errc code) noexcept;

// The hsa_status_t value with the same meaning (0x1000 HSA_STATUS_ERROR if there is none).
[[nodiscard]] AQL_API std::uint32_t hsa_status(Errc code) noexcept;

struct Error {
  Errc code = Errc::ok;
  int os_error = 0;         // errno, or 0
  std::string detail;       // what was asked, what was found, what to do
  std::string_view where{}; // static string: the function that refused

  // "memory_fault: <detail> [where]" on one or more lines.
  [[nodiscard]] AQL_API std::string message() const;
};

template <class T>
using Result = std::expected<T, Error>;

} // namespace aql
