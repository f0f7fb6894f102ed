// Matrix instructions as the execution loop sees them: registers found once an execution, then one call.
// MFMA and SMFMAC run on all 64 lanes whatever EXEC says (ISA guides, "Execution Mask"); v_accvgpr_read and _write are moves
// and obey it.

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "sim/exec/exec.hpp"
#include "sim/exec/matrix.hpp"
#include "sim/exec/operand.hpp"
#include "sim/exec/tier.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {

namespace {

struct MatrixBinding {
  MatrixPlan plan;
  MatrixKernels kernels;
};

// First register of a vector operand, or null for constants and SGPRs. The execution loop has checked that all of them exist.
VReg* find_registers(Wave& wave, const isa::Operand& o) noexcept {
  if (o.kind == isa::OperandKind::vgpr) return &wave.v(o.index);
  if (o.kind == isa::OperandKind::agpr) return &wave.a(o.index);
  return nullptr;
}

void fill(VReg& reg, std::uint32_t value) noexcept {
  for (std::uint32_t& lane : reg.lane) lane = value;
}

// The operand as registers: in place, or built in `storage` from a constant, an SGPR or a special register.
const VReg* source_registers(Wave& wave, const isa::Operand& o, unsigned count, VReg* storage, bool is_f64 = false) noexcept {
  if (const VReg* in_place = find_registers(wave, o)) return in_place;
  for (unsigned r = 0; r < count; ++r) {
    const bool high = is_f64 && r % 2 == 1;
    fill(storage[r], o.kind == isa::OperandKind::constant && high ? o.value_hi : scalar32(wave, o));
  }
  return storage;
}

// 64 E8M0 exponents: a byte of a VGPR; of anything else the exponent field of a float.
const std::uint8_t* read_scale(Wave& wave, const isa::Operand& o, unsigned byte, std::uint8_t* out) noexcept {
  VReg storage;
  const VReg& reg = *source_registers(wave, o, 1, &storage);
  const unsigned shift = o.kind == isa::OperandKind::vgpr || o.kind == isa::OperandKind::agpr ? 8 * byte : 23;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<std::uint8_t>(reg.lane[lane] >> shift);
  return out;
}

bool overlap(const VReg* x, const VReg* y, unsigned count) noexcept { return x < y + count && y < x + count; }

Next run_matrix(Wave& wave, const Inst& inst) {
  const auto& binding = *static_cast<const MatrixBinding*>(inst.kernel);
  const MatrixPlan& plan = binding.plan;
  VReg* d = find_registers(wave, inst.dst);

  VReg a[8], b[8], c[32], index;
  std::uint8_t scale_a[kLanes], scale_b[kLanes];
  MatrixJob job;
  job.plan = &plan;
  job.a = source_registers(wave, inst.src[0], plan.a_regs, a);
  job.b = source_registers(wave, inst.src[1], plan.b_regs, b);
  job.d = d;
  job.cbsz = inst.cbsz;
  job.abid = inst.abid;
  job.blgp = inst.blgp;
  if (plan.row.sparse) {
    job.c = d;
    job.index = source_registers(wave, inst.src[2], 1, &index);
  } else {
    job.c = source_registers(wave, inst.src[2], plan.d_regs, c, plan.row.d == MatrixType::f64);
    if (job.c != d && overlap(job.c, d, plan.d_regs)) {
      std::memcpy(c, job.c, plan.d_regs * sizeof(VReg));
      job.c = c;
    }
    if (inst.format == isa::Format::vop3px) {
      const auto byte = [&](unsigned n) { return ((inst.mod.op_sel >> n) & 1u) + 2 * ((inst.mod.op_sel_hi >> n) & 1u); };
      job.scale_a = read_scale(wave, inst.src[3], byte(0), scale_a);
      job.scale_b = read_scale(wave, inst.sdst, byte(1), scale_b);
    }
  }
  const bool fast = wave.dispatch->numerics == MatrixNumerics::fast;
  (fast ? binding.kernels.fast : binding.kernels.exact)(job);
  return Next::fallthrough;
}

// v_accvgpr_read_b32, v_accvgpr_write_b32.
Next move_register(Wave& wave, const Inst& inst) {
  VReg* d = find_registers(wave, inst.dst);
  VReg storage;
  const VReg* s = source_registers(wave, inst.src[0], 1, &storage);
  const std::uint64_t exec = wave.exec();
  if (exec == ~std::uint64_t{0}) {
    if (s != d) std::memcpy(d, s, sizeof(VReg));
    return Next::fallthrough;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto mask = static_cast<std::uint32_t>(-static_cast<std::int32_t>((exec >> lane) & 1u));
    d->lane[lane] = (s->lane[lane] & mask) | (d->lane[lane] & ~mask);
  }
  return Next::fallthrough;
}

MatrixType f8f6f4_type(unsigned format) noexcept {
  static constexpr MatrixType kTypes[] = {MatrixType::fp8, MatrixType::bf8, MatrixType::fp6, MatrixType::bf6, MatrixType::fp4};
  return kTypes[format]; // the decoder refuses others
}

const MatrixBinding* find_binding(const MatrixRow& row, Arch arch, MatrixType a, MatrixType b) {
  using Key = std::tuple<const MatrixRow*, Arch, MatrixType, MatrixType>;
  static std::mutex mutex;
  static auto& bindings = *new std::map<Key, std::unique_ptr<const MatrixBinding>>; // never destroyed: workers may outlive main
  const std::lock_guard lock(mutex);
  auto& slot = bindings[Key{&row, arch, a, b}];
  if (slot == nullptr) {
    auto binding = std::make_unique<MatrixBinding>();
    binding->plan = make_matrix_plan(row, arch, a, b);
    binding->kernels = matrix_kernels(binding->plan, host_tier());
    slot = std::move(binding);
  }
  return slot.get();
}

const MatrixRow* row_of(const Inst& inst, Arch arch) noexcept {
  if (inst.info == nullptr || (inst.format != isa::Format::vop3p && inst.format != isa::Format::vop3px)) return nullptr;
  return find_matrix_row(inst.info->code, arch);
}

} // namespace

bool bind_matrix(Inst& inst, Arch arch) {
  if (inst.op == isa::Op::v_accvgpr_read_b32 || inst.op == isa::Op::v_accvgpr_write_b32) {
    inst.handler = move_register;
    return true;
  }
  const MatrixRow* row = row_of(inst, arch);
  if (row == nullptr) return false;
  MatrixType a = row->a, b = row->b;
  if (a == MatrixType::f8f6f4) {
    if (inst.cbsz > 4 || inst.blgp > 4) return false;
    a = f8f6f4_type(inst.cbsz);
    b = f8f6f4_type(inst.blgp);
  }
  inst.kernel = find_binding(*row, arch, a, b);
  inst.handler = run_matrix;
  return true;
}

Fidelity matrix_fidelity(const Inst& inst, Arch arch, MatrixNumerics numerics) noexcept {
  const MatrixRow* row = row_of(inst, arch);
  if (row == nullptr) return Fidelity::exact;
  const MatrixPlan plan = make_matrix_plan(*row, arch, row->a, row->b);
  if (plan.sum == MatrixSum::fma || plan.sum == MatrixSum::integer) return Fidelity::exact;
  return numerics == MatrixNumerics::fast ? Fidelity::approximated : plan.fidelity;
}

} // namespace aql::sim
