#pragma once
// Takes any bytes through everything the loader offers, as a careless caller would. Shared by the fuzzer, its replay and the
// damage sweeps: nothing here may crash, hang or allocate without measure, whatever the bytes are.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <aql/bundle.hpp>
#include <aql/code_object.hpp>

namespace aql::test {

// Sum of things seen, so that nothing is optimised away. 0: refused.
inline std::uint64_t exercise_code_object(std::span<const std::byte> bytes) {
  const auto object = CodeObject::parse(bytes);
  if (!object) return object.error().message().empty() ? 1 : 0; // a refusal without words would be a defect
  std::uint64_t sum = 1 + object->code_object_version() + object->target_id().to_string().size();
  for (const auto& kernel : object->kernels()) {
    const auto found = object->find_kernel(kernel.symbol);
    sum += found ? (*found)->args.size() : 0;
    sum += object->describe(kernel).size() + kernel.display_name().size();
    sum += object->kernel_at(kernel.entry_offset) != nullptr ? 1 : 0;
    if (const auto scratch = scratch_bytes_per_wave(kernel.private_segment_size)) sum += *scratch;
  }
  for (const auto& global : object->globals()) sum += object->find_global(global.name) ? 1 : 0;
  for (const auto& relocation : object->relocations()) sum += relocation_name(relocation.type).size() + relocation.symbol.size();
  (void)object->find_kernel("no such kernel");
  if (object->image_size() <= (16U << 20)) {
    std::vector<std::byte> image(static_cast<std::size_t>(object->image_size()));
    const auto loaded =
        object->load_into(image, 1024 * object->image_align(), [](std::string_view) { return std::uint64_t{0x1234}; });
    if (!loaded) sum += loaded.error().message().size();
    for (std::uint64_t at = 0; at < object->image_size(); at += 1 + object->image_size() / 64) {
      if (const auto function = object->function_at(at)) sum += function->name.size();
      sum += object->kernel_at(at) != nullptr ? 1 : 0;
    }
  }
  return sum;
}

inline std::uint64_t exercise_loader(std::span<const std::byte> bytes) {
  if (!Bundle::recognizes(bytes)) return exercise_code_object(bytes);
  const auto bundle = Bundle::open(bytes, {.max_decompressed_bytes = 8U << 20});
  if (!bundle) return 0;
  std::uint64_t sum = 1;
  for (const auto& entry : bundle->entries()) {
    sum += entry.kind.size() + exercise_code_object(entry.bytes);
    if (entry.target) sum += bundle->select(*entry.target) ? 1 : 0;
  }
  (void)read_code_object(bytes, "gfx942:sramecc+:xnack-", {.max_decompressed_bytes = 8U << 20});
  return sum;
}

} // namespace aql::test
