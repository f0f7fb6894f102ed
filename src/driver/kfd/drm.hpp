#pragma once
// What libdrm_amdgpu knows of a GPU that the thunk does not say: its market name, the rate of its clock counter, memory in use.
// All of it may be missing: the library is not there, or the render node does not open.
// Thread safety: constant after creation; vram_free() from any thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace aql::detail::kfd {

class Drm {
public:
  // Never null; empty answers if something is missing.
  [[nodiscard]] static std::shared_ptr<Drm> open(int render_minor);
  ~Drm();
  Drm(const Drm&) = delete;
  Drm& operator=(const Drm&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }                // "AMD Instinct MI210"
  [[nodiscard]] std::uint64_t counter_hz() const noexcept { return counter_hz_; }         // 0: unknown
  [[nodiscard]] std::uint32_t engine_mhz() const noexcept { return engine_mhz_; }         // 0: unknown
  [[nodiscard]] std::optional<std::uint64_t> vram_free() const noexcept;

private:
  Drm() = default;
  int fd_ = -1;
  void* device_ = nullptr; // amdgpu_device_handle
  std::string name_;
  std::uint64_t counter_hz_ = 0;
  std::uint32_t engine_mhz_ = 0;
};

} // namespace aql::detail::kfd
