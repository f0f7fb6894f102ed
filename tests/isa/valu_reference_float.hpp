#pragma once
// Parts of the reference's list of operations.

#include <map>
#include <string>

#include "valu_reference.hpp"

namespace aql::test {

void add_float_references(std::map<std::string, RefOp, std::less<>>& all);

// v_cmp_* and v_cmpx_* of every type; null run for other names.
[[nodiscard]] RefOp find_compare_reference(std::string_view mnemonic);

} // namespace aql::test
