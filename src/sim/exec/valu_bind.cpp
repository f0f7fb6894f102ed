#include "sim/exec/exec.hpp"

namespace aql::sim {

bool bind_valu(Inst&, Arch) { return false; }

} // namespace aql::sim
