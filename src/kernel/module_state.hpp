#pragma once
// What a loaded module and a kernel of it hold; and the device's list of loaded code, which gives addresses names.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <aql/memory.hpp>
#include <aql/module.hpp>

namespace aql::detail {

// Thread safety: locks. Asked by the driver when it writes a fault report.
class LoadedCode {
public:
  void add(std::uint64_t load_address, const CodeObject& code);
  void remove(std::uint64_t load_address);
  [[nodiscard]] std::string name_of(std::uint64_t pc) const; // "gemm_tile+0x40", or empty

private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, CodeObject> loaded_;
};

struct ModuleState {
  Device device;
  CodeObject code;
  Buffer image;      // our loader placed the code here
  Allocation loaded; // the driver's loader did
  std::shared_ptr<LoadedCode> names;

  ModuleState(Device d, CodeObject c) : device(std::move(d)), code(std::move(c)) {}
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;
  ~ModuleState();
  [[nodiscard]] std::uint64_t load_address() const noexcept { return image.valid() ? image.device_address() : loaded.device_address; }
};

struct KernelState {
  std::shared_ptr<const ModuleState> module;
  const KernelInfo* info = nullptr; // lives in module->code
  std::uint64_t kernel_object = 0;
  std::string refusal;
};

// Why a kernel cannot be launched without services that aql does not have; empty if it can.
[[nodiscard]] std::string launch_refusal(const CodeObject& code, const KernelInfo& kernel);

} // namespace aql::detail
