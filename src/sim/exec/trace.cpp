#include "sim/exec/trace.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "sim/isa/disasm.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {
namespace {

// What scalar state was before the instruction; a wave's before() and after() come from one thread.
struct Before {
  std::uint32_t sgpr[128];
  std::uint32_t scc;
  Mode mode;
};
thread_local Before before_state;

std::string scalar_name(unsigned index, unsigned width) {
  return isa::operand_text({isa::OperandKind::sgpr, static_cast<std::uint8_t>(width), static_cast<std::uint16_t>(index), 0, 0}, {isa::Elem::b32, 1, isa::Role::field});
}

// FNV-1a over the 64 lanes: tells two values apart at a glance.
std::uint32_t hash(const VReg& reg) {
  std::uint32_t h = 0x811c9dc5;
  for (const std::uint32_t lane : reg.lane) {
    for (unsigned shift = 0; shift < 32; shift += 8) h = (h ^ ((lane >> shift) & 0xffu)) * 0x01000193u;
  }
  return h;
}

class Line {
public:
  // Separates the text from the first value, and values from each other.
  void begin_value() {
    text_ += first_ ? "  | " : "; ";
    first_ = false;
  }
  void scalar(const Wave& wave, unsigned index, unsigned width) {
    begin_value();
    if (width == 2) fmt::format_to(std::back_inserter(text_), "{} = {:#x}", scalar_name(index, 2), wave.sgpr64(index));
    else fmt::format_to(std::back_inserter(text_), "{} = {:#x}", scalar_name(index, 1), wave.sgpr[index]);
  }
  void vector(const VReg& reg, char file, unsigned index, unsigned lanes) {
    begin_value();
    fmt::format_to(std::back_inserter(text_), "{}{} =", file, index);
    for (unsigned lane = 0; lane < lanes; ++lane) fmt::format_to(std::back_inserter(text_), " {:x}", reg.lane[lane]);
    if (lanes < kLanes) text_ += " ..";
    fmt::format_to(std::back_inserter(text_), " #{:08x}", hash(reg));
  }
  std::string text_;

private:
  bool first_ = true;
};

void written_vectors(Line& line, const Wave& wave, const isa::Operand& o, unsigned lanes) {
  const bool acc = o.kind == isa::OperandKind::agpr;
  if (!acc && o.kind != isa::OperandKind::vgpr) return;
  for (unsigned n = o.index; n < static_cast<unsigned>(o.index) + o.width; ++n) {
    line.vector(wave.vgpr[(acc ? wave.agpr_base : 0) + n], acc ? 'a' : 'v', n, lanes);
  }
}

// Every scalar register that changed, and the named scalar results even if they did not. Pairs that are always used as such
// (vcc, exec) show as one value.
void written_scalars(Line& line, const Wave& wave, const Inst& inst) {
  bool named[128] = {};
  for (const isa::Operand* o : {&inst.dst, &inst.sdst}) {
    if (o->kind != isa::OperandKind::sgpr || inst.format == isa::Format::vop3px) continue;
    for (unsigned n = o->index; n < static_cast<unsigned>(o->index) + o->width && n < 128; ++n) named[n] = true;
  }
  for (unsigned n = 0; n < 128; ++n) {
    const bool pair = n == kVccLo || n == kExecLo;
    const auto shown = [&](unsigned reg) { return named[reg] || wave.sgpr[reg] != before_state.sgpr[reg]; };
    if (pair && (shown(n) || shown(n + 1))) line.scalar(wave, n, 2);
    else if (!pair && shown(n)) line.scalar(wave, n, 1);
    if (pair) ++n;
  }
}

} // namespace

void InstructionTrace::before(const Wave& wave, const Inst&) {
  std::memcpy(before_state.sgpr, wave.sgpr, sizeof before_state.sgpr);
  before_state.scc = wave.scc;
  before_state.mode = wave.mode;
}

void InstructionTrace::after(const Wave& wave, const Inst& inst, Next next) {
  Line line;
  auto out = std::back_inserter(line.text_);
  const std::uint32_t* id = wave.group->id;
  fmt::format_to(out, "group ({},{},{}) wave {}  {:#x}  {}", id[0], id[1], id[2], wave.index_in_group, inst.pc, isa::disassemble(inst, wave.dispatch->arch, inst.pc));
  if (next == Next::fault) {
    line.begin_value();
    line.text_ += "fault";
  } else {
    const unsigned lanes = std::min(options_.lanes, kLanes);
    written_scalars(line, wave, inst);
    if (wave.scc != before_state.scc) {
      line.begin_value();
      fmt::format_to(out, "scc = {}", wave.scc);
    }
    if (wave.mode.bits != before_state.mode.bits) {
      line.begin_value();
      fmt::format_to(out, "mode = {:#x}", wave.mode.bits);
    }
    written_vectors(line, wave, inst.dst, lanes);
    if (inst.info != nullptr && inst.info->src[0].role == isa::Role::swap) written_vectors(line, wave, inst.src[0], lanes);
  }
  line.text_ += '\n';

  const std::lock_guard hold(lock_);
  ++lines_;
  if (options_.max_lines == 0 || lines_ <= options_.max_lines) write_(line.text_);
  else if (lines_ == options_.max_lines + 1) write_("... more instructions were executed; the trace was limited\n");
}

} // namespace aql::sim
