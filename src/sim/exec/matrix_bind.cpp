#include "sim/exec/exec.hpp"

namespace aql::sim {

bool bind_matrix(Inst&, Arch) { return false; }

} // namespace aql::sim
