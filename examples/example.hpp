#pragma once
// What the examples share: giving up with a message, and finding their kernels.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <aql/aql.hpp>

// The value of a result, or the end of the program with its error.
template <class T>
T need(aql::Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what, result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// build/.../kernels/NAME.TARGET.co for the device's target.
inline std::string kernel_file(const aql::Device& device, const char* name) {
  return std::string{AQL_KERNEL_DIR} + "/" + name + "." + device.info().target + ".co";
}

// Prints PASS or FAIL; the program's exit status.
inline int verdict(bool ok) {
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
