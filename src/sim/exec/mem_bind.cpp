#include "sim/exec/exec.hpp"

namespace aql::sim {

bool bind_memory(Inst&, Arch) { return false; }

} // namespace aql::sim
