// LDS and private memory as address spaces of the memory instructions.
#include <fmt/format.h>

#include "sim/exec/mem_common.hpp"
#include "sim/mem/atomic_ops.hpp"

namespace aql::sim::mem {

namespace {

// Guest pointers of LDS: any alignment for loads and stores.
template <class T>
struct Unaligned {
  typedef T type __attribute__((may_alias, aligned(1)));
};

template <class T>
void lds_atomic(std::byte* lds, AtomicOp op, const std::uint64_t* offset, std::uint64_t exec, const T* data, const T* compare, T* old_value, atomics::Denormals denormals) {
  atomics::dispatch<T>(op, [&]<AtomicOp kOp>() {
    for_lanes(exec, [&](unsigned l) {
      auto& target = *reinterpret_cast<typename Unaligned<T>::type*>(lds + offset[l]);
      const T old = target;
      target = atomics::combine<kOp, T>(old, data[l], compare != nullptr ? compare[l] : T{0}, denormals);
      if (old_value != nullptr) old_value[l] = old;
    });
  });
}

// LDS follows MODE, except that its f64 adder never flushes. Packed 16-bit numbers go with the f64 field.
atomics::Denormals denormals(const Wave& wave, AtomicOp op) noexcept {
  if (op == AtomicOp::add_f64) return {};
  const bool single = op == AtomicOp::add_f32 || op == AtomicOp::min_f32 || op == AtomicOp::max_f32;
  const unsigned field = single ? wave.mode.denorm32() : wave.mode.denorm16_64();
  return {(field & 1u) == 0, (field & 2u) == 0};
}

} // namespace

std::uint64_t LdsSpace::in_range(std::uint64_t exec, std::uint32_t bytes) const noexcept {
  const std::uint32_t limit = wave.group->lds_bytes;
  if (bytes > limit) return 0;
  if (exec == 0 || lane_ops().inside(address, exec, 0, limit - bytes)) return exec;
  return exec & lane_ops().inside_mask(address, 0, limit - bytes);
}

bool refuse_misaligned(Wave& wave, const std::uint64_t* address, std::uint64_t base, std::uint64_t exec, std::uint32_t bytes, const char* where) {
  for (; exec != 0; exec &= exec - 1) {
    const unsigned l = first_lane(exec);
    if ((address[l] & (bytes - 1)) == 0) continue;
    return refuse(*wave.fault, Errc::memory_fault, fmt::format("atomic on an address that is not a multiple of {}", bytes), FaultAccess::atomic,
                  base + address[l], bytes, l, fmt::format("{} offset {:#x}", where, address[l]));
  }
  return true;
}

bool LdsSpace::check(std::uint64_t exec, std::uint32_t bytes, FaultAccess access) {
  if (access == FaultAccess::atomic && !refuse_misaligned(wave, address, wave.dispatch->shared_aperture, exec, bytes, "LDS")) return false;
  const std::uint64_t bad = exec & ~in_range(exec, bytes);
  if (bad == 0) return true;
  const unsigned l = first_lane(bad);
  const std::uint32_t limit = wave.group->lds_bytes;
  return refuse(*wave.fault, Errc::memory_aperture_violation, "flat access to the shared aperture beyond the workgroup's LDS", access,
                wave.dispatch->shared_aperture + address[l], bytes, l, fmt::format("LDS offset {:#x}, this workgroup has {} bytes of LDS", address[l], limit));
}

bool LdsSpace::load(std::uint64_t exec, unsigned dwords, Rows out) {
  if (exec != 0) lane_ops().load(address, delta(), exec, dwords, out);
  return true;
}

bool LdsSpace::store(std::uint64_t exec, unsigned dwords, Rows in) {
  if (exec != 0) lane_ops().store(address, delta(), exec, dwords, in);
  return true;
}

bool LdsSpace::load_small(std::uint64_t exec, unsigned bytes, std::uint32_t* out) {
  lane_ops().load_small(address, delta(), exec, bytes, out);
  return true;
}

bool LdsSpace::store_small(std::uint64_t exec, unsigned bytes, const std::uint32_t* in) {
  lane_ops().store_small(address, delta(), exec, bytes, in);
  return true;
}

bool LdsSpace::atomic32(AtomicOp op, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old) {
  lds_atomic(wave.group->lds, op, address, exec, data, compare, old, op == AtomicOp::cmpswap_f ? denormals(wave, AtomicOp::min_f32) : denormals(wave, op));
  return true;
}

bool LdsSpace::atomic64(AtomicOp op, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old) {
  lds_atomic(wave.group->lds, op, address, exec, data, compare, old, denormals(wave, op));
  return true;
}

// gfx90a finds its scratch through FLAT_SCRATCH, which the kernel's prologue sets; later targets have the wave's base in hardware.
ScratchSpace::ScratchSpace(Wave& w, const Inst& i, const std::uint64_t* offsets)
    : wave(w), inst(i), address(offsets), base(w.dispatch->arch == Arch::gfx90a ? w.sgpr64(kFlatScratchLo) : w.scratch_base) {}

void ScratchSpace::backing(std::uint64_t add, std::uint64_t* out) const {
  for (std::uint64_t l = 0; l < kLanes; ++l) {
    const std::uint64_t offset = address[l] + add;
    out[l] = base + (offset & ~std::uint64_t{3}) * kLanes + l * 4 + (offset & 3);
  }
}

bool ScratchSpace::dword_aligned(std::uint64_t exec) const {
  std::uint64_t low = 0;
  for (unsigned l = 0; l < kLanes; ++l) low |= (address[l] & 3) & (((exec >> l) & 1) != 0 ? 3u : 0u);
  return low == 0;
}

bool ScratchSpace::check(std::uint64_t exec, std::uint32_t bytes, FaultAccess access) {
  if (access == FaultAccess::atomic && !refuse_misaligned(wave, address, wave.dispatch->private_aperture, exec, bytes, "private")) return false;
  const std::uint64_t limit = wave.dispatch->scratch_wave_bytes / kLanes;
  if (bytes > limit || !lane_ops().inside(address, exec, 0, limit - bytes)) {
    const std::uint64_t good = bytes > limit ? 0 : lane_ops().inside_mask(address, 0, limit - bytes);
    const unsigned l = first_lane(exec & ~good);
    return refuse(*wave.fault, Errc::memory_aperture_violation, "access to private memory beyond the work-item's segment", access,
                  wave.dispatch->private_aperture + address[l], bytes, l,
                  fmt::format("private offset {}, this dispatch has {} bytes a work-item", static_cast<std::int64_t>(address[l]), limit));
  }
  return wave.port->check(base, limit * kLanes, access, *wave.fault);
}

bool ScratchSpace::load(std::uint64_t exec, unsigned dwords, Rows out) {
  std::uint64_t where[kLanes];
  if (dword_aligned(exec)) {
    for (unsigned d = 0; d < dwords; ++d) {
      backing(d * 4, where);
      if (!wave.port->load_dwords(where, exec, 1, out + d, policy(inst), *wave.fault)) return false;
    }
    return true;
  }
  for (unsigned d = 0; d < dwords; ++d) {
    std::uint32_t word[kLanes] = {}, byte[kLanes];
    for (unsigned b = 0; b < 4; ++b) {
      backing(d * 4 + b, where);
      if (!wave.port->load_small(where, exec, 1, byte, policy(inst), *wave.fault)) return false;
      for_lanes(exec, [&](unsigned l) { word[l] |= byte[l] << (b * 8); });
    }
    for_lanes(exec, [&](unsigned l) { out[d][l] = word[l]; });
  }
  return true;
}

bool ScratchSpace::store(std::uint64_t exec, unsigned dwords, Rows in) {
  std::uint64_t where[kLanes];
  const bool aligned = dword_aligned(exec);
  for (unsigned d = 0; d < dwords; ++d) {
    if (aligned) {
      backing(d * 4, where);
      if (!wave.port->store_dwords(where, exec, 1, in + d, policy(inst), *wave.fault)) return false;
      continue;
    }
    for (unsigned b = 0; b < 4; ++b) {
      std::uint32_t byte[kLanes];
      for (unsigned l = 0; l < kLanes; ++l) byte[l] = in[d][l] >> (b * 8);
      backing(d * 4 + b, where);
      if (!wave.port->store_small(where, exec, 1, byte, policy(inst), *wave.fault)) return false;
    }
  }
  return true;
}

bool ScratchSpace::load_small(std::uint64_t exec, unsigned bytes, std::uint32_t* out) {
  std::uint64_t where[kLanes];
  backing(0, where);
  if (!wave.port->load_small(where, exec, 1, out, policy(inst), *wave.fault)) return false;
  if (bytes == 1) return true;
  std::uint32_t high[kLanes];
  backing(1, where);
  if (!wave.port->load_small(where, exec, 1, high, policy(inst), *wave.fault)) return false;
  for_lanes(exec, [&](unsigned l) { out[l] |= high[l] << 8; });
  return true;
}

bool ScratchSpace::store_small(std::uint64_t exec, unsigned bytes, const std::uint32_t* in) {
  std::uint64_t where[kLanes];
  backing(0, where);
  if (!wave.port->store_small(where, exec, 1, in, policy(inst), *wave.fault)) return false;
  if (bytes == 1) return true;
  std::uint32_t high[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) high[l] = in[l] >> 8;
  backing(1, where);
  return wave.port->store_small(where, exec, 1, high, policy(inst), *wave.fault);
}

bool ScratchSpace::atomic32(AtomicOp op, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old) {
  std::uint64_t where[kLanes];
  backing(0, where);
  return wave.port->atomic32(op, where, exec, data, compare, old, policy(inst), *wave.fault, l2_flushes(wave, op));
}

// Eight bytes are not together in interleaved memory; no other lane or wave can reach them, so a plain update is atomic.
bool ScratchSpace::atomic64(AtomicOp op, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old) {
  alignas(64) std::uint32_t words[2][kLanes] = {};
  if (!load(exec, 2, words)) return false;
  atomics::dispatch<std::uint64_t>(op, [&]<AtomicOp kOp>() {
    for_lanes(exec, [&](unsigned l) {
      const std::uint64_t before = words[0][l] | std::uint64_t{words[1][l]} << 32;
      const auto after = atomics::combine<kOp, std::uint64_t>(before, data[l], compare != nullptr ? compare[l] : 0, {});
      words[0][l] = static_cast<std::uint32_t>(after);
      words[1][l] = static_cast<std::uint32_t>(after >> 32);
      if (old != nullptr) old[l] = before;
    });
  });
  return store(exec, 2, words);
}

} // namespace aql::sim::mem
