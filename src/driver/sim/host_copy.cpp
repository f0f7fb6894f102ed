#include "driver/sim/host_copy.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

namespace aql::detail {
namespace {

Error bad_range(const char* what, std::uint64_t address, std::size_t size_bytes, const std::string& why) {
  return Error{Errc::invalid_argument, 0, fmt::format("{} of the copy, {} bytes at {:#x}: {}", what, size_bytes, address, why), "copy"};
}

} // namespace

Result<void> host_copy(sim::AddressMap& map, std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  std::byte* to = map.translate(dst, size_bytes, sim::kWrite);
  const std::byte* from = map.translate(src, size_bytes, sim::kRead);
  // An address inside the map whose range is not wholly mapped is a mistake, never host memory.
  if (to == nullptr && map.find(dst)) return std::unexpected(bad_range("destination", dst, size_bytes, map.describe(dst + size_bytes - 1)));
  if (from == nullptr && map.find(src)) return std::unexpected(bad_range("source", src, size_bytes, map.describe(src + size_bytes - 1)));
  const bool host_to = to == nullptr;
  const bool host_from = from == nullptr;
  if (host_to) to = reinterpret_cast<std::byte*>(dst);
  if (host_from) from = reinterpret_cast<const std::byte*>(src);
  if (!host_to && !host_from) {
    std::memmove(to, from, size_bytes);
    return {};
  }
  // The kernel copies to or from the host side, so that a wild host pointer is EFAULT and no signal.
  std::size_t done = 0;
  while (done < size_bytes) {
    iovec local{host_to ? const_cast<std::byte*>(from) + done : to + done, size_bytes - done};
    iovec remote{host_to ? to + done : const_cast<std::byte*>(from) + done, size_bytes - done};
    const auto n = host_to ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0) : process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && (errno == EPERM || errno == ENOSYS)) { // a sandbox forbids the call: copy unchecked
      std::memmove(to + done, from + done, size_bytes - done);
      return {};
    }
    return std::unexpected(bad_range(host_to ? "destination" : "source", host_to ? dst : src, size_bytes,
                                     fmt::format("no memory of this device and not {} host memory", host_to ? "writable" : "readable")));
  }
  return {};
}

} // namespace aql::detail
