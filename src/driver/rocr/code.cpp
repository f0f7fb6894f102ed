#include "driver/rocr/code.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::rocr {

CodeLoader::Loaded::~Loaded() {
  if (have_executable) {
    if (const auto status = api.hsa_executable_destroy(executable); status != HSA_STATUS_SUCCESS) log::error(failure(api, status, "an executable cannot be destroyed", "rocr").message());
  }
  if (have_reader) (void)api.hsa_code_object_reader_destroy(reader);
}

CodeLoader::~CodeLoader() = default;

Error CodeLoader::refused(hsa_status_t status, const CodeRequest& request, const char* step) const {
  std::string text = fmt::format("the HSA runtime ({}) does not load this version-{} code object ({}: {})", runtime_.version(), request.version, step, describe(api_, status));
  if (status == HSA_STATUS_ERROR_INVALID_CODE_OBJECT && request.version >= 6)
    text += "; runtimes before ROCm 6 read versions up to 5: compile with -mcode-object-version=5";
  return Error{errc_of(status), 0, std::move(text), "Module::load"};
}

Result<Allocation> CodeLoader::load(const CodeRequest& request) {
  auto loaded = std::make_unique<Loaded>(api_);
  loaded->file.assign(request.file.begin(), request.file.end());
  auto status = api_.hsa_code_object_reader_create_from_memory(loaded->file.data(), loaded->file.size(), &loaded->reader);
  if (status != HSA_STATUS_SUCCESS) return std::unexpected(refused(status, request, "reader"));
  loaded->have_reader = true;
  status = api_.hsa_executable_create_alt(agent_.profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &loaded->executable);
  if (status != HSA_STATUS_SUCCESS) return std::unexpected(refused(status, request, "executable"));
  loaded->have_executable = true;
  for (const auto& name : request.imports) {
    const auto address = request.resolve ? request.resolve(name) : std::nullopt;
    if (!address) return std::unexpected(Error{Errc::invalid_symbol_name, 0, fmt::format("the code object needs '{}' from outside, and the resolver does not know it", name), "Module::load"});
    status = api_.hsa_executable_agent_global_variable_define(loaded->executable, agent_.handle, name.c_str(), reinterpret_cast<void*>(*address));
    if (status != HSA_STATUS_SUCCESS) return std::unexpected(refused(status, request, "external variable"));
  }
  status = api_.hsa_executable_load_agent_code_object(loaded->executable, agent_.handle, loaded->reader, nullptr, nullptr);
  if (status != HSA_STATUS_SUCCESS) return std::unexpected(refused(status, request, "load"));
  status = api_.hsa_executable_freeze(loaded->executable, nullptr);
  if (status != HSA_STATUS_SUCCESS) return std::unexpected(refused(status, request, "freeze"));
  auto address = image_address(*loaded, request);
  if (!address) return std::unexpected(address.error());
  const std::lock_guard lock{mutex_};
  const std::uint64_t cookie = next_++;
  loaded_[cookie] = std::move(loaded);
  return Allocation{*address, nullptr, request.image_bytes, PoolKind::executable, cookie};
}

// Where our image's first byte came to lie: the loader says by how much it moved the file's addresses, and every kernel's
// descriptor must be where that puts it.
Result<std::uint64_t> CodeLoader::image_address(const Loaded& loaded, const CodeRequest& request) const {
  const auto refuse = [](std::string text) { return std::unexpected(Error{Errc::invalid_code_object, 0, std::move(text), "Module::load"}); };
  struct Find {
    const hsa_ven_amd_loader_1_01_pfn_t& loader;
    std::int64_t delta = 0;
    unsigned count = 0;
  } find{*runtime_.loader()};
  (void)runtime_.loader()->hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
      loaded.executable,
      [](hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
        auto& f = *static_cast<Find*>(data);
        f.count += f.loader.hsa_ven_amd_loader_loaded_code_object_get_info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &f.delta) == HSA_STATUS_SUCCESS;
        return HSA_STATUS_SUCCESS;
      },
      &find);
  if (find.count != 1) return refuse(fmt::format("the HSA runtime reports {} loaded code objects of one file", find.count));
  const std::uint64_t address = static_cast<std::uint64_t>(find.delta) + request.virtual_base;
  for (const auto& kernel : request.kernels) {
    hsa_executable_symbol_t symbol{};
    auto status = api_.hsa_executable_get_symbol_by_name(loaded.executable, kernel.symbol.c_str(), &agent_.handle, &symbol);
    if (status == HSA_STATUS_ERROR_INVALID_SYMBOL_NAME) continue; // a hidden one: the runtime lists what is exported
    std::uint64_t object = 0;
    if (status == HSA_STATUS_SUCCESS) status = api_.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
    if (status != HSA_STATUS_SUCCESS) return std::unexpected(refused(status, request, kernel.symbol.c_str()));
    if (object != address + kernel.image_offset) {
      return refuse(fmt::format("the HSA runtime put kernel '{}' at {:#x}; by the load address {:#x} it should be at {:#x}", kernel.symbol, object, address, address + kernel.image_offset));
    }
  }
  return address;
}

Result<void> CodeLoader::unload(const Allocation& allocation) {
  std::unique_ptr<Loaded> going;
  const std::lock_guard lock{mutex_};
  const auto found = loaded_.find(allocation.cookie);
  if (found == loaded_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("no code is loaded at {:#x}", allocation.device_address), "unload_code"});
  going = std::move(found->second);
  loaded_.erase(found);
  return {};
}

} // namespace aql::detail::rocr
