#pragma once
// Arguments of one launch, checked against the kernel's metadata as they are set.
// Thread safety: used by one thread at a time; a copy may be used by another.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/memory.hpp>
#include <aql/module.hpp>

namespace aql {

class AQL_API Kernargs {
public:
  // For `kernel`, nothing set. Bytes between arguments are zero, whatever memory held before.
  explicit Kernargs(const Kernel& kernel);

  // Sets explicit argument `index` (hidden ones are not counted) or the one called `name`. Errors, invalid_argument: no such
  // argument (the message lists them), wrong size, a buffer for a by-value argument or of another device, a freed buffer.
  Result<void> set(std::size_t index, const Buffer& buffer, std::size_t offset_bytes = 0);
  Result<void> set(std::string_view name, const Buffer& buffer, std::size_t offset_bytes = 0);
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  Result<void> set(std::size_t index, const T& value) {
    return set_bytes(index, std::as_bytes(std::span{&value, 1}));
  }
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  Result<void> set(std::string_view name, const T& value) {
    return set_bytes(name, std::as_bytes(std::span{&value, 1}));
  }
  Result<void> set_bytes(std::size_t index, std::span<const std::byte> value);
  Result<void> set_bytes(std::string_view name, std::span<const std::byte> value);
  // A device address that is no Buffer's start: memory of another owner, a module global, 0.
  Result<void> set_address(std::size_t index, std::uint64_t device_address);
  // Dynamic LDS for an OpenCL `local` pointer argument; its offset follows static LDS and earlier ones.
  Result<void> set_local(std::size_t index, std::uint32_t size_bytes);

  // All explicit arguments in order.
  template <class... Args>
  Result<void> set_all(const Args&... args) {
    if (sizeof...(Args) != explicit_count()) return wrong_count(sizeof...(Args));
    Result<void> done{};
    std::size_t index = 0;
    ((done = done ? set(index++, args) : done), ...);
    return done;
  }
  // The whole explicit part as one block in the kernel's own layout. Errors, invalid_argument: longer or shorter than the
  // explicit arguments are.
  Result<void> set_blob(std::span<const std::byte> explicit_part);

  [[nodiscard]] std::size_t explicit_count() const noexcept { return explicit_.size(); }
  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }
  // The block as far as it is known: explicit arguments set so far, everything else zero. kernarg_size bytes.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return block_; }
  [[nodiscard]] std::uint32_t local_bytes() const noexcept { return local_bytes_; }
  // Errors, invalid_argument: names the first explicit argument that was not set.
  [[nodiscard]] Result<void> complete() const;

private:
  Result<void> wrong_count(std::size_t given) const;
  Result<std::size_t> find(std::string_view name) const;
  Result<const KernelArg*> at(std::size_t index) const;
  void store(std::size_t index, std::span<const std::byte> value);
  [[nodiscard]] std::string describe(std::size_t index) const;

  Kernel kernel_;
  std::vector<std::byte> block_;
  std::vector<std::uint32_t> explicit_; // positions in info().args
  std::vector<bool> set_;
  std::uint32_t local_bytes_ = 0;
};

} // namespace aql
