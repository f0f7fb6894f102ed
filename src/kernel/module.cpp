#include <aql/module.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include <aql/bundle.hpp>

#include "base/log.hpp"
#include "device/state.hpp"
#include "kernel/module_state.hpp"

namespace aql {
namespace detail {

void LoadedCode::add(std::uint64_t load_address, const CodeObject& code) {
  const std::lock_guard lock{mutex_};
  loaded_.insert_or_assign(load_address, code);
}

void LoadedCode::remove(std::uint64_t load_address) {
  const std::lock_guard lock{mutex_};
  loaded_.erase(load_address);
}

std::string LoadedCode::name_of(std::uint64_t pc) const {
  const std::lock_guard lock{mutex_};
  auto next = loaded_.upper_bound(pc);
  if (next == loaded_.begin()) return {};
  --next;
  const auto offset = pc - next->first;
  if (offset >= next->second.image_size()) return {};
  // A descriptor's address names its kernel: the packet processor asks for that too.
  for (const auto& kernel : next->second.kernels()) {
    if (kernel.descriptor_offset == offset) return std::string{kernel.display_name()};
  }
  const auto function = next->second.function_at(offset);
  if (!function) return {};
  return function->offset == 0 ? std::string{function->name} : fmt::format("{}+{:#x}", function->name, function->offset);
}

std::string launch_refusal(const CodeObject& code, const KernelInfo& kernel) {
  const auto has = [&](ArgKind kind) { return std::ranges::any_of(kernel.args, [&](const KernelArg& arg) { return arg.kind == kind; }); };
  if (kernel.wavefront_size != 64) return fmt::format("it was compiled for waves of {}; these targets run waves of 64", kernel.wavefront_size);
  if (kernel.kind == "init" || kernel.kind == "fini") return fmt::format("it is the module's {} kernel, which the toolchain's runtime calls", kernel.kind);
  if (has(ArgKind::hidden_printf_buffer) || !code.printf_formats().empty()) return "it prints (hidden_printf_buffer), and aql has no printf service";
  // Without optimisation clang lists every hidden argument, used or not; all three of these together show that. Then nothing
  // can be concluded, and the pointers are null: a kernel that really uses one faults on the null page.
  const bool listed_unasked = has(ArgKind::hidden_multigrid_sync_arg) && has(ArgKind::hidden_default_queue) && has(ArgKind::hidden_completion_action);
  if (listed_unasked) return {};
  if (has(ArgKind::hidden_hostcall_buffer)) return "it calls host services (hidden_hostcall_buffer: printf, assert or malloc of the device library), and aql has none";
  if (has(ArgKind::hidden_heap_v1)) return "it allocates on the device (hidden_heap_v1), and aql has no device heap";
  if (has(ArgKind::hidden_default_queue) || has(ArgKind::hidden_completion_action)) return "it enqueues kernels from the device (hidden_default_queue), and aql has no device-side scheduler";
  if (has(ArgKind::hidden_multigrid_sync_arg)) return "it synchronises several grids (hidden_multigrid_sync_arg), and aql launches no cooperative multi-grid kernels";
  for (const auto& arg : kernel.args) {
    if (arg.kind == ArgKind::other && arg.hidden()) return fmt::format("its hidden argument '{}' is not known to this build", arg.value_kind);
  }
  return {};
}

namespace {

// Makes the driver ask this device's list for names; the list outlives the driver's use of it by shared ownership.
std::shared_ptr<LoadedCode> loaded_code(DeviceState& state) {
  const std::lock_guard lock{state.code_mutex};
  if (!state.code) {
    state.code = std::make_shared<LoadedCode>();
    state.driver->set_symbolizer([names = state.code](std::uint64_t pc) { return names->name_of(pc); });
  }
  return state.code;
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const auto failed = [&](const char* what) {
    return std::unexpected(Error{Errc::invalid_file, errno, fmt::format("'{}' cannot be {}", path, what), "Module::load_file"});
  };
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return failed("opened");
  std::vector<std::byte> bytes;
  std::byte block[65536];
  std::size_t n = 0;
  while ((n = std::fread(block, 1, sizeof block, file)) > 0) bytes.insert(bytes.end(), block, block + n);
  const bool bad = std::ferror(file) != 0;
  std::fclose(file);
  if (bad) return failed("read");
  return bytes;
}

// Our own loader: the image is relocated here and copied into executable memory.
Result<void> load_here(ModuleState& state, const SymbolResolver& resolve) {
  const CodeObject& code = state.code;
  auto image = state.device.allocate(PoolKind::executable, code.image_size(), "code object");
  if (!image) return std::unexpected(image.error());
  state.image = std::move(*image);
  if (const auto host = state.image.host(); !host.empty()) {
    if (auto done = code.load_into(host, state.image.device_address(), resolve); !done) return done;
  } else {
    std::vector<std::byte> staging(code.image_size());
    if (auto done = code.load_into(staging, state.image.device_address(), resolve); !done) return done;
    if (auto done = state.image.write(staging.data(), staging.size()); !done) return done;
  }
  std::vector<CodeSegment> segments;
  for (const auto& segment : code.segments()) segments.push_back({segment.image_offset, segment.memory_size, segment.read, segment.write, segment.execute});
  Allocation allocation;
  allocation.device_address = state.image.device_address();
  allocation.host = state.image.host().data();
  allocation.size_bytes = state.image.size_bytes();
  allocation.kind = PoolKind::executable;
  return state.device.driver()->commit_code(allocation, segments);
}

// The driver's: it gets the file and says where the image lies.
Result<void> load_by_driver(ModuleState& state, const SymbolResolver& resolve) {
  const CodeObject& code = state.code;
  std::vector<CodeRequest::Kernel> kernels;
  for (const auto& kernel : code.kernels()) kernels.push_back({kernel.symbol, kernel.descriptor_offset});
  CodeRequest request;
  request.file = code.bytes();
  request.version = code.code_object_version();
  if (const auto segments = code.segments(); !segments.empty()) request.virtual_base = segments.front().virtual_address - segments.front().image_offset;
  request.image_bytes = code.image_size();
  request.kernels = kernels;
  request.imports = code.imports();
  request.resolve = resolve;
  auto loaded = state.device.driver()->load_code(request);
  if (!loaded) return std::unexpected(loaded.error());
  state.loaded = *loaded;
  state.device.state()->memory.add({*loaded, "code object", false});
  return {};
}

} // namespace

ModuleState::~ModuleState() {
  if (load_address() == 0) return;
  auto& owner = *device.state();
  if (owner.fork.forked()) return;
  if (names) names->remove(load_address());
  if (image.valid()) return; // frees itself
  if (auto known = owner.memory.remove(loaded.device_address); !known) log::error(known.error().message());
  if (auto done = owner.driver->unload_code(loaded); !done) log::error(done.error().message());
}

} // namespace detail

Kernel::Kernel() noexcept = default;
const KernelInfo& Kernel::info() const noexcept { return *state_->info; }
std::string_view Kernel::name() const noexcept { return state_->info->display_name(); }
std::uint64_t Kernel::kernel_object() const noexcept { return state_->kernel_object; }
const Device& Kernel::device() const noexcept { return state_->module->device; }
const CodeObject& Kernel::code_object() const noexcept { return state_->module->code; }
std::string_view Kernel::refusal() const noexcept { return state_->refusal; }

Result<Module> Module::load(const Device& device, std::span<const std::byte> file, const SymbolResolver& resolve) {
  auto target = TargetId::parse(device.info().isa);
  if (!target) return std::unexpected(target.error());
  auto code = read_code_object(file, *target);
  if (!code) return std::unexpected(code.error());
  return load(device, *code, resolve);
}

Result<Module> Module::load_file(const Device& device, const std::string& path, const SymbolResolver& resolve) {
  auto bytes = detail::read_file(path);
  if (!bytes) return std::unexpected(bytes.error());
  auto module = load(device, *bytes, resolve);
  if (!module) {
    Error error = module.error();
    error.detail = fmt::format("'{}': {}", path, error.detail);
    return std::unexpected(std::move(error));
  }
  return module;
}

Result<Module> Module::load(const Device& device, const CodeObject& code, const SymbolResolver& resolve) {
  auto& device_state = *device.state();
  if (auto alive = device_state.fork.check("Module::load"); !alive) return std::unexpected(alive.error());
  auto target = TargetId::parse(device.info().isa);
  if (!target) return std::unexpected(target.error());
  if (const auto why = incompatibility(code.target_id(), *target)) {
    return std::unexpected(Error{Errc::invalid_isa, 0, fmt::format("code for {} does not run on {} ({}): {}", code.target_id().short_name(), device.info().selector, target->short_name(), *why), "Module::load"});
  }
  if (code.image_align() > 4096) {
    return std::unexpected(Error{Errc::invalid_code_object, 0, fmt::format("the image asks for {}-byte alignment; at most 4096 is supported", code.image_align()), "Module::load"});
  }
  auto state = std::make_shared<detail::ModuleState>(device, code);
  if (auto placed = device_state.driver->loads_code() ? detail::load_by_driver(*state, resolve) : detail::load_here(*state, resolve); !placed) return std::unexpected(placed.error());
  state->names = detail::loaded_code(device_state);
  state->names->add(state->load_address(), code);
  return Module{std::move(state)};
}

Result<Kernel> Module::kernel(std::string_view name) const {
  auto info = state_->code.find_kernel(name);
  if (!info) return std::unexpected(info.error());
  auto kernel = std::make_shared<detail::KernelState>();
  kernel->module = state_;
  kernel->info = *info;
  kernel->kernel_object = load_address() + (*info)->descriptor_offset;
  kernel->refusal = detail::launch_refusal(state_->code, **info);
  return Kernel{std::move(kernel)};
}

Result<Global> Module::global(std::string_view name) const {
  auto global = state_->code.find_global(name);
  if (!global) return std::unexpected(global.error());
  return Global{load_address() + (*global)->image_offset, (*global)->size};
}

const CodeObject& Module::code_object() const noexcept { return state_->code; }
const Device& Module::device() const noexcept { return state_->device; }
std::uint64_t Module::load_address() const noexcept { return state_->load_address(); }

} // namespace aql
