#pragma once
// `--trace-insts`: one line an instruction: workgroup and wave, pc, text, and what it wrote.
//   (0,0,0).0 7f31a0400100  v_mov_b32_e32 v1, 1                 v1 = 1 1 1 1 ...
// Thread safety: called from worker threads; lines of one instruction stay together.

#include <cstdio>
#include <mutex>

#include "sim/exec/trace.hpp"

namespace aql::tool {

class InstTrace final : public sim::TraceSink {
public:
  explicit InstTrace(std::FILE* out) : out_(out) {}
  void before(const sim::Wave& wave, const sim::Inst& inst) override;
  void after(const sim::Wave& wave, const sim::Inst& inst, sim::Next next) override;

private:
  std::FILE* out_;
  std::mutex mutex_; // held by after(); `before` state is per worker thread
};

} // namespace aql::tool
