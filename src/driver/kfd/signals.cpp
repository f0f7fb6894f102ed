#include "driver/kfd/signals.hpp"

namespace aql::detail::kfd {
namespace {

constexpr std::size_t kSlab = 1024; // signals

} // namespace

Signals::~Signals() {
  for (const auto& slab : slabs_) memory_.give(slab);
}

Result<SignalView> Signals::create(std::int64_t initial) {
  const std::lock_guard lock{mutex_};
  if (free_.empty()) {
    auto slab = memory_.take(Memory::Use::host, kSlab * sizeof(abi::AmdSignal), "signals");
    if (!slab) return std::unexpected(slab.error());
    slabs_.push_back(*slab);
    auto* const first = reinterpret_cast<abi::AmdSignal*>(slab->address);
    for (std::size_t i = kSlab; i-- > 0;) free_.push_back(first + i);
  }
  abi::AmdSignal* const object = free_.back();
  free_.pop_back();
  *object = {};
  object->kind = static_cast<std::int64_t>(abi::SignalKind::user);
  object->value = initial;
  hub_.arm(*object);
  return SignalView{object, reinterpret_cast<std::uint64_t>(object), &Signals::changed, &hub_, 0};
}

void Signals::destroy(abi::AmdSignal* object) noexcept {
  const std::lock_guard lock{mutex_};
  object->kind = static_cast<std::int64_t>(abi::SignalKind::invalid);
  free_.push_back(object);
}

} // namespace aql::detail::kfd
