// Binding of FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF and DS.
#include <array>
#include <string_view>

#include "sim/exec/mem_common.hpp"

namespace aql::sim {

namespace {

constexpr auto make_table() {
  std::array<MemOp, isa::kOpCount> table{};
  constexpr auto after_prefix = [](std::string_view text) { return text.substr(text.find('_') + 1); };
#define OP(code, name, text, targets, dsts, srcs, flags) table[static_cast<std::size_t>(isa::Op::name)] = parse_mem_op(after_prefix(text));
#include "sim/isa/flat.def"
#include "sim/isa/global.def"
#include "sim/isa/mtbuf.def"
#include "sim/isa/mubuf.def"
#include "sim/isa/scratch.def"
#undef OP
  return table;
}
constexpr auto kMemOps = make_table();

constexpr bool complete() {
  bool all = true;
#define OP(code, name, text, targets, dsts, srcs, flags) all = all && kMemOps[static_cast<std::size_t>(isa::Op::name)].kind != MemKind::none;
#include "sim/isa/flat.def"
#include "sim/isa/global.def"
#include "sim/isa/mtbuf.def"
#include "sim/isa/mubuf.def"
#include "sim/isa/scratch.def"
#undef OP
  return all;
}
static_assert(complete(), "every row of the memory tables has an operation");

} // namespace

const MemOp& mem_op(isa::Op op) noexcept { return kMemOps[static_cast<std::size_t>(op)]; }

namespace mem {

Next cache_control(Wave&, const Inst&) { return Next::fallthrough; }

} // namespace mem

bool bind_memory(Inst& inst, Arch arch) {
  Handler handler = nullptr;
  switch (inst.format) {
  case isa::Format::flat: handler = mem::flat; break;
  case isa::Format::global: handler = mem::global; break;
  case isa::Format::scratch: handler = mem::scratch; break;
  case isa::Format::mubuf:
  case isa::Format::mtbuf: handler = mem_op(inst.op).kind == MemKind::cache ? mem::cache_control : mem::buffer; break;
  case isa::Format::ds: handler = mem::bind_ds(inst, arch); break;
  default: break;
  }
  if (handler == nullptr) return false;
  if (inst.format != isa::Format::ds) inst.kernel = &mem_op(inst.op);
  inst.handler = handler;
  return true;
}

} // namespace aql::sim
