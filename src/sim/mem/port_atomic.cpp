// Guest atomics on memory that host and other workers share.
#include <atomic>
#include <bit>

#include "sim/mem/atomic_ops.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim {

namespace {

// One lane: a real atomic, so that it is indivisible against host threads and other workers.
template <AtomicOp kOp, class T>
T apply(std::uint64_t host, T data, T compare, atomics::Denormals denormals) noexcept {
  const std::atomic_ref<T> target(*reinterpret_cast<T*>(host));
  if constexpr (kOp == AtomicOp::swap) return target.exchange(data);
  else if constexpr (kOp == AtomicOp::add) return target.fetch_add(data);
  else if constexpr (kOp == AtomicOp::sub) return target.fetch_sub(data);
  else {
    T old = target.load(std::memory_order_relaxed);
    while (!target.compare_exchange_weak(old, atomics::combine<kOp>(old, data, compare, denormals))) {
    }
    return old;
  }
}

template <class T>
bool run(AtomicOp op, const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, const T* data, const T* compare, T* old_value, atomics::Denormals denormals) {
  return atomics::dispatch<T>(op, [&]<AtomicOp kOp>() {
    for (auto rest = exec; rest != 0; rest &= rest - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(rest));
      const T old = apply<kOp, T>(address[l] + delta, data[l], compare != nullptr ? compare[l] : T{0}, denormals);
      if (old_value != nullptr) old_value[l] = old;
    }
  });
}

bool refuse_misaligned(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, Fault& fault) {
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(exec));
    if ((address[l] & (size_bytes - 1)) == 0) continue;
    fault.code = Errc::memory_fault;
    fault.reason = size_bytes == 4 ? "atomic on an address that is not a multiple of 4" : "atomic on an address that is not a multiple of 8";
    fault.access = FaultAccess::atomic;
    fault.address = address[l];
    fault.size_bytes = size_bytes;
    fault.lane = l;
    return true;
  }
  return false;
}

bool refuse_operation(std::uint32_t size_bytes, Fault& fault) {
  fault.code = Errc::unsupported;
  fault.reason = size_bytes == 4 ? "this atomic does not exist on 32 bits" : "this atomic does not exist on 64 bits";
  return false;
}

} // namespace

bool MemoryPort::atomic32(AtomicOp op, const std::uint64_t* address, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old_value, CachePolicy, Fault& fault, bool flush_denormals) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  if (!resolve(address, exec, 4, FaultAccess::atomic, spill, lanes, fault)) return false;
  if (refuse_misaligned(address, exec, 4, fault)) {
    fault.nearest = map_.describe(fault.address);
    return false;
  }
  return run<std::uint32_t>(op, lanes.address, lanes.delta, exec, data, compare, old_value, {flush_denormals, flush_denormals}) || refuse_operation(4, fault);
}

bool MemoryPort::atomic64(AtomicOp op, const std::uint64_t* address, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old_value, CachePolicy, Fault& fault) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  if (!resolve(address, exec, 8, FaultAccess::atomic, spill, lanes, fault)) return false;
  if (refuse_misaligned(address, exec, 8, fault)) {
    fault.nearest = map_.describe(fault.address);
    return false;
  }
  return run<std::uint64_t>(op, lanes.address, lanes.delta, exec, data, compare, old_value, {}) || refuse_operation(8, fault);
}

} // namespace aql::sim
