#include "signal/pool.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <aql/device.hpp>

#include "base/log.hpp"

namespace aql {
namespace detail {

SignalPoolCore::~SignalPoolCore() {
  if (fork_.forked()) {
    new std::shared_ptr<Driver>(std::move(driver_)); // the parent's: its locks and threads are not ours
    return;
  }
  for (std::uint32_t i = 0; i < size(); ++i)
    if (auto done = driver_->destroy_signal(at(i).view); !done) log::error(fmt::format("a pooled signal could not be destroyed: {}", done.error().message()));
}

SignalPoolCore::Entry& SignalPoolCore::at(std::uint32_t entry) const noexcept {
  if (entry < first_chunk_) return chunks_[0][entry];
  const auto chunk = static_cast<std::uint32_t>(std::bit_width(entry / first_chunk_));
  return chunks_[chunk][entry - (first_chunk_ << (chunk - 1))];
}

Result<void> SignalPoolCore::grow() {
  const std::lock_guard lock{growing_};
  if (static_cast<std::uint32_t>(head_.load(std::memory_order_relaxed)) != 0) return {}; // another thread grew it meanwhile
  const std::uint32_t have = size();
  const std::uint32_t more = have == 0 ? first_chunk_ : have;
  const auto chunk = have == 0 ? 0u : static_cast<std::uint32_t>(std::bit_width(have / first_chunk_));
  if (chunk >= chunks_.size()) return std::unexpected(Error{Errc::out_of_resources, 0, fmt::format("the pool holds {} signals, its limit; are they given back?", have), "SignalPool"});
  auto entries = std::make_unique<Entry[]>(more);
  for (std::uint32_t i = 0; i < more; ++i) {
    auto view = driver_->create_signal(0);
    if (!view) {
      for (std::uint32_t k = 0; k < i; ++k) (void)driver_->destroy_signal(entries[k].view);
      return std::unexpected(std::move(view).error());
    }
    entries[i].view = *view;
  }
  chunks_[chunk] = std::move(entries);
  size_.store(have + more, std::memory_order_release);
  for (std::uint32_t i = more; i-- > 0;) push(have + i);
  return {};
}

std::optional<std::uint32_t> SignalPoolCore::pop() noexcept {
  std::uint64_t head = head_.load(std::memory_order_acquire);
  for (;;) {
    const auto top = static_cast<std::uint32_t>(head);
    if (top == 0) return std::nullopt;
    const std::uint32_t below = at(top - 1).next.load(std::memory_order_relaxed); // may be stale: then the tag has changed
    const std::uint64_t next = ((head >> 32) + 1) << 32 | below;
    if (head_.compare_exchange_weak(head, next, std::memory_order_acquire, std::memory_order_acquire)) return top - 1;
  }
}

void SignalPoolCore::push(std::uint32_t entry) noexcept {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  for (;;) {
    at(entry).next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    const std::uint64_t next = ((head >> 32) + 1) << 32 | (entry + 1);
    if (head_.compare_exchange_weak(head, next, std::memory_order_release, std::memory_order_relaxed)) return;
  }
}

Result<PooledSignal> SignalPoolCore::acquire(std::int64_t initial) {
  if (auto usable = fork_.check("SignalPool::acquire"); !usable) return std::unexpected(std::move(usable).error());
  std::optional<std::uint32_t> entry;
  while (!(entry = pop()))
    if (auto grown = grow(); !grown) return std::unexpected(std::move(grown).error());
  Entry& e = at(*entry);
  e.generation.fetch_add(1, std::memory_order_release);
  in_use_.fetch_add(1, std::memory_order_relaxed);
  PooledSignal signal;
  static_cast<SignalRef&>(signal) = SignalRef{e.view, driver_.get()};
  signal.pool_ = shared_from_this();
  signal.entry_ = *entry;
  signal.rearm(initial);
  return signal;
}

void SignalPoolCore::release(std::uint32_t entry) noexcept {
  at(entry).generation.fetch_add(1, std::memory_order_release);
  in_use_.fetch_sub(1, std::memory_order_relaxed);
  push(entry);
}

std::optional<SignalRef> SignalPoolCore::find(SignalPool::Token token) const noexcept {
  if (token.entry >= size() || token.generation % 2 == 0 || generation(token.entry) != token.generation) return std::nullopt;
  return SignalRef{at(token.entry).view, driver_.get()};
}

} // namespace detail

PooledSignal::~PooledSignal() {
  if (pool_) pool_->release(entry_);
}

SignalPool::SignalPool(std::shared_ptr<detail::SignalPoolCore> core) noexcept : core_(std::move(core)) {}

Result<SignalPool> SignalPool::create(std::shared_ptr<detail::Driver> driver, std::size_t ahead) {
  const auto first = static_cast<std::uint32_t>(std::bit_ceil(std::clamp<std::size_t>(ahead, 1, 1u << 16)));
  auto core = std::make_shared<detail::SignalPoolCore>(std::move(driver), first);
  if (auto grown = core->grow(); !grown) return std::unexpected(std::move(grown).error());
  return SignalPool{std::move(core)};
}

Result<SignalPool> SignalPool::create(const Device& device, std::size_t ahead) { return create(device.driver(), ahead); }
Result<PooledSignal> SignalPool::acquire(std::int64_t initial) const { return core_->acquire(initial); }
SignalPool::Token SignalPool::token(const PooledSignal& signal) const noexcept { return {signal.entry_, core_->generation(signal.entry_)}; }
std::optional<SignalRef> SignalPool::find(Token token) const noexcept { return core_->find(token); }
std::size_t SignalPool::size() const noexcept { return core_->size(); }
std::size_t SignalPool::in_use() const noexcept { return core_->in_use(); }

} // namespace aql
