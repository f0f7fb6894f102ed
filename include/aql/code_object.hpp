#pragma once
// CodeObject: what an AMDGPU ELF shared object holds, read and checked, without a device. Bytes in, facts and an image out.
// ELF64 for HSA, code object versions 4, 5 and 6 (LLVM AMDGPUUsage, "ELF Code Object" and "Code Object Metadata").
// Thread safety: a CodeObject is an immutable shared value; copies are cheap, and all members may be called from any thread.
// Lifetime: what the accessors return lives as long as any copy of the CodeObject.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <aql/abi/kernel_descriptor.hpp>
#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/target_id.hpp>
#include <aql/types.hpp>

namespace aql {

// Meaning of one kernel argument: `.value_kind` of the metadata.
enum class ArgKind : std::uint8_t {
  by_value,
  global_buffer,
  dynamic_shared_pointer,
  sampler,
  image,
  pipe,
  queue,
  hidden_global_offset_x,
  hidden_global_offset_y,
  hidden_global_offset_z,
  hidden_none,
  hidden_printf_buffer,
  hidden_hostcall_buffer,
  hidden_default_queue,
  hidden_completion_action,
  hidden_multigrid_sync_arg,
  hidden_block_count_x,
  hidden_block_count_y,
  hidden_block_count_z,
  hidden_group_size_x,
  hidden_group_size_y,
  hidden_group_size_z,
  hidden_remainder_x,
  hidden_remainder_y,
  hidden_remainder_z,
  hidden_grid_dims,
  hidden_heap_v1,
  hidden_dynamic_lds_size,
  hidden_private_base,
  hidden_shared_base,
  hidden_queue_ptr,
  other, // a kind this build does not know: see KernelArg::value_kind; hidden if the name starts with "hidden_"
};

[[nodiscard]] AQL_API std::string_view to_string(ArgKind kind) noexcept;

enum class AddressSpace : std::uint8_t { unspecified, private_space, global, constant, local, generic, region };
enum class Access : std::uint8_t { unspecified, read_only, write_only, read_write };

[[nodiscard]] AQL_API std::string_view to_string(AddressSpace space) noexcept;
[[nodiscard]] AQL_API std::string_view to_string(Access access) noexcept;

struct KernelArg {
  std::string name;       // empty unless the compiler recorded it
  std::string type_name;  // empty unless the compiler recorded it
  std::string value_kind; // as written: "global_buffer"
  ArgKind kind = ArgKind::other;
  std::uint64_t offset = 0;        // bytes from the start of the kernarg segment
  std::uint64_t size = 0;          // bytes
  std::uint64_t pointee_align = 0; // dynamic_shared_pointer only
  AddressSpace address_space = AddressSpace::unspecified;
  Access access = Access::unspecified;        // as the source says
  Access actual_access = Access::unspecified; // as the compiler found
  bool is_const = false;
  bool is_restrict = false;
  bool is_volatile = false;
  bool is_pipe = false;

  // The runtime fills hidden arguments; callers pass the others, in order.
  [[nodiscard]] bool hidden() const noexcept { return value_kind.starts_with("hidden_"); }
};

// One kernel: metadata and descriptor together. Where metadata and descriptor give a size twice, the larger holds (old objects
// have the kernarg size only in the metadata).
struct KernelInfo {
  std::string name;   // `.name`: as in the source. May differ from the symbol
  std::string symbol; // `.symbol`: the descriptor's symbol, "gemm.kd"
  std::string language;
  std::vector<KernelArg> args;

  std::uint64_t kernarg_size = 0;         // bytes, hidden arguments included
  std::uint64_t kernarg_align = 1;        // bytes, a power of two
  std::uint32_t group_segment_size = 0;   // bytes of static LDS
  std::uint32_t private_segment_size = 0; // bytes of scratch a work-item
  std::uint32_t max_flat_workgroup_size = 0;
  std::uint32_t wavefront_size = 64;
  std::uint32_t sgpr_count = 0; // as the compiler counts them
  std::uint32_t vgpr_count = 0; // ArchVGPR and AccVGPR together on gfx90a and later
  std::uint32_t agpr_count = 0; // 0 if not recorded
  std::uint32_t sgpr_spill_count = 0;
  std::uint32_t vgpr_spill_count = 0;
  bool uniform_work_group_size = false; // promises that no workgroup is partial
  bool uses_dynamic_stack = false;
  bool workgroup_processor_mode = false;       // gfx10 and later
  std::optional<Dim3> required_workgroup_size; // `.reqd_workgroup_size`
  std::optional<Dim3> workgroup_size_hint;
  std::optional<Dim3> cluster_dims;
  std::string vec_type_hint;
  std::string device_enqueue_symbol;
  std::string kind; // "normal", "init", "fini"

  abi::KernelDescriptor descriptor{};           // as in the file
  std::array<std::byte, 64> descriptor_bytes{}; // the same, raw
  std::uint64_t descriptor_offset = 0;          // in the image; the kernel object address is load address + this
  std::uint64_t entry_offset = 0;               // in the image, 256-byte aligned
  std::uint64_t code_size = 0;                  // bytes from the entry; 0 if no symbol tells
  // Decoded from the descriptor, in the hardware's granules.
  std::uint32_t allocated_vgprs = 0; // a lane; on gfx90a and later ArchVGPR and AccVGPR together
  std::uint32_t allocated_sgprs = 0; // a wave; 0 where the hardware always gives all (gfx10 and later)
  std::uint32_t accum_offset = 0;    // first AccVGPR in the unified file; 0 on processors without one

  // The symbol without ".kd": what people call the kernel.
  [[nodiscard]] std::string_view display_name() const noexcept {
    const std::string_view text = symbol;
    return text.ends_with(".kd") ? text.substr(0, text.size() - 3) : text;
  }
};

// Scratch that one wave needs: 64-bit, rounded up to the 1 KiB unit of the hardware's wave-size field. Errors, out_of_resources:
// more than that field's 13 bits hold (131,056 bytes a lane is the most for wave64; compilers refuse more).
[[nodiscard]] AQL_API Result<std::uint64_t> scratch_bytes_per_wave(std::uint64_t bytes_per_work_item,
                                                                   std::uint32_t wavefront_size = 64);

// One bit range of the descriptor, with its value, for people.
struct DescriptorField {
  std::string_view word; // "compute_pgm_rsrc1"
  std::string_view name; // "granulated_workitem_vgpr_count"
  std::uint32_t byte_offset;
  std::uint32_t shift, width; // bits inside the word
  std::uint64_t value;
  std::string meaning; // "24 VGPRs", "keep denormals", or empty
};

// Part of the image with one set of permissions (a PT_LOAD program header).
struct Segment {
  std::uint64_t image_offset = 0;
  std::uint64_t virtual_address = 0; // as in the file
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0; // the tail beyond file_size is zero
  std::uint64_t align = 1;
  bool read = false, write = false, execute = false;
};

// A device global: an OBJECT symbol that is not a kernel descriptor.
struct DeviceGlobal {
  std::string name;
  std::uint64_t image_offset = 0;
  std::uint64_t size = 0;
};

// Facts of the ELF file itself, for people.
struct ElfIdentity {
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint32_t flags = 0;
  std::uint16_t program_headers = 0;
  std::uint64_t sections = 0;
  std::uint64_t file_size = 0;
};

// A relocation as it stands in the file.
struct Relocation {
  std::uint64_t image_offset = 0; // the place
  std::uint32_t type = 0;         // R_AMDGPU_*
  std::int64_t addend = 0;
  std::string_view symbol; // empty: none
  bool undefined = false;  // the symbol comes from the resolver
};

[[nodiscard]] AQL_API std::string_view relocation_name(std::uint32_t type) noexcept;

struct SymbolAt {
  std::string_view name;
  std::uint64_t offset = 0; // from the symbol
};

// Address of a symbol the object does not define, or nothing.
using SymbolResolver = std::function<std::optional<std::uint64_t>(std::string_view name)>;

class AQL_API CodeObject {
public:
  // Reads and checks everything; the bytes are copied (or taken over). Errors: invalid_code_object (what, at which offset);
  // unsupported (a code object version or relocation that this build does not read).
  [[nodiscard]] static Result<CodeObject> parse(std::span<const std::byte> bytes);
  [[nodiscard]] static Result<CodeObject> parse(std::vector<std::byte>&& bytes);

  [[nodiscard]] std::uint32_t code_object_version() const noexcept; // 4, 5 or 6
  [[nodiscard]] const TargetId& target_id() const noexcept;
  [[nodiscard]] const ElfIdentity& identity() const noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;

  [[nodiscard]] std::span<const KernelInfo> kernels() const noexcept; // in the metadata's order
  // By `.symbol`, with or without its ".kd". Errors, invalid_symbol_name: the message lists near matches.
  [[nodiscard]] Result<const KernelInfo*> find_kernel(std::string_view name) const;

  [[nodiscard]] std::span<const DeviceGlobal> globals() const noexcept;
  [[nodiscard]] Result<const DeviceGlobal*> find_global(std::string_view name) const;

  [[nodiscard]] std::span<const Segment> segments() const noexcept; // ascending, no overlaps
  [[nodiscard]] std::span<const Relocation> relocations() const noexcept;
  [[nodiscard]] std::span<const std::string> printf_formats() const noexcept; // `amdhsa.printf`
  // Names the object expects from outside (undefined dynamic symbols), each once.
  [[nodiscard]] std::span<const std::string> imports() const noexcept;
  // Oddities that do not prevent loading, one sentence each.
  [[nodiscard]] std::span<const std::string> warnings() const noexcept;

  // The image: all segments at their distances, gaps zero. It loads at any multiple of image_align().
  [[nodiscard]] std::uint64_t image_size() const noexcept;
  [[nodiscard]] std::uint64_t image_align() const noexcept;
  // Writes the relocated image for `load_address` (of the image's first byte) into `image`, which holds at least image_size()
  // bytes and may be a staging copy. Errors: invalid_argument (span too small, address not aligned), invalid_symbol_name
  // (undefined symbol that `resolve` does not know), invalid_code_object (a 32-bit relocation whose value does not fit).
  [[nodiscard]] Result<void> load_into(std::span<std::byte> image, std::uint64_t load_address,
                                       const SymbolResolver& resolve = {}) const;
  // The same in two steps: place() copies segments and zeroes the rest, relocate() patches a placed image.
  [[nodiscard]] Result<void> place(std::span<std::byte> image) const;
  [[nodiscard]] Result<void> relocate(std::span<std::byte> image, std::uint64_t load_address,
                                      const SymbolResolver& resolve = {}) const;

  // The kernel whose code holds this image offset, or null; any function (device functions too), or nothing.
  [[nodiscard]] const KernelInfo* kernel_at(std::uint64_t image_offset) const noexcept;
  [[nodiscard]] std::optional<SymbolAt> function_at(std::uint64_t image_offset) const noexcept;

  // Every field of a kernel's descriptor as this object's processor defines it.
  [[nodiscard]] std::vector<DescriptorField> describe(const KernelInfo& kernel) const;

  struct State; // internal
private:
  explicit CodeObject(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

} // namespace aql
