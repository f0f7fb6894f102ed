#include "sim/exec/exec.hpp"

namespace aql::sim {

bool bind_salu(Inst&, Arch) { return false; }

} // namespace aql::sim
