#include <aql/memory.hpp>

#include <cstring>

#include <fmt/format.h>

#include "base/log.hpp"
#include "device/state.hpp"

namespace aql {
namespace detail {

struct BufferRecord {
  std::shared_ptr<DeviceState> state;
  Allocation allocation;
  std::string label;
  bool pinned = false;
};

namespace {

Result<void> release(DeviceState& state, MemoryRecord record) {
  auto done = record.pinned ? state.driver->unpin(record.allocation) : state.driver->free(record.allocation);
  if (!done) state.memory.add(std::move(record)); // it is still there
  return done;
}

Result<Allocation> allocate(DeviceState& state, PoolKind kind, std::size_t size_bytes, std::string_view label) {
  if (auto alive = state.fork.check("allocate"); !alive) return std::unexpected(alive.error());
  if (size_bytes == 0) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("asked for 0 bytes of {} memory; ask for at least 1", to_string(kind)), "allocate"});
  }
  auto allocation = state.driver->allocate(kind, size_bytes, label);
  if (allocation) state.memory.add({*allocation, std::string{label}, false});
  return allocation;
}

} // namespace
} // namespace detail

Result<Buffer> Device::allocate(PoolKind kind, std::size_t size_bytes, std::string_view label) const {
  auto allocation = detail::allocate(*state_, kind, size_bytes, label);
  if (!allocation) return std::unexpected(allocation.error());
  return Buffer{std::make_unique<detail::BufferRecord>(detail::BufferRecord{state_, *allocation, std::string{label}, false})};
}

Result<Buffer> Device::pin(void* host, std::size_t size_bytes, std::string_view label, PinAccess access) const {
  if (auto alive = state_->fork.check("pin"); !alive) return std::unexpected(alive.error());
  if (host == nullptr || size_bytes == 0) {
    return std::unexpected(
        Error{Errc::invalid_argument, 0, fmt::format("asked to pin {} bytes at {}; give a non-empty host range", size_bytes, host), "pin"});
  }
  auto allocation = state_->driver->pin(host, size_bytes, access == PinAccess::read_write);
  if (!allocation) return std::unexpected(allocation.error());
  state_->memory.add({*allocation, std::string{label}, true});
  return Buffer{std::make_unique<detail::BufferRecord>(detail::BufferRecord{state_, *allocation, std::string{label}, true})};
}

Buffer::Buffer() noexcept = default;
Buffer::Buffer(std::unique_ptr<detail::BufferRecord> record) noexcept : record_(std::move(record)) {}
Buffer::Buffer(Buffer&&) noexcept = default;

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Buffer old{std::move(record_)}; // frees at the end of this block
    record_ = std::move(other.record_);
  }
  return *this;
}

Buffer::~Buffer() {
  if (!record_ || record_->state->fork.forked()) return;
  if (auto done = free(); !done) log::error(done.error().message());
}

bool Buffer::valid() const noexcept { return record_ != nullptr; }
std::size_t Buffer::size_bytes() const noexcept { return record_ ? record_->allocation.size_bytes : 0; }
std::uint64_t Buffer::device_address() const noexcept { return record_ ? record_->allocation.device_address : 0; }
PoolKind Buffer::kind() const noexcept { return record_ ? record_->allocation.kind : PoolKind::host_coarse; }
bool Buffer::pinned() const noexcept { return record_ && record_->pinned; }
std::string_view Buffer::label() const noexcept { return record_ ? std::string_view{record_->label} : std::string_view{}; }

std::span<std::byte> Buffer::host() const noexcept {
  if (!record_ || record_->allocation.host == nullptr) return {};
  return {record_->allocation.host, record_->allocation.size_bytes};
}

bool Buffer::usable_by(const Device& device) const noexcept { return record_ && record_->state == device.state(); }

namespace {

Result<void> check_range(const Buffer& buffer, std::size_t size_bytes, std::size_t offset, const char* what) {
  if (!buffer.valid()) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{} on a buffer that was moved from, freed or never allocated", what), "Buffer"});
  }
  if (offset > buffer.size_bytes() || size_bytes > buffer.size_bytes() - offset) {
    return std::unexpected(Error{Errc::invalid_argument, 0,
                                 fmt::format("{} of {} bytes at offset {} leaves the buffer of {} bytes", what, size_bytes, offset, buffer.size_bytes()), "Buffer"});
  }
  return {};
}

} // namespace

Result<void> Buffer::write(const void* src, std::size_t size_bytes, std::size_t offset) const {
  if (auto ok = check_range(*this, size_bytes, offset, "write"); !ok) return ok;
  if (size_bytes == 0) return {};
  if (record_->allocation.host != nullptr) {
    std::memcpy(record_->allocation.host + offset, src, size_bytes);
    return {};
  }
  return record_->state->driver->copy(device_address() + offset, reinterpret_cast<std::uint64_t>(src), size_bytes);
}

Result<void> Buffer::read(void* dst, std::size_t size_bytes, std::size_t offset) const {
  if (auto ok = check_range(*this, size_bytes, offset, "read"); !ok) return ok;
  if (size_bytes == 0) return {};
  if (record_->allocation.host != nullptr) {
    std::memcpy(dst, record_->allocation.host + offset, size_bytes);
    return {};
  }
  return record_->state->driver->copy(reinterpret_cast<std::uint64_t>(dst), device_address() + offset, size_bytes);
}

Result<void> Buffer::fill(std::byte value) const {
  if (auto ok = check_range(*this, 0, 0, "fill"); !ok) return ok;
  if (record_->allocation.host != nullptr) {
    std::memset(record_->allocation.host, static_cast<int>(value), size_bytes());
    return {};
  }
  const auto pattern = static_cast<std::uint32_t>(value) * 0x01010101u;
  const auto whole = size_bytes() / 4;
  if (auto done = record_->state->driver->fill32(device_address(), pattern, whole); !done) return done;
  const std::byte tail[3] = {value, value, value};
  return size_bytes() % 4 == 0 ? Result<void>{} : write(tail, size_bytes() % 4, whole * 4);
}

Result<void> Buffer::free() noexcept {
  if (!record_) {
    return std::unexpected(Error{Errc::invalid_argument, 0, "this buffer was freed before, moved from or never allocated", "Buffer::free"});
  }
  auto& state = *record_->state;
  if (auto alive = state.fork.check("Buffer::free"); !alive) return alive;
  auto removed = state.memory.remove(record_->allocation.device_address);
  if (!removed) return std::unexpected(removed.error());
  auto done = detail::release(state, std::move(*removed));
  if (done) record_.reset();
  return done;
}

Result<std::uint64_t> allocate_raw(const Device& device, PoolKind kind, std::size_t size_bytes, std::string_view label) {
  auto allocation = detail::allocate(*device.state(), kind, size_bytes, label);
  if (!allocation) return std::unexpected(allocation.error());
  return allocation->device_address;
}

Result<void> free_raw(const Device& device, std::uint64_t address) {
  auto& state = *device.state();
  if (auto alive = state.fork.check("free_raw"); !alive) return alive;
  auto removed = state.memory.remove(address);
  if (!removed) return std::unexpected(removed.error());
  return detail::release(state, std::move(*removed));
}

} // namespace aql
