#pragma once
// Modules and kernels: a code object placed in a device's executable memory, and what can be launched from it.
// Thread safety: Module and Kernel are immutable shared handles; all members may be called from any thread.
// Lifetime: a Kernel keeps its module loaded, and a launch keeps its kernel until it has completed. A module therefore never
// goes while one of its kernels runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <aql/code_object.hpp>
#include <aql/device.hpp>
#include <aql/error.hpp>
#include <aql/export.hpp>

namespace aql {

namespace detail {
struct ModuleState;
struct KernelState;
} // namespace detail

class AQL_API Kernel {
public:
  Kernel() noexcept; // not valid: launching it is an error
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  // Only on a valid kernel:
  [[nodiscard]] const KernelInfo& info() const noexcept;
  [[nodiscard]] std::string_view name() const noexcept;          // symbol without ".kd"
  [[nodiscard]] std::uint64_t kernel_object() const noexcept;    // device address of the descriptor, for a packet
  [[nodiscard]] const Device& device() const noexcept;
  [[nodiscard]] const CodeObject& code_object() const noexcept;
  // Why this kernel cannot be launched by aql (it needs hostcall, printf, a device heap ...), or empty.
  [[nodiscard]] std::string_view refusal() const noexcept;

private:
  friend class Module;
  explicit Kernel(std::shared_ptr<const detail::KernelState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const detail::KernelState> state_;
};

// A device global of a loaded module.
struct Global {
  std::uint64_t device_address = 0;
  std::size_t size_bytes = 0;
};

class AQL_API Module {
public:
  // Loads an AMDGPU ELF, or the entry for this device out of an offload bundle (plain or compressed). Undefined symbols are
  // an error unless `resolve` knows them. Errors: invalid_code_object, unsupported (a version this build does not read),
  // invalid_isa (made for another target: the message names both), invalid_symbol_name, out_of_resources.
  [[nodiscard]] static Result<Module> load(const Device& device, std::span<const std::byte> file, const SymbolResolver& resolve = {});
  [[nodiscard]] static Result<Module> load(const Device& device, const CodeObject& code, const SymbolResolver& resolve = {});
  // Errors: those above, and invalid_file.
  [[nodiscard]] static Result<Module> load_file(const Device& device, const std::string& path, const SymbolResolver& resolve = {});

  // By symbol, with or without ".kd". Errors: invalid_symbol_name, listing near matches.
  [[nodiscard]] Result<Kernel> kernel(std::string_view name) const;
  [[nodiscard]] Result<Global> global(std::string_view name) const;
  [[nodiscard]] const CodeObject& code_object() const noexcept;
  [[nodiscard]] const Device& device() const noexcept;
  [[nodiscard]] std::uint64_t load_address() const noexcept;

private:
  explicit Module(std::shared_ptr<const detail::ModuleState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const detail::ModuleState> state_;
};

} // namespace aql
