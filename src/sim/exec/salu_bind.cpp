#include "sim/exec/salu.hpp"

namespace aql::sim {

bool bind_salu(Inst& inst, Arch) {
  switch (inst.format) {
  case isa::Format::sop2: inst.handler = salu::bind_sop2(inst); break;
  case isa::Format::sop1: inst.handler = salu::bind_sop1(inst); break;
  case isa::Format::sopc: inst.handler = salu::bind_sopc(inst); break;
  case isa::Format::sopk: inst.handler = salu::bind_sopk(inst); break;
  case isa::Format::sopp: inst.handler = salu::bind_sopp(inst); break;
  case isa::Format::smem: inst.handler = salu::bind_smem(inst); break;
  default: return false;
  }
  return inst.handler != nullptr;
}

} // namespace aql::sim
