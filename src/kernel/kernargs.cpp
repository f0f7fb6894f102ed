#include <aql/kernargs.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace aql {
namespace {

Error bad(std::string text) { return Error{Errc::invalid_argument, 0, std::move(text), "Kernargs"}; }
bool is_pointer(const KernelArg& arg) { return arg.kind == ArgKind::global_buffer; }

} // namespace

Kernargs::Kernargs(const Kernel& kernel) : kernel_(kernel) {
  if (!kernel.valid()) return;
  const auto& info = kernel.info();
  block_.resize(info.kernarg_size);
  for (std::uint32_t i = 0; i < info.args.size(); ++i) {
    if (!info.args[i].hidden()) explicit_.push_back(i);
  }
  set_.resize(explicit_.size());
}

Result<void> Kernargs::set(std::size_t index, const Buffer& buffer, std::size_t offset_bytes) {
  auto arg = at(index);
  if (!arg) return std::unexpected(arg.error());
  if (!is_pointer(**arg)) return std::unexpected(bad(fmt::format("{} is passed by value; a buffer was given", describe(index))));
  if (!buffer.valid()) return std::unexpected(bad(fmt::format("{}: the buffer was freed, moved from or never allocated", describe(index))));
  if (!buffer.usable_by(kernel_.device())) {
    return std::unexpected(bad(fmt::format("{}: the buffer belongs to another device than the kernel ({})", describe(index), kernel_.device().info().selector)));
  }
  if (offset_bytes >= buffer.size_bytes()) {
    return std::unexpected(bad(fmt::format("{}: offset {} is outside the buffer of {} bytes", describe(index), offset_bytes, buffer.size_bytes())));
  }
  return set_address(index, buffer.device_address() + offset_bytes);
}

Result<void> Kernargs::set(std::string_view name, const Buffer& buffer, std::size_t offset_bytes) {
  auto index = find(name);
  if (!index) return std::unexpected(index.error());
  return set(*index, buffer, offset_bytes);
}

Result<void> Kernargs::set_bytes(std::size_t index, std::span<const std::byte> value) {
  auto arg = at(index);
  if (!arg) return std::unexpected(arg.error());
  if ((*arg)->kind == ArgKind::dynamic_shared_pointer) return std::unexpected(bad(fmt::format("{} is a pointer to LDS; use set_local", describe(index))));
  if (value.size() != (*arg)->size) {
    return std::unexpected(bad(fmt::format("{} takes {} bytes; {} were given", describe(index), (*arg)->size, value.size())));
  }
  store(index, value);
  return {};
}

Result<void> Kernargs::set_bytes(std::string_view name, std::span<const std::byte> value) {
  auto index = find(name);
  if (!index) return std::unexpected(index.error());
  return set_bytes(*index, value);
}

Result<void> Kernargs::set_address(std::size_t index, std::uint64_t device_address) {
  auto arg = at(index);
  if (!arg) return std::unexpected(arg.error());
  if (!is_pointer(**arg)) return std::unexpected(bad(fmt::format("{} is passed by value; an address was given", describe(index))));
  return set_bytes(index, std::as_bytes(std::span{&device_address, 1}));
}

Result<void> Kernargs::set_local(std::size_t index, std::uint32_t size_bytes) {
  auto arg = at(index);
  if (!arg) return std::unexpected(arg.error());
  if ((*arg)->kind != ArgKind::dynamic_shared_pointer) return std::unexpected(bad(fmt::format("{} is no pointer to LDS", describe(index))));
  const auto align = static_cast<std::uint32_t>(std::max<std::uint64_t>((*arg)->pointee_align, 16));
  const std::uint32_t start = (kernel_.info().group_segment_size + local_bytes_ + align - 1) / align * align;
  local_bytes_ = start - kernel_.info().group_segment_size + size_bytes;
  store(index, std::as_bytes(std::span{&start, 1}).first(std::min<std::size_t>((*arg)->size, 4)));
  return {};
}

Result<void> Kernargs::set_blob(std::span<const std::byte> explicit_part) {
  std::uint64_t end = 0;
  if (kernel_.valid()) {
    for (const auto i : explicit_) end = std::max(end, kernel_.info().args[i].offset + kernel_.info().args[i].size);
  }
  if (explicit_part.size() != end) {
    return std::unexpected(bad(fmt::format("the explicit arguments of '{}' take {} bytes; the block given has {}", kernel_.valid() ? kernel_.name() : "?", end, explicit_part.size())));
  }
  std::ranges::copy(explicit_part, block_.begin());
  std::fill(set_.begin(), set_.end(), true);
  return {};
}

Result<void> Kernargs::complete() const {
  if (!kernel_.valid()) return std::unexpected(bad("no kernel: these arguments were made for an empty Kernel"));
  for (std::size_t i = 0; i < set_.size(); ++i) {
    if (!set_[i]) return std::unexpected(bad(fmt::format("{} was not set", describe(i))));
  }
  return {};
}

Result<void> Kernargs::wrong_count(std::size_t given) const {
  return std::unexpected(bad(fmt::format("'{}' has {} explicit arguments; {} were given", kernel_.valid() ? kernel_.name() : "?", explicit_.size(), given)));
}

Result<std::size_t> Kernargs::find(std::string_view name) const {
  if (kernel_.valid()) {
    for (std::size_t i = 0; i < explicit_.size(); ++i) {
      if (!name.empty() && kernel_.info().args[explicit_[i]].name == name) return i;
    }
  }
  std::string known;
  for (std::size_t i = 0; i < explicit_.size(); ++i) {
    const auto& arg = kernel_.info().args[explicit_[i]];
    known += fmt::format("{}{}", i == 0 ? "" : ", ", arg.name.empty() ? fmt::format("#{} (no name recorded)", i) : arg.name);
  }
  return std::unexpected(bad(fmt::format("'{}' has no argument named '{}'; it has {}", kernel_.valid() ? kernel_.name() : "?", name, known.empty() ? "none" : known)));
}

Result<const KernelArg*> Kernargs::at(std::size_t index) const {
  if (index >= explicit_.size()) {
    return std::unexpected(bad(fmt::format("argument {} was set; '{}' has {} explicit arguments", index, kernel_.valid() ? kernel_.name() : "?", explicit_.size())));
  }
  return &kernel_.info().args[explicit_[index]];
}

void Kernargs::store(std::size_t index, std::span<const std::byte> value) {
  const auto offset = kernel_.info().args[explicit_[index]].offset;
  std::ranges::copy(value, block_.begin() + static_cast<std::ptrdiff_t>(offset));
  set_[index] = true;
}

std::string Kernargs::describe(std::size_t index) const {
  const auto& arg = kernel_.info().args[explicit_[index]];
  return fmt::format("argument {}{} of '{}' ({}, {} bytes)", index, arg.name.empty() ? "" : fmt::format(" '{}'", arg.name), kernel_.name(), arg.value_kind, arg.size);
}

} // namespace aql
