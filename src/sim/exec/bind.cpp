// From a decoded instruction to the function that executes it.

#include "sim/exec/exec.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {
namespace {

Next not_implemented(Wave& wave, const Inst& inst) {
  return raise_fault(wave, inst, Errc::unsupported,
                     std::string(isa::mnemonic(inst.op, wave.dispatch->arch)) + " is not implemented by the software GPU");
}

bool bind_family(Inst& inst, Arch arch) {
  switch (inst.format) {
  case isa::Format::sop2: case isa::Format::sopk: case isa::Format::sop1: case isa::Format::sopc: case isa::Format::sopp:
  case isa::Format::smem: return bind_salu(inst, arch);
  case isa::Format::ds: case isa::Format::flat: case isa::Format::global: case isa::Format::scratch: case isa::Format::mubuf:
  case isa::Format::mtbuf: return bind_memory(inst, arch);
  case isa::Format::illegal: return false;
  default: return bind_matrix(inst, arch) || bind_valu(inst, arch);
  }
}

} // namespace

void bind(Inst& inst, Arch arch) {
  if (!bind_family(inst, arch)) inst.handler = not_implemented;
}

} // namespace aql::sim
